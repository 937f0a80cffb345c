"""Calls as a run makes them: what the trace tells, what counts, what stops the run."""

import asyncio

import pytest

from agent_env.episodes.calls.budget import ConcurrencyLimit, RunBudget, RunLimits
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.reply_cache import ReplyCache
from agent_env.episodes.calls.retries import Breaker, Retries
from agent_env.episodes.results import episodes_of
from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ModelError, RunStopped
from agent_env.protocols import Limits
from agent_env.records.schema import ModelFacts, Usage
from agent_env.records.trace_events import ModelCalled
from agent_env.tasks.conditions import parse_condition
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from agent_env.wiring.trust import own_call
from tests.episodes.runs import scripted_runner

SOME = Usage(input_tokens=100, output_tokens=10, source="provider")
FAST = Retries(first_wait_s=0.001)


class Shaky:
    """Fails as told, then answers; each episode's model is its own."""

    name = "shaky"

    def __init__(self, errors):
        self.left = list(errors)

    async def generate(self, messages, tools, options=None):
        await asyncio.sleep(0)
        if self.left:
            raise self.left.pop(0)
        return answer("MY ANSWER: None", SOME)


def runner(path, make_model, shared=None, limits=None, concurrency=4):
    def opened(sample):
        tools = (FakeTool(name, lambda arguments: "found") for name in ("web_search", "python"))
        return make_model(sample), *tools

    calls = shared or Calls(ConcurrencyLimit(most=4), FAST)
    limits = limits or Limits()
    return scripted_runner(path, opened, limits=limits, concurrency=concurrency, calls=calls)


def run(made, count=1):
    samples = [puzzle(f"tp-0-{number}") for number in range(count)]
    asyncio.run(made.run(samples, [parse_condition("web")], 1, lambda key, ending: None))
    return list(episodes_of(made.folder, print))


def model_calls(path, sample="tp-0-0"):
    events = read_trace(path / f"episodes/web/{sample}.1.jsonl")
    return [event for event in events if isinstance(event, ModelCalled)]


def error(kind, status=None, used=None):
    return ModelError(f"{kind}!", status=status, kind=kind, retryable=True, usage=used)


def test_each_attempt_stands_in_the_trace_with_its_verdict(tmp_path):
    failing = [error("server", 500), error("timeout"), error("unreadable", 200, SOME)]
    (episode,) = run(runner(tmp_path, lambda s: Shaky(failing)))
    assert [
        (c.attempt, c.error_kind, c.status, c.wait_s is None) for c in model_calls(tmp_path)
    ] == [
        (1, "server", 500, False),
        (2, "timeout", None, False),
        (3, "unreadable", 200, False),
        (4, None, None, True),
    ]
    assert episode.status == "finished"


class Silent(Shaky):
    """Answers as told, then lets its callers wait."""

    def __init__(self, replies=()):
        super().__init__([])
        self.replies = list(replies)

    async def generate(self, messages, tools, options=None):
        if not self.replies:
            await asyncio.sleep(60)
        return self.replies.pop(0)


def test_an_episode_whose_server_hangs_fails_and_is_asked_again_unless_it_got_a_reply(tmp_path):
    (episode,) = run(runner(tmp_path, lambda s: Silent(), limits=Limits(time_s=0.2)))
    assert (episode.status, episode.failure) == (
        "failed",
        "ModelError: no reply came in the episode's 0.2 s; calls ended: cut off",
    )
    (again,) = run(runner(tmp_path, lambda s: Shaky([]), limits=Limits(time_s=20.0)))
    assert (again.status, again.stop_reason, again.failed_calls) == ("finished", "answered", 1)
    said = [calls(("web_search", "{}"))]
    (late,) = run(runner(tmp_path / "late", lambda s: Silent(said), limits=Limits(time_s=1.0)))
    assert (late.status, late.stop_reason, late.steps) == ("finished", "time", 1)


