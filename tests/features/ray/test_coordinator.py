"""A worker writes and spends through the coordinator; leases decide whose episode it is."""

import asyncio

import pytest

from agent_env.episodes.calls.retries import Retries
from agent_env.episodes.run_folder import EpisodeKey
from agent_env.episodes.runner import utc_now
from agent_env.episodes.trace.fold import Recording, fold
from agent_env.episodes.trace.lines import TraceWriter, read_trace
from agent_env.errors import RunStopped, StorageError
from agent_env.features.ray.coordinator import (
    CallEnd,
    Coordinator,
    EpisodeLease,
    LimitRefusal,
    SentEvent,
    StreamedTrace,
    remote_calls,
)
from agent_env.graph.loop import AgentLoop
from agent_env.records.schema import Message, Reply, Usage
from agent_env.records.trace_events import EpisodeStarted, ModelCalled
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from tests.episodes.runs import WEB, make_run, scripted_runner
from tests.loops import in_loop

KEY = EpisodeKey("a", "web", 1)
USED = Usage(input_tokens=30, output_tokens=20)


class Here:
    """A coordinator in the same process."""

    def __init__(self, coordinator):
        self.coordinator = coordinator
        self.told = set()

    async def ask(self, method, *arguments):
        return await getattr(self.coordinator, method)(*arguments)

    def tell(self, method, *arguments):
        self.told.add(asyncio.ensure_future(self.ask(method, *arguments)))


@in_loop
async def _keep(folder, use, concurrency=4):
    coordinator = Coordinator.of(folder, concurrency)
    try:
        return await use(coordinator)
    finally:
        await coordinator.shut()


def _with_limits(path, **limits):
    folder = make_run(path, ["a", "b"])
    folder.change(run_limits=limits, limits={"steps": 5})
    return folder


def _started():
    fields = {"sample": "a", "condition": WEB, "repeat": 1, "model": "m"}
    return SentEvent("EpisodeStarted", utc_now(), fields)


async def _play(coordinator, model, worker):
    """One episode as a worker runs it."""
    post, opened = Here(coordinator), await coordinator.open(worker, KEY)
    past = Recording.of(opened.events) if opened.events else None
    trace = StreamedTrace(post, opened.lease, is_new=past is None)
    look = FakeTool("look", lambda arguments: "found")
    runner = scripted_runner(coordinator.folder.path, lambda sample: (model, look), concurrency=1)
    object.__setattr__(runner, "calls", remote_calls(post, opened.lease, Retries(), None))
    try:
        return await runner.episode(KEY, puzzle("a"), WEB, AgentLoop(), trace, past)
    finally:
        await trace.settle()
        await asyncio.gather(*post.told)
        await coordinator.close(opened.lease)


def test_an_episode_run_from_afar_has_the_trace_of_any_other(tmp_path):
    folder = make_run(tmp_path, ["a"])
    model = ScriptedModel([calls(("look", "{}")), answer("MY ANSWER: None")])
    assert _keep(folder, lambda coordinator: _play(coordinator, model, "w")) == "answered"
    events = read_trace(folder.trace(KEY))
    kinds = [event.kind for event in events]
    assert kinds == [
        "episode_started", "model_called", "tool_called", "model_called", "episode_finished",
    ]  # fmt: skip
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_an_episode_of_a_lost_worker_goes_on_from_its_last_event(tmp_path):
    folder, stuck = make_run(tmp_path, ["a"]), asyncio.Event()

    class Stuck(ScriptedModel):
        async def generate(self, messages, tools, *rest):
            if any(message.role == "tool" for message in messages):
                stuck.set()
                await asyncio.sleep(60)
            return await super().generate(messages, tools, *rest)

    script = [calls(("look", "{}")), answer("MY ANSWER: None")]
    second = ScriptedModel(script)

    async def use(coordinator):
        first = asyncio.ensure_future(_play(coordinator, Stuck(script), "lost"))
        await stuck.wait()
        assert await coordinator.release("lost") == 1
        assert coordinator.calls.pace.in_flight == 0
        status = await _play(coordinator, second, "other")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        return status

    assert _keep(folder, use) == "answered"
    assert len(second.requests) == 1
    episode = fold(read_trace(folder.trace(KEY)))
    assert (episode.steps, episode.tool_calls, episode.status) == (2, 1, "finished")


