"""Asks a judge about finished episodes; each verdict is appended to its episode's trace.

Guaranteed: a verdict is written before the next one of the same worker is asked for, so a killed
process loses the calls in flight and no more; what stands in a trace is not asked for again unless
told. The episode itself is not changed: its end, its tokens and its scores stay what they were.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agent_env.episodes.calls.caller import Call, Caller, Calls
from agent_env.episodes.calls.recording import RequestDigest, failure_fields
from agent_env.episodes.calls.reply_cache import Asking
from agent_env.episodes.run_folder import EpisodeKey, RunFolder
from agent_env.episodes.runner import first_failure
from agent_env.episodes.trace.texts import Texts
from agent_env.episodes.trace.writer import Clock, Fsync, TraceWriter, stamp
from agent_env.errors import EpisodeError, RunStopped
from agent_env.graph.meter import Meter
from agent_env.protocols import Model, ReplyOptions
from agent_env.records.schema import Condition, JudgeCall, Message, Verdict
from agent_env.records.trace_events import Judged
from agent_env.tasks.judging import read_verdict

FAILED = "failed"
"""What a verdict says where no reply came; it is asked for again the next time."""


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to be judged."""

    key: EpisodeKey
    messages: tuple[Message, ...]
    judged: tuple[Verdict, ...]
    """What the trace holds already."""

    @property
    def request(self) -> str:
        """Digest of what is sent."""
        return RequestDigest().of(self.messages, (), ReplyOptions())

    def has_verdict(self, judge: str, metric: str) -> bool:
        """Whether this judge gave one on the same prompt."""
        return any(
            (one.judge, one.request, one.metric) == (judge, self.request, metric)
            and one.says != FAILED
            for one in self.judged
        )


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges, beside which metric, and how its calls are made."""

    folder: RunFolder
    model: Model
    parameters: Mapping[str, JsonValue]
    metric: str
    calls: Calls
    clock: Clock
    concurrency: int
    fsync: Fsync = "none"

    async def run(self, cases: Sequence[Case], on_end: Callable[[str, str], None]) -> None:
        """Ask for all of them; `on_end` hears what each verdict says, and the reply or the error
        that it comes from. A StorageError or RunStopped stops the rest; a call that failed for good
        is written as `failed`."""
        left, spent = iter(cases), list[RunStopped]()
        texts = Texts(self.folder.texts)
        try:
            async with self.calls.budget.wall_time(), asyncio.TaskGroup() as group:
                for _ in range(min(self.concurrency, len(cases))):
                    group.create_task(self._work(left, texts, on_end, spent))
        except ExceptionGroup as failures:
            raise first_failure(failures) from failures
        finally:
            texts.close()
        if spent:
            raise spent[0]

    async def _work(
        self,
        left: Iterator[Case],
        texts: Texts,
        on_end: Callable[[str, str], None],
        spent: list[RunStopped],
    ) -> None:
        """Where the money is spent, what others have in flight may still come in."""
        for case in left:
            try:
                on_end(*await self._one(case, texts))
            except RunStopped as stopped:
                if stopped.reason == "failures":
                    raise
                spent.append(stopped)
            if spent:
                return

    async def _one(self, case: Case, texts: Texts) -> tuple[str, str]:
        calls: list[JudgeCall] = []

        def record(call: Call) -> None:
            calls.append(
                JudgeCall(
                    attempt=call.attempt,
                    latency_s=call.latency_s,
                    queued_s=call.queued_s,
                    reply=call.reply,
                    wait_s=call.wait_s,
                    **failure_fields(call),
                )
            )

        caller = Caller(
            model=self.model,
            calls=self.calls,
            asking=Asking(self.model.name, self.parameters, Condition(name="judge"), 1),
            rng=random.Random(case.key.name),
            now=lambda: stamp(self.clock()),
            meter=Meter(self.calls.budget.facts),
        )
        try:
            reply = await caller.reply(case.messages, (), record)
            source = reply.message.content
            says: str = read_verdict(source)
        except EpisodeError as exc:
            says, source = FAILED, str(exc)
        finally:
            if calls and calls[-1].reply is None:  # what failed calls cost is kept, however it ends
                self._write(case, texts, FAILED, calls)
        if says != FAILED:
            self._write(case, texts, says, calls)
        return says, source

    def _write(self, case: Case, texts: Texts, says: str, calls: Sequence[JudgeCall]) -> None:
        path = self.folder.trace(case.key)
        trace, _ = TraceWriter.reopen(path, self.clock, texts, self.fsync)
        try:
            trace.write(
                Judged,
                judge=self.model.name,
                verdict={"metric": self.metric, "says": says},
                request=case.request,
                messages=case.messages,
                parameters=dict(self.parameters),
                calls=tuple(calls),
            )
        finally:
            trace.close()
