"""A worker writes and spends through the coordinator; leases decide whose episode it is."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from agent_env.episodes.calls.retries import Retries
from agent_env.episodes.run_folder import EpisodeKey
from agent_env.episodes.runner import utc_now
from agent_env.episodes.trace.fold import Recording, fold
from agent_env.episodes.trace.lines import TraceWriter, read_trace
from agent_env.errors import RunStopped, StorageError
from agent_env.features.ray import coordinator as module
from agent_env.features.ray.coordinator import Coordinator, LimitRefusal, StreamedTrace
from agent_env.graph.loop import AgentLoop
from agent_env.records.schema import Usage
from agent_env.records.trace_events import EpisodeStarted, ModelCalled
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from tests.episodes.runs import WEB, make_run, scripted_runner

KEY = EpisodeKey("a", "web", 1)
USED = Usage(input_tokens=30, output_tokens=20)


SCRIPT = [calls(("look", "{}")), answer("MY ANSWER: None")]


class Here:
    """A coordinator in the same process."""

    def __init__(self, coordinator):
        self.coordinator, self.told = coordinator, set()

    async def ask(self, method, *arguments):
        return await getattr(self.coordinator, method)(*arguments)

    def tell(self, method, *arguments):
        self.told.add(asyncio.ensure_future(self.ask(method, *arguments)))


@asynccontextmanager
async def _kept(folder, concurrency=4):
    coordinator = Coordinator.of(folder, concurrency)
    try:
        yield coordinator
    finally:
        await coordinator.shut()


def _with_limits(path, **limits):
    folder = make_run(path, ["a", "b"])
    folder.change(run_limits=limits, limits={"steps": 5})
    return folder


async def _play(coordinator, model, worker):
    """One episode as a worker runs it."""
    post, opened = Here(coordinator), await coordinator.open(worker, KEY)
    past = Recording.of(opened.events) if opened.events else None
    trace = StreamedTrace(post, opened.lease, is_new=past is None)
    look = FakeTool("look", lambda arguments: "found")
    runner = scripted_runner(coordinator.folder.path, lambda sample: (model, look), concurrency=1)
    object.__setattr__(runner, "calls", module.remote_calls(post, opened.lease, Retries(), None))
    try:
        return await runner.episode(KEY, puzzle("a"), WEB, AgentLoop(), trace, past)
    finally:
        await trace.settle()
        await asyncio.gather(*post.told)
        await coordinator.close(opened.lease)


async def test_an_episode_run_from_afar_has_the_trace_of_any_other(tmp_path):
    async with _kept(make_run(tmp_path, ["a"])) as coordinator:
        assert await _play(coordinator, ScriptedModel(SCRIPT), "w") == "answered"
    events = read_trace(coordinator.folder.trace(KEY))
    assert [event.kind for event in events] == [
        "episode_started", "model_called", "tool_called", "model_called", "episode_finished",
    ]  # fmt: skip
    assert [event.at for event in events] == sorted(event.at for event in events)


async def test_an_episode_of_a_lost_worker_goes_on_from_its_last_event(tmp_path):
    stuck, second = asyncio.Event(), ScriptedModel(SCRIPT)

    class Stuck(ScriptedModel):
        async def generate(self, messages, tools, *rest):
            if any(message.role == "tool" for message in messages):
                stuck.set()
                await asyncio.sleep(60)
            return await super().generate(messages, tools, *rest)

    async with _kept(make_run(tmp_path, ["a"])) as coordinator:
        first = asyncio.ensure_future(_play(coordinator, Stuck(SCRIPT), "lost"))
        await stuck.wait()
        assert await coordinator.release("lost") == 1
        assert coordinator.calls.pace.in_flight == 0
        assert await _play(coordinator, second, "other") == "answered"
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
    assert len(second.requests) == 1
    episode = fold(read_trace(coordinator.folder.trace(KEY)))
    assert (episode.steps, episode.tool_calls, episode.status) == (2, 1, "finished")


async def test_what_a_worker_says_whose_episode_was_given_away_is_refused(tmp_path):
    fields = {"sample": "a", "condition": WEB, "repeat": 1, "model": "m"}
    started = [module.SentEvent("EpisodeStarted", utc_now(), fields)]
    async with _kept(make_run(tmp_path, ["a"])) as coordinator:
        first = await coordinator.open("lost", KEY)
        assert await coordinator.write(first.lease, started) is None
        await coordinator.release("lost")
        second = await coordinator.open("other", KEY)
        assert len(second.events) in (0, 1)
        assert isinstance(await coordinator.write(first.lease, started), LimitRefusal)
        assert isinstance(await coordinator.enter(first.lease, 1), LimitRefusal)
        trace = StreamedTrace(Here(coordinator), first.lease, is_new=False)
        trace.write(ModelCalled, request="0", latency_s=0.1)
        with pytest.raises(StorageError, match="given to another worker"):
            await trace.settle()


async def test_two_workers_cannot_have_one_episode(tmp_path):
    async with _kept(make_run(tmp_path, ["a"])) as coordinator:
        assert isinstance(await coordinator.open("one", KEY), module.EpisodeLease)
        assert "another process" in (await coordinator.open("two", KEY)).text


async def test_calls_in_flight_are_bounded_over_all_workers(tmp_path):
    async with _kept(make_run(tmp_path, ["a", "b"]), concurrency=1) as coordinator:
        keys = [EpisodeKey(name, "web", 1) for name in "ab"]
        first, second = [(await coordinator.open(key.sample, key)).lease for key in keys]
        assert await coordinator.enter(first, 1) is None
        entering = asyncio.ensure_future(coordinator.enter(second, 1))
        await asyncio.sleep(0.02)
        assert not entering.done()
        await coordinator.leave(first, module.CallEnd(USED, replied=True, rate_limited=False))
        assert await entering is None


async def test_what_earlier_starts_spent_counts_where_there_is_a_limit(tmp_path):
    folder = _with_limits(tmp_path, tokens=600)
    key = EpisodeKey("b", "web", 1)
    trace = TraceWriter(folder.trace(key), key.name, utc_now)
    trace.write(EpisodeStarted, sample="b", condition=WEB, repeat=1, model="m")
    reply = answer("1", Usage(input_tokens=500, output_tokens=90))
    trace.write(ModelCalled, request="0", reply=reply, latency_s=0.1)
    trace.close()
    async with _kept(folder) as coordinator:
        assert coordinator.calls.budget.tokens == 590
    folder.change(run_limits={})
    async with _kept(folder) as coordinator:
        assert coordinator.calls.budget.tokens == 0  # nothing to hold it against: no trace is read


async def test_a_call_that_is_lost_with_its_worker_stays_taken(tmp_path):
    async with _kept(_with_limits(tmp_path, tokens=600)) as coordinator:
        opened = await coordinator.open("w", KEY)
        assert await coordinator.enter(opened.lease, 10) is None
        await coordinator.release("w")
        budget = coordinator.calls.budget
        assert (budget.tokens, budget.held_tokens) == (0, 10 + 512)


async def test_a_worker_hears_of_the_run_s_limit_as_if_it_were_its_own(tmp_path):
    async with _kept(_with_limits(tmp_path, tokens=10)) as coordinator:
        with pytest.raises(RunStopped, match="of its 10 tokens"):
            await _play(coordinator, ScriptedModel([answer("x")]), "w")


async def test_too_many_failures_let_no_further_call_in(tmp_path):
    async with _kept(make_run(tmp_path, ["a"])) as coordinator:
        opened = await coordinator.open("w", KEY)
        for _ in range(20):
            await coordinator.failed("refused", "authentication", True)
        assert (await coordinator.enter(opened.lease, 1)).reason == "failures"