def test_waiting_for_a_place_is_not_the_episodes_time(tmp_path):
    class Slow(Shaky):
        async def generate(self, messages, tools, options=None):
            await asyncio.sleep(0.4)
            return await super().generate(messages, tools)

    one = Calls(ConcurrencyLimit(most=1))
    episodes = run(runner(tmp_path, lambda s: Slow([]), one, Limits(time_s=1.1)), count=4)
    assert [e.stop_reason for e in episodes] == ["answered"] * 4  # the last one waited 1.2 s
    waits = [call.queued_s for n in range(4) for call in model_calls(tmp_path, f"tp-0-{n}")]
    assert sum((wait or 0.0) > 0.36 for wait in waits) == 3


def test_a_run_whose_calls_all_fail_stops_and_can_be_resumed(tmp_path):
    down = Calls(ConcurrencyLimit(most=4), FAST, breaker=Breaker(calls=5))
    broken = runner(tmp_path, lambda s: Shaky([error("connection")] * 99), down)
    with pytest.raises(RunStopped, match="the last 5 model calls all failed") as stopped:
        run(broken, count=20)
    assert stopped.value.reason == "failures"
    episodes = run(runner(tmp_path, lambda s: Shaky([])), count=20)
    assert [e.status for e in episodes] == ["finished"] * 20


def test_a_spent_budget_lets_calls_in_flight_come_in_and_stops(tmp_path):
    budget = RunBudget(RunLimits(tokens=3000))
    shared = Calls(ConcurrencyLimit(most=4), FAST, budget)
    with pytest.raises(RunStopped, match="of its 3000 tokens"):
        run(runner(tmp_path, lambda s: Shaky([]), shared), count=100)
    ended = [e.status for e in episodes_of(RunFolder(tmp_path), print)]
    assert 3 < ended.count("finished") == budget.tokens // 110
    assert set(ended) <= {"finished", "unfinished"}


def test_a_reply_from_the_cache_is_told_and_costs_nothing(tmp_path):
    cache = ReplyCache(tmp_path / "replies.db", own_call())
    keeping = Calls(ConcurrencyLimit(most=1), FAST, cache=cache)
    run(runner(tmp_path / "a", lambda s: Shaky([]), keeping))
    budget = RunBudget(RunLimits(tokens=1))  # no call would find room
    again = Calls(ConcurrencyLimit(most=1), FAST, budget, cache=cache)
    (episode,) = run(runner(tmp_path / "b", lambda s: Shaky([error("server")]), again))
    (first,), (call,) = model_calls(tmp_path / "a"), model_calls(tmp_path / "b")
    assert first.at[:16] == call.reply.cached_at[:16]
    assert (episode.cache_hits, episode.input_tokens, episode.paid.input_tokens) == (1, 100, 0)
    assert budget.tokens == 0


def test_a_tool_at_its_limit_is_withdrawn_and_the_episode_goes_on(tmp_path):
    twice = calls(("python", "{}"), ("python", "{}"), ("web_search", "{}"))
    model = ScriptedModel([twice, calls(("web_search", "{}"), first_id=9), answer("done")])
    (episode,) = run(runner(tmp_path, lambda s: model, limits=Limits(per_tool={"python": 1})))
    offered = [sorted(tools) for _, tools in model.requests]
    assert offered == [["python", "web_search"], ["web_search"], ["web_search"]]
    first, refused, *others = (m.content for m in episode.messages if m.role == "tool")
    assert refused.startswith("Error: there is no tool 'python' here")
    assert ([first, *others], episode.stop_reason) == (["found"] * 3, "answered")


