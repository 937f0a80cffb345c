"""A live model with recorded tool results. What the model says is recorded in a run of its own,
because it may cost money."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

from agent_env.episodes.again.replay import (
    ComparedModel,
    ReplayResult,
    ReplayVerdict,
    ToolResultsByCall,
    compare_ends,
)
from agent_env.episodes.again.tape import Recording, Tape, with_recorded_start
from agent_env.episodes.calls.caller import Caller, Calls
from agent_env.episodes.calls.recording import RecordingModel, RecordingToolbox
from agent_env.episodes.calls.reply_cache import Asking
from agent_env.episodes.run_folder import EpisodeKey, RunFolder
from agent_env.episodes.runner import episode_seed
from agent_env.episodes.trace.texts import Texts
from agent_env.episodes.trace.writer import Clock, TraceWriter, stamp
from agent_env.errors import AgentEnvError, EpisodeError, RunStopped, StorageError, boundary
from agent_env.graph.loop import AgentLoop, Attempt
from agent_env.graph.meter import Meter
from agent_env.protocols import Limits, Model, RemoteTokenizer, Strategy, Tokenizer
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Condition, Sample
from agent_env.records.trace_events import (
    Drift,
    EpisodeFailed,
    EpisodeFinished,
    EpisodeStarted,
    Parent,
)


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

    async def play(self, recording: Recording, sample: Sample, loop: AgentLoop) -> ReplayResult:
        """Run the episode with the live model; where it says something else than was recorded."""
        async with self.slots:
            tape = Tape(recording, strict=self.strict, check_requests=False)
            start = recording.start
            key = EpisodeKey(sample.id, start.condition.name, start.repeat)
            fsync = self.manifest.fsync
            trace = TraceWriter(self.folder.trace(key), key.name, self.clock, self.texts, fsync)
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

    async def _run(self, tape: Tape, sample: Sample, loop: AgentLoop, trace: TraceWriter) -> None:
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
        attempt = Attempt(
            model=ComparedModel(tape, RecordingModel(caller, trace)),
            meter=meter,
            toolbox=RecordingToolbox(ToolResultsByCall(tape), trace, self.tokenizer),
            strategy=strategy,
            limits=self.limits,
            first_step=start.condition.first_step,
            must_answer=start.condition.answer_format != "free",
            answer_at=start.condition.answer_at,
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
