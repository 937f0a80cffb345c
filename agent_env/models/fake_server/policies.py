"""Who plays the model: a script, or anything that is a Model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agent_env.errors import DatasetError, ModelError
from agent_env.models.fake_server.talk import (
    Answer,
    Call,
    HostedCall,
    Offer,
    Policy,
    Refusal,
    Tokens,
    Turn,
    count_tokens,
)
from agent_env.models.fake_server.text_turns import in_text
from agent_env.protocols import Model
from agent_env.records.schema import Message, Reply, ToolCall, ToolSpec

HostedKind = Literal["search", "open_page", "find_in_page", "code"]


def script_policy(file: Path) -> Policy:
    """Plays the replies of a file, one JSON object a line or one JSON array of them; raises
    DatasetError where one is no reply.

    The first line whose `match` is found in the last message answers it. Where none is, the
    k-th line without `match` answers a conversation in which the model has spoken k times, so
    that concurrent and repeated requests get what they would get alone.
    """
    lines = _lines(file)
    matched = [line for line in lines if line.match is not None]
    ordered = [line for line in lines if line.match is None]

    async def policy(turns: Sequence[Turn], offers: Sequence[Offer]) -> Answer:
        for line in matched:
            if re.search(line.match or "", turns[-1].text):
                return line.answer()
        spoken = sum(turn.role == "assistant" for turn in turns)
        if spoken < len(ordered):
            return ordered[spoken].answer()
        raise Refusal(400, f"{file.name} has no reply for step {spoken + 1}")

    return policy


def model_policy(model: Model) -> Policy:
    """Plays a model of this package; the tools offered are counted as input, as servers do."""

    async def policy(turns: Sequence[Turn], offers: Sequence[Offer]) -> Answer:
        tools = [
            ToolSpec(name=offer.name, description=offer.description, parameters=offer.parameters)
            for offer in offers
        ]
        try:
            answer = _answer(await model.generate([_heard(turn) for turn in turns], tools))
        except ModelError as exc:
            raise Refusal(exc.status or 500, str(exc)) from exc
        if not isinstance(answer.usage, Tokens):
            return answer
        described = [o.name + o.description + json.dumps(o.parameters) for o in offers]
        more = count_tokens(described)
        return replace(answer, usage=replace(answer.usage, input=answer.usage.input + more))

    return in_text(policy)


class ScriptedCall(BaseModel):
    """A tool call of a script."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    """An object, or text that is sent as it is."""
    id: str = ""


class ScriptedHosted(BaseModel):
    """What a hosted tool did, in a script; just one of the first four."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    search: str | None = None
    open_page: str | None = None
    find_in_page: str | None = None
    code: str | None = None
    pattern: str = ""
    gave: tuple[str, ...] = ()
    """Addresses of a search's sources, or what code printed."""

    @model_validator(mode="after")
    def _is_one(self) -> ScriptedHosted:
        if len(self._said()) != 1:
            raise ValueError("say one of search, open_page, find_in_page, code")
        return self

    def _said(self) -> dict[HostedKind, str]:
        said: dict[HostedKind, str | None] = {
            "search": self.search,
            "open_page": self.open_page,
            "find_in_page": self.find_in_page,
            "code": self.code,
        }
        return {kind: about for kind, about in said.items() if about is not None}

    def call(self) -> HostedCall:
        """The call as the server takes it."""
        ((kind, about),) = self._said().items()
        return HostedCall(kind, about, self.pattern, self.gave)


class ScriptedTokens(BaseModel):
    """The usage of a scripted reply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: int
    output: int
    cached: int | None = None
    reasoning: int | None = None


class ScriptLine(BaseModel):
    """One reply of a script."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    match: str | None = None
    """A regular expression that is searched for in the last message."""
    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    reasoning: str | None = None
    usage: ScriptedTokens | Literal["counted", "absent"] = "counted"
    finish: Literal["length", "refused"] | None = None
    hosted: tuple[ScriptedHosted, ...] = ()
    cited: tuple[str, ...] = ()

    def answer(self) -> Answer:
        """The line as the server takes it."""
        usage = self.usage
        return Answer(
            text=self.text,
            calls=tuple(Call(call.name, _written(call.arguments), call.id) for call in self.calls),
            reasoning=self.reasoning,
            usage=usage if isinstance(usage, str) else Tokens(**usage.model_dump()),
            finish=self.finish,
            hosted=tuple(each.call() for each in self.hosted),
            cited=self.cited,
        )


def _lines(file: Path) -> list[ScriptLine]:
    try:
        rows = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        why = getattr(exc, "strerror", None) or exc
        raise DatasetError(file, None, f"cannot be read as UTF-8 text: {why}") from exc
    rows = _of_array(file, "\n".join(rows)) if rows and rows[0].startswith("[") else rows
    found = [_line(file, number, row) for number, row in enumerate(rows, 1) if row.strip()]
    if not found:
        raise DatasetError(file, None, 'no reply in it; write lines like {"text": "Hello"}')
    return found


def _of_array(file: Path, text: str) -> list[str]:
    try:
        return [json.dumps(reply) for reply in json.loads(text)]
    except (ValueError, RecursionError) as exc:
        raise DatasetError(file, None, f"is no JSON array of replies: {exc}") from exc


def _line(file: Path, number: int, row: str) -> ScriptLine:
    try:
        line = ScriptLine.model_validate_json(row)
        re.compile(line.match or "")
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DatasetError(file, number, f"{where or 'line'}: {first['msg']}") from exc
    except re.error as exc:
        raise DatasetError(file, number, f"match is no regular expression: {exc}") from exc
    return line


def _written(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _heard(turn: Turn) -> Message:
    calls = (ToolCall(id=c.id, name=c.name, arguments=c.arguments) for c in turn.calls)
    return Message(
        role=turn.role, content=turn.text, tool_calls=tuple(calls), tool_call_id=turn.call_id
    )


def _answer(reply: Reply) -> Answer:
    said, usage = reply.message, reply.usage
    known = usage.input_tokens is not None and usage.output_tokens is not None
    told = known and usage.source != "estimate"  # the server's own estimate counts the tools too
    return Answer(
        text=said.content,
        calls=tuple(Call(call.name, call.arguments, call.id) for call in said.tool_calls),
        reasoning=said.reasoning,
        usage=Tokens(
            usage.input_tokens or 0,
            usage.output_tokens or 0,
            usage.cached_tokens,
            usage.reasoning_tokens,
        )
        if told
        else "counted",
        finish=reply.finish_reason if reply.finish_reason in ("length", "refused") else None,
    )
