"""Errors by class: what may pass, how long to wait, what to change; and which say that a
conversation is too long, in the words of the servers."""

from datetime import UTC, datetime

import pytest

from agent_env.models.failures import Overflow, classify, failed_call, overflow
from agent_env.records.waits import retry_after_s
from tests.models.raw_server import LOOKUP, ChatCompletions, ask, reply
from tests.tables import tables

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
CASES = tables(__file__)


@pytest.mark.parametrize(("status", "kind", "retryable", "advice"), CASES["statuses"])
def test_every_status_has_a_class_a_verdict_and_advice(status, kind, retryable, advice):
    group = classify(status or None, "no", {}, {})
    assert (group.kind, group.retryable) == (kind, retryable)
    assert group.advice.startswith(advice)


@pytest.mark.parametrize(("error", "kind", "retryable"), CASES["labels"])
def test_an_error_without_a_status_is_classed_by_its_labels(error, kind, retryable):
    group = classify(None, "no", error, {})
    assert (group.kind, group.retryable) == (kind, retryable)


def test_used_up_credit_is_final_and_a_reply_as_long_as_the_context_a_mistake():
    group = classify(429, "You exceeded your quota", {"code": "insufficient_quota"}, {})
    assert (group.retryable, group.advice) == (False, "the account has no credit left")
    error = {"type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}
    assert overflow(400, "too long", error) == Overflow(256, 1407)
    said = "max_tokens is too large: 5000. This model's maximum context length is 4096 tokens"
    group = classify(400, said, {}, {"max_tokens": 5000})
    advice = "lower --max-output-tokens far below 4096"
    assert (group.kind, group.advice) == ("bad_request", advice)


@pytest.mark.parametrize(("said", "error", "sent", "advice"), CASES["fields"])
def test_what_a_server_refuses_is_named_as_the_user_sets_it(said, error, sent, advice):
    assert advice in classify(400, said, error, sent).advice


@pytest.mark.parametrize("case", CASES["waits"])
def test_retry_after_is_read_as_seconds_or_as_a_date(case):
    headers, *wait_s = case
    assert retry_after_s(headers, NOW) == (wait_s[0] if wait_s else None)


@pytest.mark.parametrize("sent", [{}, {"max_tokens": 1000}])
@pytest.mark.parametrize(("status", "limit", "size", "said"), CASES["overflows"])
def test_an_overflow_is_known_by_its_words_with_the_sizes_that_they_tell(
    status, limit, size, said, sent
):
    sizes = Overflow(limit or None, size or None)
    assert overflow(status or None, said, {}) == sizes
    group = classify(status or None, said, {}, sent)
    assert (group.kind, group.overflow) == ("context_overflow", sizes)


@pytest.mark.parametrize(("status", "said", "kind"), CASES["others"])
def test_rates_credits_and_limits_of_something_else_are_none(status, said, kind):
    assert classify(status, said, {}, {"max_tokens": 1000}).kind == kind


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "temperature must be at most 2"),
        (429, "Rate limit reached: context length 8192"),
        (401, "maximum context"),
        (500, "Context size has been exceeded."),  # of all slots together: it may pass
    ],
)
def test_other_errors_are_none(status, said):
    assert overflow(status, said, {}) is None


@pytest.mark.parametrize(("status", "error"), CASES["badly"])
def test_a_call_that_the_server_cannot_read_is_the_models(status, error):
    written = error.get("failed_generation", error["message"])
    assert failed_call(status or None, error["message"], error) == written


@pytest.mark.parametrize("said", CASES["ours"])
def test_a_fault_of_the_request_is_not_the_models(said):
    assert failed_call(400, said, {"message": said}) is None


def test_a_call_that_the_server_cannot_read_is_a_turn_with_a_tool_error():
    _, error = CASES["badly"][0]
    given, _ = ask(ChatCompletions, reply({"error": error}, "400 Bad Request"), tools=(LOOKUP,))
    (call,) = given.message.tool_calls
    assert (call.name, call.arguments) == ("lookup", '<function=lookup {"word": "x"}>')
    assert given.finish_reason == "tool_calls"
    assert call.problem.endswith('Call lookup as a tool, with arguments like {"word": "…"}')
