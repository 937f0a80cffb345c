"""Runs episodes: one task group, a bounded number at a time, each with its own seams and trace."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from agent_env.episodes.calls.budget import ConcurrencyLimit, RunBudget
from agent_env.episodes.calls.caller import CUT_OFF, Caller, Calls, RecordingModel, RecordingToolbox
from agent_env.episodes.calls.reply_cache import Asking
from agent_env.episodes.disturbances import ToolFaults
from agent_env.episodes.rerun.resume import TraceOpener, resume_episode, with_recorded_start
from agent_env.episodes.run_folder import EpisodeKey, RunFolder, episode_seed, pending
from agent_env.episodes.trace.fold import Recording
from agent_env.episodes.trace.lines import Clock, TraceWriter, stamp
from agent_env.episodes.trace.texts import Texts
from agent_env.errors import (
    AgentEnvError,
    BatchWait,
    EpisodeError,
    ModelError,
    RunStopped,
    StorageError,
    boundary,
)
from agent_env.graph.loop import AgentLoop, EpisodeState, Loop, Outcome
from agent_env.graph.meter import Fit, Meter
from agent_env.protocols import (
    Limits,
    Model,
    RemoteTokenizer,
    Strategy,
    Tokenizer,
    Toolbox,
)
from agent_env.records.schema import (
    Condition,
    Reply,
    Sample,
    StopReason,
    ToolResult,
    ToolSpec,
)
from agent_env.records.trace_events import EpisodeFailed, EpisodeFinished, EpisodeStarted
from agent_env.scoring.calls_in_text import call_in_text, remedy

Item = TypeVar("Item")


async def work_through(
    items: Iterator[Item], work: Callable[[Item], Awaitable[None]], workers: int, budget: RunBudget
) -> None:
    """Applies `work` to each item, `workers` at a time. Raises the first failure, which cancels the
    others; when a run limit is reached (RunStopped), calls in flight finish first."""
    stops: list[RunStopped] = []

    async def worker() -> None:
        for item in items:
            try:
                await work(item)
            except RunStopped as stop:
                if stop.reason == "failures":
                    raise
                stops.append(stop)
            if stops:
                return

    try:
        async with budget.wall_time(), asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(worker())
    except ExceptionGroup as failures:
        raise first_failure(failures) from failures
    if stops:
        raise stops[0]


def first_failure(failures: ExceptionGroup[Exception]) -> Exception:
    """The failure that cancelled the others, from nested groups."""
    failure = failures.exceptions[0]
    return first_failure(failure) if isinstance(failure, ExceptionGroup) else failure


@dataclass(frozen=True, slots=True)
class Seams:
    """The implementations that one episode runs on."""

    model: Model
    toolbox: Toolbox
    strategy: Strategy
    context: str | None = None
    """Digest of the pages' text before the question, under a `cited` condition."""
    faults: ToolFaults | None = None
    """What gives the tools faults, once it has begun."""
    loop: Loop | None = None
    """Drives the episode in place of our own loop."""


WAITING = "waiting"
UNPACED = 1_000_000
"""Calls in flight, if only the number of concurrent episodes bounds them."""

OpenSeams = Callable[[Sample, Condition], AbstractAsyncContextManager[Seams]]