def test_what_a_worker_says_whose_episode_was_given_away_is_refused(tmp_path):
    folder = make_run(tmp_path, ["a"])

    async def use(coordinator):
        first = await coordinator.open("lost", KEY)
        assert await coordinator.write(first.lease, [_started()]) is None
        await coordinator.release("lost")
        second = await coordinator.open("other", KEY)
        assert len(second.events) in (0, 1)
        refused = await coordinator.write(first.lease, [_started()])
        assert isinstance(refused, LimitRefusal)
        assert isinstance(await coordinator.enter(first.lease, 1), LimitRefusal)
        post = Here(coordinator)
        trace = StreamedTrace(post, first.lease, is_new=False)
        trace.write(ModelCalled, request="0", latency_s=0.1)
        with pytest.raises(StorageError, match="given to another worker"):
            await trace.settle()

    _keep(folder, use)


def test_two_workers_cannot_have_one_episode(tmp_path):
    async def use(coordinator):
        assert isinstance(await coordinator.open("one", KEY), EpisodeLease)
        refused = await coordinator.open("two", KEY)
        assert "another process" in refused.text

    _keep(make_run(tmp_path, ["a"]), use)


def test_calls_in_flight_are_bounded_over_all_workers(tmp_path):
    async def use(coordinator):
        leases = []
        for name in ("a", "b"):
            opened = await coordinator.open(name, EpisodeKey(name, "web", 1))
            leases.append(opened.lease)
        assert await coordinator.enter(leases[0], 1) is None
        second = asyncio.ensure_future(coordinator.enter(leases[1], 1))
        await asyncio.sleep(0.02)
        assert not second.done()
        await coordinator.leave(leases[0], CallEnd(USED, replied=True, rate_limited=False))
        assert await second is None

    _keep(make_run(tmp_path, ["a", "b"]), use, concurrency=1)


def test_what_earlier_starts_spent_counts_where_there_is_a_limit(tmp_path):
    folder = _with_limits(tmp_path, tokens=600)
    key = EpisodeKey("b", "web", 1)
    trace = TraceWriter(folder.trace(key), key.name, utc_now)
    trace.write(EpisodeStarted, sample="b", condition=WEB, repeat=1, model="m")
    usage = Usage(input_tokens=500, output_tokens=90)
    reply = Reply(message=Message(role="assistant", content="1"), usage=usage)
    trace.write(ModelCalled, request="0", reply=reply, latency_s=0.1)
    trace.close()

    async def spent(coordinator):
        return coordinator.calls.budget.tokens

    assert _keep(folder, spent) == 590
    folder.change(run_limits={})
    assert _keep(folder, spent) == 0  # nothing to hold it against: no trace is read


def test_a_call_that_is_lost_with_its_worker_stays_taken(tmp_path):
    async def use(coordinator):
        opened = await coordinator.open("w", KEY)
        assert await coordinator.enter(opened.lease, 10) is None
        await coordinator.release("w")
        assert coordinator.calls.budget.tokens == 0
        return coordinator.calls.budget.held_tokens

    assert _keep(_with_limits(tmp_path, tokens=600), use) == 10 + 512


def test_a_worker_hears_of_the_run_s_limit_as_if_it_were_its_own(tmp_path):
    folder = _with_limits(tmp_path, tokens=10)
    with pytest.raises(RunStopped, match="of its 10 tokens"):
        _keep(folder, lambda coordinator: _play(coordinator, ScriptedModel([answer("x")]), "w"))


def test_too_many_failures_let_no_further_call_in(tmp_path):
    async def use(coordinator):
        opened = await coordinator.open("w", KEY)
        for _ in range(20):
            await coordinator.failed("refused", "authentication", True)
        return await coordinator.enter(opened.lease, 1)

    assert _keep(make_run(tmp_path, ["a"]), use).reason == "failures"
