"""Failed calls: made again, waited for, or the end of the run."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.episodes.calls import retries
from agent_env.episodes.calls.budget import ConcurrencyLimit
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.retries import (
    Breaker,
    GiveUp,
    Outage,
    Retries,
    Retry,
    Tries,
    final_error,
)
from agent_env.episodes.trace.lines import TraceWriter
from agent_env.errors import ModelError, RunStopped
from agent_env.protocols import Limits
from agent_env.testing import answer
from tests.episodes.calls.test_caller import SOME, Shaky, model_calls, run, runner


def error(kind, text="no", wait=None):
    return ModelError(text, kind=kind, retryable=True, retry_after_s=wait)


@pytest.mark.parametrize("kind", ["authentication", "bad_request", "context_overflow"])
def test_what_another_try_cannot_mend_is_final_at_once(kind):
    assert Tries(Retries()).verdict(error(kind), 0.0, 0.5) == GiveUp()


@pytest.mark.parametrize("kind", ["rate_limit", "timeout", "connection", "server", "unreadable"])
def test_what_may_pass_is_tried_again_after_a_wait_that_doubles(monkeypatch, kind):
    monkeypatch.setattr(retries, "SAME", 99)
    tries = Tries(Retries(attempts=9))
    waits = [tries.verdict(error(kind), 0.0, 0.0) for _ in range(7)]
    assert waits == [Retry(w) for w in (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0)]


def test_waits_are_random_by_one_half_as_long_as_asked_and_not_begun_beyond_the_time():
    assert Tries(Retries()).verdict(error("server"), 0.0, 1.0) == Retry(1.5)
    assert Tries(Retries()).verdict(error("rate_limit", wait=7.0), 0.0, 0.0) == Retry(7.0)
    assert Tries(Retries()).verdict(error("rate_limit", wait=0.2), 0.0, 0.0) == Retry(1.0)
    found = Tries(Retries(time_s=60.0)).verdict(error("rate_limit", wait=3600.0), 2.0, 0.0)
    assert found == GiveUp(
        "given up after 1 calls in 2 s: a further wait of 3600 s is more than the 60 s allowed"
    )
    quota = ModelError("insufficient_quota", status=429, kind="rate_limit", retryable=False)
    assert Tries(Retries()).verdict(quota, 0.0, 0.0) == GiveUp()
    corrected = ModelError("unknown field", status=400, retryable=True, is_corrected=True)
    assert Tries(Retries()).verdict(corrected, 0.0, 1.0) == Retry(0.0)


def test_the_same_error_three_times_is_given_up_with_the_evidence():
    tries = Tries(Retries(attempts=99))
    errors = [ModelError(f"boom, request {n}ab", status=500, kind="server") for n in (1, 2, 3)]
    *first, last = (tries.verdict(each, 0.0, 0.0) for each in errors)
    assert [isinstance(verdict, Retry) for verdict in first] == [True, True]
    assert last == GiveUp("the same error came 3 times on this request")
    assert str(final_error(errors[2], tries.errors, last.reason)) == (
        "boom, request 3ab [the same error came 3 times on this request; "
        "calls ended: server 500, server 500, server 500]"
    )


KINDS = ["rate_limit", "timeout", "connection", "server", "authentication", "unreadable"]


@given(
    st.lists(st.sampled_from(KINDS), min_size=40, max_size=40),
    st.integers(1, 12),
    st.floats(0, 1),
)
def test_no_request_is_sent_more_often_or_later_than_allowed(kinds, attempts, chance):
    tries, elapsed = Tries(Retries(attempts=attempts, time_s=100.0)), 0.0
    for sent, kind in enumerate(kinds, start=1):
        verdict = tries.verdict(error(kind), elapsed, chance)
        if isinstance(verdict, GiveUp):
            break
        assert sent < attempts
        elapsed += verdict.wait_s
        assert elapsed <= 100.0
    else:
        raise AssertionError("it never gave up")


REFUSED = ModelError("cannot be reached", kind="connection", unsent=True, retryable=True)
CUT = ModelError("broke the connection off", kind="connection", retryable=True)
LOADING = ModelError("Loading model", status=503, kind="server", retryable=True)


class Server:
    """Refuses the first `refusals` calls, and its health is `health` one answer after another."""

    name = "server"

    def __init__(self, refusals, health=()):
        self.refusals = list(refusals)
        self.health = list(health)
        self.polls = 0

    async def generate(self, messages, tools, options=None):
        await asyncio.sleep(0)
        if self.refusals:
            raise self.refusals.pop(0)
        return answer("MY ANSWER: None", SOME)

    async def is_up(self):
        self.polls += 1
        return self.health.pop(0) if self.health else True


def shared(server, notes=(), longest_s=20.0):
    note = getattr(notes, "append", lambda text: None)
    waits = {"first_wait_s": 0.001, "longest_wait_s": 0.01, "poll_s": 0.001}
    outage = Outage(longest_s, server.is_up, note, **waits)
    rules = Retries(attempts=2, first_wait_s=0.001)
    return Calls(ConcurrencyLimit(most=8), rules, breaker=Breaker(calls=3), outage=outage)


@pytest.mark.parametrize("error", [REFUSED, LOADING], ids=["refused", "loading"])
def test_an_outage_counts_neither_as_the_same_error_nor_for_the_breaker(tmp_path, error):
    server = Server([error] * 9)
    (episode,) = run(runner(tmp_path, lambda s: server, shared(server)))
    assert (episode.status, episode.failed_calls) == ("finished", 9)
    found = model_calls(tmp_path)
    assert [call.attempt for call in found] == list(range(1, 11))
    assert [call.away_s is None for call in found] == [False] * 9 + [True]
    assert {call.wait_s for call in found} == {None}


@pytest.fixture
def together(monkeypatch):
    """No episode waits for the disk."""

    async def settle(trace):
        pass

    monkeypatch.setattr(TraceWriter, "settle", settle)


@pytest.mark.usefixtures("together")
def test_one_asks_for_all_whether_the_server_is_up(tmp_path):
    server, notes = Server([REFUSED] * 8, health=[False] * 20), []
    episodes = run(runner(tmp_path, lambda s: server, shared(server, notes), concurrency=8), 8)
    assert [e.status for e in episodes] == ["finished"] * 8
    assert server.polls == 21
    assert notes == [
        "the run waits for its server, at most 20 s: cannot be reached",
        "the server is back after 0 s; the run continues",
    ]


@pytest.mark.usefixtures("together")
def test_calls_that_broke_off_are_an_outage_only_where_the_server_is_down(tmp_path):
    server = Server([CUT] * 8, health=[False, False])
    episodes = run(runner(tmp_path, lambda s: server, shared(server), concurrency=8), 8)
    assert [(e.status, e.failed_calls) for e in episodes] == [("finished", 1)] * 8
    server = Server([CUT] * 2)
    (episode,) = run(runner(tmp_path / "up", lambda s: server, shared(server)))
    assert "given up after 2 calls" in episode.failure


def test_an_error_that_comes_while_others_get_replies_is_its_calls_own(tmp_path):
    """A request that its proxy always times out on: 504, while the server answers the others."""

    class Slow(Server):
        async def generate(self, messages, tools, options=None):
            calls.outage.answered()  # another call's
            raise ModelError("gateway timeout", status=504, kind="timeout", retryable=True)

    calls = shared(Server([]))
    (episode,) = run(runner(tmp_path, lambda s: Slow([]), calls))
    assert (episode.status, episode.failed_calls) == ("failed", 2)


def test_a_server_that_stays_away_stops_the_run_with_the_last_error(tmp_path):
    server = Server([REFUSED] * 1000, health=[False] * 1000)
    with pytest.raises(RunStopped, match=r"away for \d+ s, the last error: cannot be reached"):
        run(runner(tmp_path, lambda s: server, shared(server, longest_s=0.05)))
    assert model_calls(tmp_path)[-1].reply is None
    (episode,) = run(runner(tmp_path, lambda s: Shaky([]), shared(server)))
    assert episode.status == "finished"


def test_the_only_request_that_fails_is_given_up_where_the_server_is_up_or_has_answered(tmp_path):
    """A proxy that always gives up on one prompt holds no run for ten minutes."""
    server, notes = Server([LOADING] * 1000), []
    (episode,) = run(runner(tmp_path / "up", lambda s: server, shared(server, longest_s=0.05)))
    assert "calls, though the server is up; calls ended: server 503" in episode.failure
    calls = shared(Server([]), notes)
    calls.outage.has_answered, calls.outage.attempts = True, 3
    (episode,) = run(runner(tmp_path, lambda s: Server([LOADING] * 1000), calls))
    assert "given up after 3 calls, though the server is up" in episode.failure
    assert notes == ["the run waits for its server, at most 20 s: Loading model"]
    (episode,) = run(runner(tmp_path / "next", lambda s: Server([]), calls))
    assert (episode.status, len(notes)) == ("finished", 1)


def test_replies_to_others_between_two_failures_make_the_failure_its_requests_own(tmp_path):
    server, notes = Server([LOADING] * 1000), []
    calls = shared(server, notes)

    async def is_up():
        calls.outage.answered()
        return True

    calls.outage.is_up = is_up
    (episode,) = run(runner(tmp_path, lambda s: server, calls))
    assert (episode.status, episode.failed_calls, len(notes)) == ("failed", 4, 4)


def test_the_wait_is_no_time_of_the_episode(tmp_path):
    server = Server([REFUSED], health=[False] * 90)
    calls = shared(server)
    calls.outage.poll_s = 0.01
    (episode,) = run(runner(tmp_path, lambda s: server, calls, Limits(time_s=0.8)))
    (first, last) = model_calls(tmp_path)
    assert (episode.status, episode.stop_reason) == ("finished", "answered")
    assert (first.away_s or 0.0) >= 0.9
    assert (episode.duration_s or 0.0) < (first.away_s or 0.0)
    assert last.reply is not None


@pytest.fixture
def slept(monkeypatch):
    """How long it was waited each time, which takes none."""
    waits = []

    async def asleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", asleep)
    return waits


async def test_the_wait_grows_where_the_server_is_up_and_calls_still_fail(slept):
    outage = Outage(first_wait_s=1.0, longest_wait_s=4.0)
    for _ in range(4):
        assert await outage.wait(LOADING)
    outage.answered()
    assert await outage.wait(LOADING)
    assert slept == [1.0, 2.0, 4.0, 4.0, 1.0]


@pytest.mark.parametrize(
    ("error", "has_answered", "longest_s", "most"),
    [
        (REFUSED, False, 600.0, "a server that never answered, at most 30 s"),
        (REFUSED, False, 5.0, "its server, at most 5 s"),
        (REFUSED, False, 0.0, "its server, at most 0 s"),
        (REFUSED, True, 600.0, "its server, at most 600 s"),
        (LOADING, False, 600.0, "its server, at most 600 s"),
    ],
)
async def test_a_server_that_never_answered_is_waited_for_a_short_time(
    error, has_answered, longest_s, most, slept
):
    async def is_down():
        return False

    notes = []
    rest = {"has_answered": has_answered, "clock": lambda: sum(slept)}
    with pytest.raises(RunStopped, match="was away for"):
        await Outage(longest_s, is_down, notes.append, **rest).wait(error)
    assert notes[0].startswith(f"the run waits for {most}: ")
    limit = float(most.rpartition("most ")[2].split()[0])
    assert limit - 2.0 <= sum(slept) <= limit


async def test_a_run_without_replies_says_so_now_and_then(slept):
    def clock():
        if sum(slept) > 200:
            raise asyncio.CancelledError
        return sum(slept)

    notes = []
    with pytest.raises(asyncio.CancelledError):
        await Outage(note=notes.append, clock=clock).tell_quiet(lambda: 4)
    assert notes == [f"no reply for {n} s; 4 calls in flight" for n in (60, 135)]