def utc_now() -> datetime:
    """The clock of real runs."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs the episodes of one run."""

    folder: RunFolder
    model_name: str
    open_seams: OpenSeams
    tokenizer: Tokenizer | RemoteTokenizer
    limits: Limits
    concurrency: int
    seed: int = 0
    model_seed: int | None = None
    """Sampling seed from which each episode derives its own; None sends none."""
    calls: Calls = field(default_factory=lambda: Calls(ConcurrencyLimit(most=UNPACED)))
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of the model; part of the reply cache's key."""
    clock: Clock = utc_now
    run_id: str | None = None
    """The run's identity, in each trace."""
    strict: bool = True
    """Whether a resumed episode fails if its requests differ from the recorded ones."""
    silence_fails: bool = True
    """Whether an episode fails if its time runs out before any reply: true for a server, which
    was down, false for a scripted policy, which was slow."""
    note: Callable[[str], None] = print
    """Called with a message on each defective trace."""
    watch: Watch | None = None
    left: Set[EpisodeKey] = frozenset()
    """Episodes that are left to the next start."""
    batch_episode: ContextVar[str] | None = None
    """Which episode calls, for a model whose calls go by batch and may wait; None where each call
    goes by itself."""

    async def run(
        self,
        samples: Iterable[Sample],
        conditions: Iterable[Condition],
        repeats: int,
        on_end: Callable[[EpisodeKey, str], None],
    ) -> None:
        """Runs every episode that is not finished, failed ones too; calls `on_end` with the status
        of each. A StorageError or RunStopped ends the run, an EpisodeError only its episode."""
        loop, texts = AgentLoop(), Texts(self.folder.texts)
        opener = TraceOpener(self.folder, self.run_id, self.clock, texts, self.note)

        async def work(item: tuple[EpisodeKey, Sample, Condition]) -> None:
            key, sample, condition = item
            if (trace := opener.open(key)) is None:
                on_end(key, "left alone")
            else:
                status = await self.episode(key, sample, condition, loop, *trace)
                if status == WAITING:
                    return
                on_end(key, status)

        asked = tuple(samples), tuple(conditions), repeats
        items = (each for each in pending(self.folder, *asked) if each[0] not in self.left)
        try:
            with rarely_collected():
                await work_through(items, work, self.concurrency, self.calls.budget)
        finally:
            texts.close()

    async def episode(
        self,
        key: EpisodeKey,
        sample: Sample,
        condition: Condition,
        loop: Loop,
        trace: TraceWriter,
        past: Recording | None,
    ) -> str:
        """Runs one episode into its trace, then closes it; returns the stop reason, `failed`, or
        `waiting` for one whose next call goes by batch."""
        if self.batch_episode is not None:
            self.batch_episode.set(key.name)
        try:
            with boundary(EpisodeError, "unexpected"):
                outcome = await self._attempt(key, sample, condition, loop, trace, past)
            trace.write(
                EpisodeFinished,
                answer=outcome.answer,
                stop_reason=outcome.stop_reason,
                citations=outcome.citations,
            )
            await trace.settle()
            return outcome.stop_reason
        except BatchWait:
            await trace.settle()
            return WAITING
        except (StorageError, RunStopped):
            raise
        except AgentEnvError as exc:
            if trace.is_empty:  # the seams could not be opened
                trace.write(EpisodeStarted, **self._start(key, condition), model=self.model_name)
            trace.write(EpisodeFailed, error=type(exc).__name__, message=str(exc))
            return "failed"
        finally:
            trace.close()

    async def _attempt(
        self,
        key: EpisodeKey,
        sample: Sample,
        condition: Condition,
        loop: Loop,
        trace: TraceWriter,
        past: Recording | None,
    ) -> Outcome:
        async with self.open_seams(sample, condition) as seams:
            meter = Meter(self.calls.budget.facts)
            caller = Caller(
                model=seams.model,
                calls=self.calls,
                asking=Asking(seams.model.name, self.parameters, condition, key.repeat),
                rng=random.Random(f"{self.seed}/{key.name}"),
                now=lambda: stamp(self.clock()),
                meter=meter,
            )
            loop, conversation = seams.loop or loop, None
            begun = past is not None and bool(past.steps)
            if seams.loop is not None:
                conversation = past.episode.messages if past else seams.strategy.start(sample)
            watch = None if self.watch is None else self.watch.reply
            by_batch = self.batch_episode is not None
            attempt = EpisodeState(
                model=RecordingModel(caller, trace, begun, watch, by_batch, conversation),
                meter=meter,
                toolbox=RecordingToolbox(seams.toolbox, trace, self.tokenizer),
                strategy=seams.strategy,
                limits=self.limits,
                first_step=condition.first_step,
                must_answer=condition.answer_format != "free",
                seed=episode_seed(self.model_seed, key),
                name=key.name,
            )
            if past is not None:
                outcome = await self._go_on(sample, loop, attempt, seams, trace, past)
            else:
                self._begin_faults(seams, key.sample, key.repeat)
                trace.write(
                    EpisodeStarted,
                    **self._start(key, condition),
                    model=seams.model.name,
                    messages=seams.strategy.start(sample),
                    tools=seams.toolbox.specs,
                    context=seams.context,
                )
                outcome = await loop.run(sample, attempt)
            if self.watch is not None:
                specs = seams.toolbox.specs
                self.watch.answer(key.name, outcome.answer, specs, outcome.stop_reason)
            return self._replied(outcome, caller)

    def _replied(self, outcome: Outcome, caller: Caller) -> Outcome:
        """The outcome; ModelError if the time ran out before any reply: that is no wrong answer. An
        agent of others that never asked has one."""
        if outcome.stop_reason == "time" and caller.lost[-1:] == [CUT_OFF] and self.silence_fails:
            hung = ModelError("no reply came in the rest of the episode's time", kind="timeout")
            self.calls.breaker.note(hung, is_last=True)
        never_asked = caller.asking.condition.agent is not None and not caller.lost
        has_replies = caller.meter.steps > 0 or never_asked
        if outcome.stop_reason != "time" or has_replies or not self.silence_fails:
            return outcome
        ends = f"; calls ended: {', '.join(caller.lost)}" if caller.lost else ""
        raise ModelError(f"no reply came in the episode's {self.limits.time_s:g} s{ends}")

    def _start(self, key: EpisodeKey, condition: Condition) -> dict[str, Any]:
        return {
            "run": self.run_id,
            "sample": key.sample,
            "condition": condition,
            "repeat": key.repeat,
            "limits": asdict(self.limits),
        }

    def _begin_faults(
        self, seams: Seams, sample: str, repeat: int, past: Iterable[tuple[str, ToolResult]] = ()
    ) -> None:
        """The tools' faults, the same for every model and condition."""
        if seams.faults is not None:
            seams.faults.begin(f"{self.seed}/{sample}/{repeat}", past)

    async def _go_on(
        self,
        sample: Sample,
        loop: Loop,
        attempt: EpisodeState,
        seams: Seams,
        trace: TraceWriter,
        past: Recording,
    ) -> Outcome:
        """Replays the recording, then continues live."""
        attempt.strategy, attempt.fit = with_recorded_start(seams.strategy, past), Fit(past.kept)
        back = await resume_episode(
            past,
            trace,
            seams.toolbox,
            seams.model.name,
            self.strict,
            self.batch_episode is not None,
        )
        self._begin_faults(seams, past.start.sample, past.start.repeat, past.results)
        attempt.model = back.model(attempt.model, attempt.meter.count)
        attempt.toolbox = back.toolbox(attempt.toolbox)
        attempt.meter.clock = back.clock()
        try:
            return await loop.run(sample, attempt)
        finally:
            back.go_live()


