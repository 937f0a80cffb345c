"""What `agent-env serve proxy` records of agents that are started by hand, and how it is imported.

DIR/calls.jsonl has a line for each model call: the whole request, the reply or the error, and how
long it took. Calls whose requests begin with the same system and user texts are one conversation; a
request without a reply of the model in it begins another attempt at it.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from agent_env.extensions.agents.desk import options_of, restored
from agent_env.extensions.fake_server.conversation import ModelRequest, Refusal
from agent_env.extensions.interop.foreign.log import (
    ForeignEpisode,
    ForeignLog,
    LogReader,
    Transcript,
)
from agent_env.sdk.errors import DatasetError, ModelError
from agent_env.sdk.models import Model
from agent_env.sdk.records import Message, Reply, Stored, ToolResult, ToolSpec

FILE = "calls.jsonl"


class RecordedCall(Stored):
    """One line of the file."""

    conversation: str
    attempt: int
    at: datetime
    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    reply: Reply | None = None
    error: str | None = None
    latency_s: float


@dataclass(slots=True)
class RecordingDesk:
    """Asks one model for all agents that come, and writes down what was said."""

    model: Model
    file: IO[str]
    _replies: list[Message] = field(default_factory=list)
    _attempts: Counter[str] = field(default_factory=Counter)

    async def reply(self, request: ModelRequest) -> Reply:
        """The model's; Refusal where it gives none."""
        turns = restored(request.turns, self._replies)
        tools, options = options_of(request, None)
        prompt = takewhile(lambda turn: turn.role != "assistant", turns)
        said = "\n".join(f"{turn.role} {turn.content}" for turn in prompt)
        conversation = hashlib.sha256(said.encode()).hexdigest()[:12]
        self._attempts[conversation] += all(turn.role != "assistant" for turn in turns)
        began, at, reply, error = time.monotonic(), datetime.now(UTC), None, None
        try:
            reply = await self.model.generate(turns, tools, options)
            self._replies.append(reply.message)
            return reply
        except ModelError as exc:
            error = str(exc)
            raise Refusal(exc.status or 502, error) from exc
        finally:
            line = RecordedCall(
                conversation=conversation,
                attempt=max(1, self._attempts[conversation]),
                at=at,
                model=self.model.name,
                messages=turns,
                tools=tools,
                reply=reply,
                error=error,
                latency_s=time.monotonic() - began,
            )
            self.file.write(line.model_dump_json(exclude_none=True) + "\n")
            self.file.flush()

    async def call(self, name: str, arguments: str) -> ToolResult:
        """A failure: `agent-env serve mcp` has tools."""
        return ToolResult.failure(f"no tool '{name}': this proxy has the model alone")

    def deliver(self) -> None:
        """Nothing is kept for a second delivery."""


def takes(path: Path) -> bool:
    """Whether it is such a folder, or its file."""
    return path.name == FILE if path.is_file() else (path / FILE).is_file()


def read(path: Path, with_transcripts: bool) -> Sequence[ForeignLog]:
    """The conversations as episodes without a score, one log for each model."""
    file = path / FILE if path.is_dir() else path
    calls: dict[str, dict[tuple[str, int], list[RecordedCall]]] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            call = RecordedCall.model_validate_json(line)
        except ValidationError as exc:
            raise DatasetError(file, number, "is no call that the proxy recorded") from exc
        of_model = calls.setdefault(call.model, {})
        of_model.setdefault((call.conversation, call.attempt), []).append(call)
    return [
        ForeignLog(
            file=file,
            source="agent-env proxy",
            task=path.name if path.is_dir() else path.parent.name,
            model=model,
            episodes=tuple(_episode(*key, own, with_transcripts) for key, own in of_model.items()),
            samples={key[0]: {} for key in of_model},
            notes=("conversations of agents that were started by hand; nothing was scored",),
        )
        for model, of_model in calls.items()
    ]


def _episode(
    conversation: str, attempt: int, calls: Sequence[RecordedCall], is_whole: bool
) -> ForeignEpisode:
    last, replies = calls[-1], [call.reply for call in calls if call.reply is not None]
    messages = last.messages if last.reply is None else (*last.messages, last.reply.message)
    by_message = {reply.message: reply.usage for reply in replies}
    said = [message for message in messages if message.role == "assistant"]
    transcript = Transcript(
        messages=messages,
        tools=last.tools,
        usages=tuple(by_message.get(message) for message in said),
        output=messages[-1].content,
        latencies_s=tuple(call.latency_s for call in calls if call.reply is not None),
        began_at=calls[0].at,
    )
    return ForeignEpisode(
        sample=conversation,
        repeat=attempt,
        metrics={},
        failure=last.error,
        used=_used(replies),
        transcript=transcript if is_whole else None,
    )


def _used(replies: Sequence[Reply]) -> Mapping[str, float]:
    sums: dict[str, float] = {"steps": len(replies)}
    for name in ("input_tokens", "output_tokens"):
        counts = [getattr(reply.usage, name) for reply in replies]
        if None not in counts:
            sums[name] = sum(counts)
    return sums


READER = LogReader(takes, read)
