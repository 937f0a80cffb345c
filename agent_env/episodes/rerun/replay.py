"""Replays recorded episodes: the same loop with recorded results, and recorded or live replies.

Shows whether the current code sends the same requests and ends in the same way. Tool specs come
from the recording unless the tools are live. What a live model says is recorded in a run of its
own, because it may cost money.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

from agent_env.episodes.calls.caller import Caller, Calls, RecordingModel, RecordingToolbox
from agent_env.episodes.calls.reply_cache import Asking
from agent_env.episodes.rerun.resume import (
    RecordedFailure,
    RecordedModel,
    RecordedToolbox,
    Tape,
    specs_text,
    text_diff,
    with_recorded_start,
)
from agent_env.episodes.run_folder import EpisodeKey, RunFolder, episode_seed
from agent_env.episodes.trace.fold import Recording
from agent_env.episodes.trace.lines import Clock, TraceWriter, stamp
from agent_env.episodes.trace.texts import Texts
from agent_env.errors import (
    AgentEnvError,
    EpisodeError,
    ReplayError,
    RunStopped,
    StorageError,
    boundary,
)
from agent_env.graph.loop import EpisodeState, Loop, Outcome
from agent_env.graph.meter import Fit, Meter
from agent_env.protocols import (
    Limits,
    Model,
    RemoteTokenizer,
    ReplyOptions,
    Strategy,
    Tokenizer,
    Toolbox,
)
from agent_env.records.manifest import Manifest
from agent_env.records.schema import (
    Condition,
    Message,
    ModelFacts,
    Reply,
    Sample,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from agent_env.records.trace_events import (
    Drift,
    EpisodeFailed,
    EpisodeFinished,
    EpisodeStarted,
    Parent,
)

ReplayVerdict = Literal["same", "drift", "broken"]


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of one replay."""

    episode: str
    verdict: ReplayVerdict
    """`broken`: the trace cannot be read or its sample is not there."""
    steps: int
    """Steps replayed; a strict replay ends at the first difference."""
    drift: tuple[Drift, ...] = ()
    reason: str | None = None
    """Why it is broken."""

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        return {
            "episode": self.episode,
            "verdict": self.verdict,
            "steps": self.steps,
            "drift": [drift.model_dump() for drift in self.drift],
            "reason": self.reason,
        }


OpenTools = Callable[[Sample, Recording], AbstractAsyncContextManager[Toolbox]]


@dataclass(frozen=True, slots=True)
class Replayer:
    """Replays the recorded episodes of one run."""

    make_strategy: Callable[[Sample, Condition], Strategy]
    limits: Limits
    model_seed: int | None = None
    """Sampling seed; part of the requests."""
    facts: ModelFacts | None = None
    """Prices for a cost limit."""
    strict: bool = True
    open_tools: OpenTools | None = None
    """Live tools; None plays the recorded results."""

    async def play(self, recording: Recording, sample: Sample, loop: Loop) -> ReplayResult:
        """Replays the episode and returns its differences from the recording."""
        tape = Tape(recording, strict=self.strict)
        try:
            async with self._toolbox(tape, sample) as toolbox:
                await self._run(tape, sample, loop, toolbox)
        except ReplayError as exc:
            if not tape.drift:
                tape.drift.append(Drift(step=tape.played, what="end", diff=str(exc)))
        except AgentEnvError as exc:  # a live tool failed where the recorded one did not
            tape.drift.append(Drift(step=tape.played, what="failure", diff=str(exc)))
        verdict: ReplayVerdict = "drift" if tape.drift else "same"
        return ReplayResult(recording.start.episode, verdict, tape.played, tuple(tape.drift))

    async def _run(self, tape: Tape, sample: Sample, loop: Loop, toolbox: Toolbox) -> None:
        meter, start = Meter(self.facts), tape.recording.start
        key = EpisodeKey(start.sample, start.condition.name, start.repeat)
        attempt = EpisodeState(
            model=RecordedModel(tape, count=meter.count),
            meter=meter,
            toolbox=toolbox,
            strategy=with_recorded_start(
                self.make_strategy(sample, start.condition), tape.recording
            ),
            limits=replace(self.limits, time_s=None),  # recorded time has passed already
            fit=Fit(tape.recording.kept),
            first_step=start.condition.first_step,
            must_answer=start.condition.answer_format != "free",
            seed=episode_seed(self.model_seed, key),
        )
        try:
            with boundary(EpisodeError, "unexpected"):
                outcome = await loop.run(sample, attempt)
        except RecordedFailure:
            return  # it got no further then either
        compare_ends(tape, outcome)

    @asynccontextmanager
    async def _toolbox(self, tape: Tape, sample: Sample) -> AsyncIterator[Toolbox]:
        if self.open_tools is None:
            yield RecordedToolbox(tape)
            return
        async with self.open_tools(sample, tape.recording) as live:
            before, now = specs_text(tape.recording.tools), specs_text(live.specs)
            if before != now:
                tape.note(0, "tools", text_diff(before, now))
            yield ComparedToolbox(tape, live)


def compare_ends(tape: Tape, outcome: Outcome) -> None:
    """Notes on the tape a different end of the episode."""
    end = tape.recording.end
    if isinstance(end, EpisodeFinished):
        before = f"{end.stop_reason}\n{end.answer}\n" + "\n".join(end.citations)
        now = f"{outcome.stop_reason}\n{outcome.answer}\n" + "\n".join(outcome.citations)
        if before != now:
            tape.note(tape.played, "end", text_diff(before, now))
    elif isinstance(end, EpisodeFailed):
        diff = text_diff(f"failed: {end.error}: {end.message}", f"ended: {outcome.stop_reason}")
        tape.note(tape.played, "end", diff)


