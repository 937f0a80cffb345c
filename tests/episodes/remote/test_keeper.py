"""A worker writes and spends through the keeper; leases decide whose episode it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agent_env.episodes.again.tape import Recording
from agent_env.episodes.calls.retries import Retries
from agent_env.episodes.remote.keeper import (
    CallEnd,
    EpisodeLease,
    Keeper,
    Refusal,
    SentEvent,
    StreamedTrace,
    remote_calls,
)
from agent_env.episodes.run_folder import EpisodeKey, RunFolder
from agent_env.episodes.runner import Runner, Seams, utc_now
from agent_env.episodes.trace.fold import fold
from agent_env.episodes.trace.lines import read_trace
from agent_env.episodes.trace.writer import TraceWriter
from agent_env.errors import RunStopped, StorageError
from agent_env.families.time_puzzles.task import make_task
from agent_env.graph.loop import AgentLoop
from agent_env.graph.strategies import make_strategy
from agent_env.models.tokenizers import Estimate
from agent_env.protocols import Limits
from agent_env.records.schema import Message, Reply, Usage
from agent_env.records.trace_events import EpisodeStarted, ModelCalled
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from agent_env.tools.toolbox import ToolSet
from tests.episodes.runs import WEB, make_run

KEY = EpisodeKey("a", "web", 1)
USED = Usage(input_tokens=30, output_tokens=20)
Result = TypeVar("Result")


class Here:
    """A keeper in the same process."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.told: set[asyncio.Task[Any]] = set()

    async def ask(self, method: str, *arguments: Any) -> Any:
        return await getattr(self.keeper, method)(*arguments)

    def tell(self, method: str, *arguments: Any) -> None:
        self.told.add(asyncio.ensure_future(self.ask(method, *arguments)))


def _keep(
    folder: RunFolder, use: Callable[[Keeper], Awaitable[Result]], concurrency: int = 4
) -> Result:
    async def main() -> Result:
        keeper = Keeper.of(folder, concurrency)
        try:
            return await use(keeper)
        finally:
            await keeper.shut()

    return asyncio.run(main())


def _with_limits(path: Path, **limits: Any) -> RunFolder:
    folder = make_run(path, ["a", "b"])
    folder.change(run_limits=limits, limits={"steps": 5})
    return folder


def _started() -> SentEvent:
    fields = {"sample": "a", "condition": WEB, "repeat": 1, "model": "m"}
    return SentEvent("EpisodeStarted", utc_now(), fields)


def _runner(folder: RunFolder, model: Any) -> Runner:
    @asynccontextmanager
    async def open_seams(sample: Any, condition: Any):  # type: ignore[no-untyped-def]
        tools = ToolSet([FakeTool("look", lambda arguments: "found")])
        yield Seams(model, tools, make_strategy(condition, make_task("default").prompt))

    return Runner(folder, "scripted", open_seams, Estimate(), Limits(), 1)


async def _play(keeper: Keeper, model: Any, worker: str) -> str:
    """One episode as a worker runs it."""
    post, opened = Here(keeper), await keeper.open(worker, KEY)
    assert isinstance(opened, EpisodeLease)
    past = Recording.of(opened.events) if opened.events else None
    trace = StreamedTrace(post, opened.lease, is_new=past is None)
    runner = _runner(keeper.folder, model)
    object.__setattr__(runner, "calls", remote_calls(post, opened.lease, Retries(), None))
    try:
        return await runner.episode(KEY, puzzle("a"), WEB, AgentLoop(), trace, past)
    finally:
        await trace.settle()
        await asyncio.gather(*post.told)
        await keeper.close(opened.lease)


def test_an_episode_run_from_afar_has_the_trace_of_any_other(tmp_path: Path) -> None:
    folder = make_run(tmp_path, ["a"])
    model = ScriptedModel([calls(("look", "{}")), answer("MY ANSWER: None")])
    assert _keep(folder, lambda keeper: _play(keeper, model, "w")) == "answered"
    events = read_trace(folder.trace(KEY))
    kinds = [event.kind for event in events]
    assert kinds == [
        "episode_started", "model_called", "tool_called", "model_called", "episode_finished",
    ]  # fmt: skip
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_an_episode_of_a_lost_worker_goes_on_from_its_last_event(tmp_path: Path) -> None:
    folder, stuck = make_run(tmp_path, ["a"]), asyncio.Event()

    class Stuck(ScriptedModel):
        async def generate(self, messages: Any, tools: Any, *rest: Any) -> Any:
            if any(message.role == "tool" for message in messages):
                stuck.set()
                await asyncio.sleep(60)
            return await super().generate(messages, tools, *rest)

    script = [calls(("look", "{}")), answer("MY ANSWER: None")]
    second = ScriptedModel(script)

    async def use(keeper: Keeper) -> str:
        first = asyncio.ensure_future(_play(keeper, Stuck(script), "lost"))
        await stuck.wait()
        assert await keeper.release("lost") == 1
        assert keeper.calls.pace.in_flight == 0
        status = await _play(keeper, second, "other")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        return status

    assert _keep(folder, use) == "answered"
    assert len(second.requests) == 1
    episode = fold(read_trace(folder.trace(KEY)))
    assert (episode.steps, episode.tool_calls, episode.status) == (2, 1, "finished")


