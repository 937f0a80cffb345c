"""Lets a judge model assess finished episodes; each verdict is appended to its episode's trace.

Guaranteed: a worker writes a verdict before it requests the next one, so a killed process loses
only the calls in flight; a verdict in a trace is not requested again unless forced. The episode's
end, tokens and scores are unchanged.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agent_env.features.judge.prompt import read_verdict
from agent_env.sdk.errors import EpisodeError
from agent_env.sdk.inside import (
    Asking,
    Caller,
    Calls,
    CallTry,
    Clock,
    JudgeCall,
    Judged,
    Meter,
    RequestDigest,
    RunFolder,
    Verdict,
    failure_fields,
    stamp,
    work_through,
)
from agent_env.sdk.models import Model, ReplyOptions
from agent_env.sdk.records import Condition, Message
from agent_env.sdk.trace import EpisodeKey, Texts, TraceWriter

FAILED = "failed"
"""The verdict if no reply came; it is requested again the next time."""


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to judge."""

    key: EpisodeKey
    messages: tuple[Message, ...]
    judged: tuple[Verdict, ...]
    """The verdicts in the trace."""

    @property
    def request(self) -> str:
        """Digest of the messages to send."""
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
    """A judge model, the metric it is compared with, and the settings of its calls."""

    folder: RunFolder
    model: Model
    parameters: Mapping[str, JsonValue]
    metric: str
    calls: Calls
    clock: Clock
    concurrency: int

    async def run(self, cases: Sequence[Case], on_end: Callable[[str, str], None]) -> None:
        """Judges all cases; calls `on_end` with each verdict and its reply or error. A StorageError
        or RunStopped ends the rest; a call that failed finally is written as `failed`."""
        texts = Texts(self.folder.texts)

        async def work(case: Case) -> None:
            calls: list[JudgeCall] = []

            def record(call: CallTry) -> None:
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
                if calls and calls[-1].reply is None:  # keeps the cost of failed calls
                    self._write(case, texts, FAILED, calls)
            if says != FAILED:
                self._write(case, texts, says, calls)
            on_end(says, source)

        workers = min(self.concurrency, len(cases))
        try:
            await work_through(iter(cases), work, workers, self.calls.budget)
        finally:
            texts.close()

    def _write(self, case: Case, texts: Texts, says: str, calls: Sequence[JudgeCall]) -> None:
        path = self.folder.trace(case.key)
        trace, _ = TraceWriter.reopen(path, self.clock, texts, sync=True)
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
