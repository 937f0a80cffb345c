"""The verdict on a failed call: what passes, what never does, and when enough is enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.episodes.calls.retries import GiveUp, Retries, Retry, Tries, error_kind, final_error
from agent_env.errors import ModelError, ModelErrorKind


def error(kind: ModelErrorKind, text: str = "no", wait: float | None = None) -> ModelError:
    return ModelError(text, kind=kind, retryable=True, retry_after_s=wait)


@pytest.mark.parametrize("kind", ["authentication", "bad_request", "context_overflow"])
def test_what_another_try_cannot_mend_is_final_at_once(kind: ModelErrorKind) -> None:
    assert Tries(Retries()).verdict(error(kind), 0.0, 0.5) == GiveUp()


@pytest.mark.parametrize("kind", ["rate_limit", "timeout", "connection", "server", "unreadable"])
def test_what_may_pass_is_tried_again_after_a_wait_that_doubles(kind: ModelErrorKind) -> None:
    tries = Tries(Retries(attempts=9, same=None))
    waits = [tries.verdict(error(kind), 0.0, 0.0) for _ in range(7)]
    assert waits == [Retry(w) for w in (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0)]


def test_a_wait_has_a_random_part_of_up_to_one_half() -> None:
    assert Tries(Retries()).verdict(error("server"), 0.0, 1.0) == Retry(1.5)


def test_the_wait_that_a_server_asks_for_is_obeyed() -> None:
    assert Tries(Retries()).verdict(error("rate_limit", wait=7.0), 0.0, 0.0) == Retry(7.0)
    assert Tries(Retries()).verdict(error("rate_limit", wait=0.2), 0.0, 0.0) == Retry(1.0)


def test_a_wait_beyond_the_time_allowed_is_not_begun() -> None:
    found = Tries(Retries(time_s=60.0)).verdict(error("rate_limit", wait=3600.0), 2.0, 0.0)
    assert found == GiveUp(
        "given up after 1 calls in 2 s: a further wait of 3600 s is more than the 60 s allowed"
    )


def test_an_exhausted_quota_is_final_though_it_is_a_rate_limit() -> None:
    quota = ModelError("insufficient_quota", status=429, kind="rate_limit", retryable=False)
    assert Tries(Retries()).verdict(quota, 0.0, 0.0) == GiveUp()


def test_the_same_error_three_times_is_given_up_with_the_evidence() -> None:
    tries = Tries(Retries(attempts=99))
    first = [ModelError(f"boom, request {n}ab", status=500, kind="server") for n in (1, 2, 3)]
    assert isinstance(tries.verdict(first[0], 0.0, 0.0), Retry)
    assert isinstance(tries.verdict(first[1], 0.0, 0.0), Retry)
    last = tries.verdict(first[2], 0.0, 0.0)
    assert last == GiveUp("the same error came 3 times on this request")
    assert str(final_error(first[2], tries.errors, last.reason)) == (
        "boom, request 3ab [the same error came 3 times on this request; "
        "calls ended: server 500, server 500, server 500]"
    )


def test_another_error_in_between_begins_the_count_anew() -> None:
    tries = Tries(Retries(attempts=99))
    for kind in ("server", "server", "timeout", "server", "server"):
        assert isinstance(tries.verdict(error(kind), 0.0, 0.0), Retry)  # type: ignore[arg-type]
    assert isinstance(tries.verdict(error("server"), 0.0, 0.0), GiveUp)


def test_rate_limits_say_nothing_about_the_request_but_their_number_is_bounded() -> None:
    tries = Tries(Retries(attempts=5))
    found = [tries.verdict(error("rate_limit"), 0.0, 0.0) for _ in range(5)]
    assert [type(f) for f in found] == [Retry] * 4 + [GiveUp]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(429, "rate_limit"), (401, "authentication"), (403, "authentication"), (400, "bad_request"),
     (404, "bad_request"), (408, "timeout"), (500, "server"), (503, "server"),
     (200, "unreadable"), (None, None)],
)  # fmt: skip
def test_without_a_class_the_status_tells_it(status: int | None, kind: str | None) -> None:
    assert error_kind(ModelError("x", status=status)) == kind


KINDS: st.SearchStrategy[ModelErrorKind] = st.sampled_from(
    ["rate_limit", "timeout", "connection", "server", "authentication", "unreadable"]
)


@given(
    kinds=st.lists(KINDS, min_size=40, max_size=40),
    attempts=st.integers(1, 12),
    same=st.integers(1, 5),
    chance=st.floats(0, 1),
)
def test_no_request_is_sent_more_often_or_later_than_allowed(
    kinds: list[ModelErrorKind], attempts: int, same: int, chance: float
) -> None:
    tries, elapsed = Tries(Retries(attempts=attempts, time_s=100.0, same=same)), 0.0
    for sent, kind in enumerate(kinds, start=1):
        verdict = tries.verdict(error(kind), elapsed, chance)
        if isinstance(verdict, GiveUp):
            break
        assert sent < attempts
        elapsed += verdict.wait_s
        assert elapsed <= 100.0
    else:
        raise AssertionError("it never gave up")