def test_what_a_worker_says_whose_episode_was_given_away_is_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path, ["a"])

    async def use(keeper: Keeper) -> None:
        first = await keeper.open("lost", KEY)
        assert isinstance(first, EpisodeLease)
        assert await keeper.write(first.lease, [_started()]) is None
        await keeper.release("lost")
        second = await keeper.open("other", KEY)
        assert isinstance(second, EpisodeLease)
        assert len(second.events) in (0, 1)
        refused = await keeper.write(first.lease, [_started()])
        assert isinstance(refused, Refusal)
        assert isinstance(await keeper.enter(first.lease, 1), Refusal)
        post = Here(keeper)
        trace = StreamedTrace(post, first.lease, is_new=False)
        trace.write(ModelCalled, request="0", latency_s=0.1)
        with pytest.raises(StorageError, match="given to another worker"):
            await trace.settle()

    _keep(folder, use)


def test_two_workers_cannot_have_one_episode(tmp_path: Path) -> None:
    async def use(keeper: Keeper) -> None:
        assert isinstance(await keeper.open("one", KEY), EpisodeLease)
        refused = await keeper.open("two", KEY)
        assert isinstance(refused, Refusal)
        assert "another process" in refused.text

    _keep(make_run(tmp_path, ["a"]), use)


def test_calls_in_flight_are_bounded_over_all_workers(tmp_path: Path) -> None:
    async def use(keeper: Keeper) -> None:
        leases = []
        for name in ("a", "b"):
            opened = await keeper.open(name, EpisodeKey(name, "web", 1))
            assert isinstance(opened, EpisodeLease)
            leases.append(opened.lease)
        assert await keeper.enter(leases[0], 1) is None
        second = asyncio.ensure_future(keeper.enter(leases[1], 1))
        await asyncio.sleep(0.02)
        assert not second.done()
        await keeper.leave(leases[0], CallEnd(USED, replied=True, rate_limited=False))
        assert await second is None

    _keep(make_run(tmp_path, ["a", "b"]), use, concurrency=1)


def test_what_earlier_starts_spent_counts_where_there_is_a_limit(tmp_path: Path) -> None:
    folder = _with_limits(tmp_path, tokens=600)
    key = EpisodeKey("b", "web", 1)
    trace = TraceWriter(folder.trace(key), key.name, utc_now)
    trace.write(EpisodeStarted, sample="b", condition=WEB, repeat=1, model="m")
    usage = Usage(input_tokens=500, output_tokens=90)
    reply = Reply(message=Message(role="assistant", content="1"), usage=usage)
    trace.write(ModelCalled, request="0", reply=reply, latency_s=0.1)
    trace.close()

    async def spent(keeper: Keeper) -> int:
        return keeper.calls.budget.tokens

    assert _keep(folder, spent) == 590
    folder.change(run_limits={})
    assert _keep(folder, spent) == 0  # nothing to hold it against: no trace is read


def test_the_tokens_of_the_whole_run_are_counted_in_one_place(tmp_path: Path) -> None:
    folder = _with_limits(tmp_path, tokens=600)

    async def use(keeper: Keeper) -> Any:
        opened = await keeper.open("w", KEY)
        assert isinstance(opened, EpisodeLease)
        assert await keeper.enter(opened.lease, 10) is None
        used = Usage(input_tokens=500, output_tokens=90)
        await keeper.leave(opened.lease, CallEnd(used, replied=True, rate_limited=False))
        assert keeper.calls.budget.tokens == 590
        return await keeper.enter(opened.lease, 10)

    refused = _keep(folder, use)
    assert refused.reason == "tokens"
    assert refused.text.startswith("the run has used 590 of its 600 tokens")


def test_a_call_that_is_lost_with_its_worker_stays_taken(tmp_path: Path) -> None:
    async def use(keeper: Keeper) -> int:
        opened = await keeper.open("w", KEY)
        assert isinstance(opened, EpisodeLease)
        assert await keeper.enter(opened.lease, 10) is None
        await keeper.release("w")
        assert keeper.calls.budget.tokens == 0
        return keeper.calls.budget.held_tokens

    assert _keep(_with_limits(tmp_path, tokens=600), use) == 10 + 512


def test_a_worker_hears_of_the_run_s_limit_as_if_it_were_its_own(tmp_path: Path) -> None:
    folder = _with_limits(tmp_path, tokens=10)
    with pytest.raises(RunStopped, match="of its 10 tokens"):
        _keep(folder, lambda keeper: _play(keeper, ScriptedModel([answer("x")]), "w"))


def test_a_rate_limit_halves_the_pace_of_all(tmp_path: Path) -> None:
    async def use(keeper: Keeper) -> int:
        opened = await keeper.open("w", KEY)
        assert isinstance(opened, EpisodeLease)
        await keeper.enter(opened.lease, 1)
        await keeper.leave(opened.lease, CallEnd(None, replied=False, rate_limited=True))
        return int(keeper.calls.pace.limit)

    assert _keep(make_run(tmp_path, ["a"]), use, concurrency=8) == 4


def test_too_many_failures_let_no_further_call_in(tmp_path: Path) -> None:
    async def use(keeper: Keeper) -> Any:
        opened = await keeper.open("w", KEY)
        assert isinstance(opened, EpisodeLease)
        for _ in range(20):
            await keeper.failed("refused", "authentication", True)
        return await keeper.enter(opened.lease, 1)

    assert _keep(make_run(tmp_path, ["a"]), use).reason == "failures"


def test_an_event_bears_the_time_at_which_it_happened(tmp_path: Path) -> None:
    folder = make_run(tmp_path, ["a"])
    said = _started()

    async def use(keeper: Keeper) -> None:
        opened = await keeper.open("w", KEY)
        assert isinstance(opened, EpisodeLease)
        await asyncio.sleep(0.02)
        await keeper.write(opened.lease, [said])

    _keep(folder, use)
    (event,) = read_trace(folder.trace(KEY))
    assert isinstance(event, EpisodeStarted)
    assert event.at == said.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
