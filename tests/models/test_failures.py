"""Errors by class: what may pass, how long to wait, what to change.

Errors that say that a conversation is too long, in the words of the servers.
"""

from datetime import UTC, datetime

import pytest

from agent_env.models.failures import Overflow, classify, overflow
from agent_env.records.waits import retry_after_s

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "kind", "retryable", "advice"),
    [
        (400, "bad_request", False, "change the request"),
        (401, "authentication", False, "check the API key"),
        (402, "authentication", False, "check the account's credit"),
        (403, "authentication", False, "check that the API key may use this model"),
        (404, "bad_request", False, "check the model's name, and the base URL"),
        (408, "timeout", True, ""),
        (409, "server", True, ""),
        (413, "context_overflow", False, "the request is too large"),
        (422, "bad_request", False, "change the request"),
        (429, "rate_limit", True, "send fewer requests at a time"),
        (500, "server", True, "try again later"),
        (503, "server", True, "try again later"),
        (504, "timeout", True, ""),
        (529, "server", True, ""),
        (None, "server", True, ""),
    ],
)
def test_every_status_has_a_class_a_verdict_and_advice(status, kind, retryable, advice):
    group = classify(status, "no", {}, {})
    assert (group.kind, group.retryable) == (kind, retryable)
    assert group.advice.startswith(advice)


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"code": "insufficient_quota"}, "rate_limit", False),
        ({"type": "insufficient_quota"}, "rate_limit", False),
        ({"code": "rate_limit_exceeded"}, "rate_limit", True),
        ({"code": "invalid_api_key"}, "authentication", False),
        ({"code": "server_error"}, "server", True),
        ("out of memory", "server", True),
    ],
)
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
    assert (group.kind, group.advice) == (
        "bad_request", "lower --max-output-tokens far below 4096",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("said", "error", "sent", "advice"),
    [
        ("no", {"param": "tool_choice"}, {"tool_choice": "required"}, "use --first-step auto"),
        (
            '"auto" tool choice requires --enable-auto-tool-choice to be set',
            {},
            {"tools": []},
            "use --tool-protocol text, or start the server with its tool parser",
        ),
        ("gemma does not support tools", {}, {"tools": []}, "use --tool-protocol text"),
        ("System role not supported", {}, {}, "change the request"),
        ("the system role is not supported", {}, {}, "change --system-role"),
        ("Unknown field top_k", {}, {"top_k": 3}, "refuses top_k; take it out of --extra-body"),
        ("bad", {"param": "seed"}, {"seed": 3}, "leave --model-seed out or change it"),
        ("temperatures vary", {}, {"temperature": 1}, "change the request"),
        ("'temperature' does not support 0.5", {}, {"temperature": 1}, "leave --temperature"),
        ("Unknown field: max_tokens", {}, {"max_tokens": 9}, "leave --max-output-tokens out"),
        ("Bad", {"param": "reasoning.effort"}, {"reasoning": {}}, "leave --reasoning-effort out"),
    ],
)
def test_what_a_server_refuses_is_named_as_the_user_sets_it(said, error, sent, advice):
    assert advice in classify(400, said, error, sent).advice


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "2"}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(headers, wait):
    assert retry_after_s(headers, NOW) == wait


SAID = [
    # OpenAI, both APIs
    (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in "
     "9001 tokens. Please reduce the length of the messages.", 8192, 9001),
    (None, "Your input exceeds the context window of this model. Please adjust your input and try "
     "again.", None, None),
    # vLLM, older and newer
    (400, "This model's maximum context length is 16384 tokens. However, you requested 122946 "
     "tokens (112946 in the messages, 10000 in the completion).", 16384, 122946),
    (400, "The decoder prompt (length 21535) is longer than the maximum model length of 16384. "
     "Make sure that `max_model_len` is no smaller than the number of text tokens.", 16384, 21535),
    (400, "The prompt (total length 25938) is too long to fit into the model (context length "
     "4096).", 4096, 25938),
    (400, "'max_tokens' or 'max_completion_tokens' is too large: 900. This model's maximum context "
     "length is 4096 tokens and your request has 4000 input tokens (900 > 4096 - 4000).",
     4096, 4000),
    # llama.cpp, and its Python server
    (400, "request (5012 tokens) exceeds the available context size (4096 tokens), try increasing "
     "it", 4096, 5012),
    (500, "the request exceeds the available context size. try increasing the context size or "
     "enable context shift", None, None),
    (400, "Requested tokens (2285) exceed context window of 2048", 2048, 2285),
    # Ollama
    (400, "the input length exceeds the context length", None, None),
    (400, "prompt too long; exceeded max context length by 12 tokens", None, None),
    # litellm
    (400, "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException", None,
     None),
    # SGLang
    (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
     4096, 5000),
    (400, "Requested token count exceeds the model's maximum context length of 4096 tokens. You "
     "requested a total of 5096 tokens: 4096 tokens from the input messages and 1000 tokens for "
     "the completion.", 4096, 5096),
    # TGI
    (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 "
     "`inputs` tokens and 60 `max_new_tokens`", 2048, 3474),
    (422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168", 1024,
     1168),
    # Anthropic, Gemini, xAI, Moonshot
    (400, "prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed "
     "(1048576).", 1048576, 1200000),
    (400, "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
     131072, 150000),
    (400, "Invalid request: Your request exceeded model token limit: 8192", 8192, None),
]  # fmt: skip


@pytest.mark.parametrize(("status", "said", "context", "request_"), SAID)
def test_an_overflow_is_known_by_its_words_with_the_sizes_that_they_tell(
    status, said, context, request_
):
    assert overflow(status, said, {}) == Overflow(context, request_)
    assert classify(status, said, {}, {}).kind == "context_overflow"


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