NEW_OBJECTS = 20_000
"""Allocations between two collections; Python's default is 700."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Raises the collector's threshold for its body; keeps a higher one, or a disabled
    collector."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], NEW_OBJECTS) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@dataclass(slots=True)
class Watch:
    """Checks the replies and answers of a run's episodes."""

    note: Callable[[str], None]
    served_model: str | None = None
    """The model of earlier replies, as the server names it; None before the first."""
    in_text: bool = False
    """Whether tools are offered by the text protocol, whose calls were read."""
    _told_model: bool = False
    _told_call: bool = False

    def reply(self, reply: Reply) -> None:
        """Checks a live reply."""
        if reply.model is None or reply.cached_at is not None:
            return
        if self.served_model is None:
            self.served_model = reply.model
        elif reply.model != self.served_model and not self._told_model:
            self._told_model = True
            self.note(
                f"the server changed its model: {reply.model} answers now, {self.served_model} did "
                "before; score tells how many episodes of each"
            )

    def answer(
        self,
        episode: str,
        answer: str | None,
        tools: Sequence[ToolSpec],
        stop_reason: StopReason = "answered",
    ) -> None:
        """Checks an episode's answer; `tools`: those offered. Where a limit ended the episode, a
        call in its text was cut, or read."""
        if self._told_call or not tools or stop_reason != "answered":
            return
        form = call_in_text(answer, [tool.name for tool in tools])
        if form is not None:
            self._told_call = True
            self.note(
                f"{episode} ended with a tool call as text ({form}), which nobody ran; score "
                f"counts these: {remedy(self.in_text, [form])}"
            )