@pytest.mark.parametrize(
    ("limits", "end"),
    [(Limits(tokens=150), ("tokens", 2)), (Limits(cost_usd=0.025), ("cost", 3))],
)
def test_the_limit_that_was_reached_is_the_stop_reason(tmp_path, limits, end):
    facts = ModelFacts(
        input_per_million=100.0, output_per_million=0.0, date="2026-01-01", source="made up"
    )
    model = ScriptedModel([calls(("web_search", "{}"), usage=SOME) for _ in range(9)])
    shared = Calls(ConcurrencyLimit(most=4), FAST, RunBudget(facts=facts))
    (episode,) = run(runner(tmp_path, lambda s: model, shared, limits))
    assert (episode.stop_reason, episode.steps) == end


async def test_a_run_cancelled_in_a_wait_leaves_its_episode_to_be_resumed(tmp_path):
    patient = Calls(ConcurrencyLimit(most=4), Retries(first_wait_s=60.0, longest_wait_s=60.0))
    failed = asyncio.Event()

    class Failing(Shaky):
        async def generate(self, messages, tools, options=None):
            failed.set()
            raise error("server", 500)

    made = runner(tmp_path, lambda s: Failing([]), patient)
    asking = asyncio.create_task(
        made.run([puzzle("tp-0-0")], [parse_condition("web")], 1, lambda key, ending: None)
    )
    await failed.wait()
    await asyncio.sleep(0.05)  # the wait before the next call has begun
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    (episode,) = episodes_of(RunFolder(tmp_path), print)
    assert episode.status == "unfinished"
    assert patient.pace.in_flight == 0


def test_the_time_of_a_run_cuts_off_what_is_in_flight(tmp_path):
    shared = Calls(ConcurrencyLimit(most=4), FAST, RunBudget(RunLimits(time_s=1.0)))
    with pytest.raises(RunStopped, match=r"has used its 1 s"):
        run(runner(tmp_path, lambda s: Silent(), shared), count=2)
    (call,) = model_calls(tmp_path)
    assert call.error == "cancelled before the reply came"
    assert [e.status for e in episodes_of(RunFolder(tmp_path), print)] == ["unfinished"] * 2


TOO_LONG = ModelError("too long", status=400, kind="context_overflow")


def test_conversations_that_are_too_long_are_finished_counted_and_stop_no_run(tmp_path):
    shared = Calls(ConcurrencyLimit(most=4), FAST, breaker=Breaker(calls=2))
    episodes = run(runner(tmp_path, lambda s: Shaky([TOO_LONG]), shared), count=4)
    ends = [(e.status, e.stop_reason, e.answer) for e in episodes]
    assert ends == [("finished", "context", None)] * 4
    (call,) = model_calls(tmp_path)
    assert (call.error_kind, call.status, call.attempt) == ("context_overflow", 400, 1)


def test_a_failure_by_an_overflow_of_earlier_versions_finishes_when_resumed(tmp_path):
    replies = [calls(("web_search", "{}")), ModelError("down", kind="bad_request")]
    (episode,) = run(runner(tmp_path, lambda s: ScriptedModel(replies)))
    assert episode.status == "failed"
    (episode,) = run(runner(tmp_path, lambda s: Shaky([TOO_LONG])))
    assert (episode.status, episode.stop_reason, episode.steps) == ("finished", "context", 1)


class Hanging(Silent):
    """Never answers; what its stream had said comes with the cancellation."""

    async def generate(self, messages, tools, options=None):
        try:
            await super().generate(messages, tools)
        except asyncio.CancelledError as exc:
            exc.add_note("Let me see")
            raise


def test_calls_that_hang_until_the_episodes_time_is_up_are_failures_for_the_breaker(tmp_path):
    shared = Calls(ConcurrencyLimit(most=4), FAST, breaker=Breaker(calls=3))
    with pytest.raises(RunStopped, match="the last 3 model calls all failed"):
        run(runner(tmp_path, lambda s: Hanging(), shared, Limits(time_s=0.3), concurrency=1), 9)
    (call,) = model_calls(tmp_path)
    assert (call.error, call.partial) == ("cancelled before the reply came", "Let me see")
