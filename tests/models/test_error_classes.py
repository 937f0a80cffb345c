"""Errors by class: what may pass, how long to wait, what to change."""

from datetime import UTC, datetime

import pytest

from agent_env.models.error_classes import classify
from agent_env.records.waits import retry_after_s

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "bad_request", False),
        (401, "authentication", False),
        (402, "authentication", False),
        (403, "authentication", False),
        (404, "bad_request", False),
        (408, "timeout", True),
        (409, "server", True),
        (413, "context_overflow", False),
        (422, "bad_request", False),
        (429, "rate_limit", True),
        (500, "server", True),
        (503, "server", True),
        (504, "timeout", True),
        (529, "server", True),
        (None, "server", True),
    ],
)
def test_every_status_has_a_class_and_a_verdict(status, kind, retryable):
    group = classify(status, "no", {}, {})
    assert (group.kind, group.retryable) == (kind, retryable)


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


def test_credit_that_is_used_up_is_final_though_it_comes_as_429():
    group = classify(429, "You exceeded your quota", {"code": "insufficient_quota"}, {})
    assert (group.retryable, group.advice) == (False, "the account has no credit left")


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