class ComparedToolbox:
    """Runs the live tools and compares their results with the recorded ones."""

    def __init__(self, tape: Tape, live: Toolbox) -> None:
        self._tape = tape
        self._live = live
        self.specs = live.specs

    async def run(self, call: ToolCall, offered: frozenset[str]) -> ToolResult:
        recorded = self._tape.result_of(call)
        result = await self._live.run(call, offered)
        if recorded is None:
            self._tape.note(self._tape.played, call.name, "no result was recorded")
        elif recorded.result.output != result.output:
            diff = text_diff(recorded.result.output, result.output)
            self._tape.note(self._tape.played, call.name, diff)
        return result


class ComparedModel:
    """Calls the live model and compares its replies with the recorded ones."""

    def __init__(self, tape: Tape, live: Model) -> None:
        self._tape = tape
        self._live = live
        self.name = live.name

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        reply = await self._live.generate(messages, tools, options)
        step = self._tape.next_step(messages, tools, options)
        before = "" if step is None else _message_text(step.reply.message)
        now = _message_text(reply.message)
        if before != now:
            self._tape.note(self._tape.played, "reply", text_diff(before, now))
        return reply


class ToolResultsByCall:
    """Recorded results for a live model, by the tool's name and arguments, in recorded order; the
    last one is repeated for further calls."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self.specs = tape.recording.tools
        self._left: dict[tuple[str, str], list[ToolResult]] = {}
        for step in tape.recording.steps:
            for event in step.results:
                key = (event.call.name, event.call.arguments)
                self._left.setdefault(key, []).append(event.result)

    async def run(self, call: ToolCall, offered: frozenset[str]) -> ToolResult:
        results = self._left.get((call.name, call.arguments))
        if results is None:
            diff = f"no result was recorded for {call.name} {call.arguments}"
            self._tape.note(self._tape.played, call.name, diff)
            return ToolResult(output="Error: this call was not recorded", error="not recorded")
        return results.pop(0) if len(results) > 1 else results[0]


def _message_text(message: Message) -> str:
    called = (f"calls {call.name} {call.arguments}" for call in message.tool_calls)
    return "\n".join([message.content, *called])


@dataclass(frozen=True, slots=True)
class LiveReplayer:
    """How a live model is asked; the same for all episodes of a run."""

    folder: RunFolder
    """Where its traces go."""
    manifest: Manifest
    model: Model
    calls: Calls
    make_strategy: Callable[[Sample, Condition], Strategy]
    tokenizer: Tokenizer | RemoteTokenizer
    limits: Limits
    texts: Texts
    clock: Clock
    slots: asyncio.Semaphore
    model_seed: int | None = None
    strict: bool = True

    async def play(self, recording: Recording, sample: Sample, loop: Loop) -> ReplayResult:
        """Run the episode with the live model; where it says something else than was recorded."""
        async with self.slots:
            tape = Tape(recording, strict=self.strict, check_requests=False)
            start = recording.start
            key = EpisodeKey(sample.id, start.condition.name, start.repeat)
            trace = TraceWriter(self.folder.trace(key), key.name, self.clock, self.texts, sync=True)
            try:
                await self._run(tape, sample, loop, trace)
            except (StorageError, RunStopped):
                raise
            except AgentEnvError as exc:
                trace.write(EpisodeFailed, error=type(exc).__name__, message=str(exc))
                if not tape.drift:
                    tape.drift.append(Drift(step=tape.played, what="failure", diff=str(exc)))
            finally:
                trace.close()
        verdict: ReplayVerdict = "drift" if tape.drift else "same"
        return ReplayResult(start.episode, verdict, tape.played, tuple(tape.drift))

    async def _run(self, tape: Tape, sample: Sample, loop: Loop, trace: TraceWriter) -> None:
        start = tape.recording.start
        key = EpisodeKey(start.sample, start.condition.name, start.repeat)
        strategy = with_recorded_start(self.make_strategy(sample, start.condition), tape.recording)
        trace.write(
            EpisodeStarted,
            run=self.manifest.id,
            sample=start.sample,
            condition=start.condition,
            repeat=start.repeat,
            model=self.model.name,
            messages=strategy.start(sample),
            tools=tape.recording.tools,
            context=start.context,
            parent=Parent(run=start.run or "unknown", episode=start.episode, step=0),
        )
        meter = Meter(self.manifest.model_facts)
        caller = Caller(
            model=self.model,
            calls=self.calls,
            asking=Asking(
                self.model.name, self.manifest.model_parameters, start.condition, start.repeat
            ),
            rng=random.Random(start.episode),
            now=lambda: stamp(self.clock()),
            meter=meter,
        )
        attempt = EpisodeState(
            model=ComparedModel(tape, RecordingModel(caller, trace)),
            meter=meter,
            toolbox=RecordingToolbox(ToolResultsByCall(tape), trace, self.tokenizer),
            strategy=strategy,
            limits=self.limits,
            first_step=start.condition.first_step,
            must_answer=start.condition.answer_format != "free",
            seed=episode_seed(self.model_seed, key),
        )
        with boundary(EpisodeError, "unexpected"):
            outcome = await loop.run(sample, attempt)
        trace.write(
            EpisodeFinished,
            answer=outcome.answer,
            stop_reason=outcome.stop_reason,
            citations=outcome.citations,
        )
        compare_ends(tape, outcome)
