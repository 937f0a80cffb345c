"""The Responses API, used statelessly: nothing is stored at the server between steps.

What the model put out goes back as it was (Message.provider_items) to the server it came from, so
that a reasoning model keeps its thread; another server gets the texts and calls alone. The API has
no seed; asking for one is refused when the model is made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import JsonValue

from agent_env.errors import ConfigError
from agent_env.models import hosted
from agent_env.models.cleaning import Json
from agent_env.models.echo import Echo, EchoMode
from agent_env.models.wire import (
    Endpoint,
    Parameters,
    arguments_as_object,
    ids_in,
    record,
    records,
    text,
    unique_id,
    usage,
)
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, ProviderFields, Reply, ToolCall, ToolSpec, Usage

REASONING_MODELS = re.compile(r"(o\d|gpt-[5-9]|codex)(?!.{0,200}chat)")
"""By their names, as far as anything tells."""
LAST_EVENTS = ("response.completed", "response.incomplete", "response.failed")


class Responses:
    """A Model behind POST BASE_URL/responses."""

    def __init__(
        self,
        name: str,
        model: str,
        base_url: str,
        api_key: str | None,
        parameters: Parameters,
        timeout_s: float,
        stream: bool = False,
        idle_s: float | None = None,
        echo: EchoMode = "auto",
    ) -> None:
        if parameters.seed is not None:
            raise ConfigError("the Responses API takes no seed; leave --model-seed out")
        self.name = name
        self._model = model
        self._parameters = parameters
        self._stream = stream
        self._endpoint = Endpoint(model, base_url, api_key, timeout_s, idle_s)
        self._echo = Echo(echo, self._endpoint.origins(()))

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """One reply; raises ModelError where the server gives none that can be used."""
        request = self._request(messages, tools, options)
        answer = await (self._streamed(request) if self._stream else self._whole(request))
        return self._reply(self._endpoint.cleaned(answer), request, messages)

    async def close(self) -> None:
        """Closes the connections."""
        await self._endpoint.close()

    def _request(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], options: ReplyOptions
    ) -> Json:
        chosen = self._parameters
        chooses = bool(tools) and options.tool_choice != "auto"  # auto is what the server does
        effort = chosen.reasoning_effort
        return chosen.body(
            {
                "model": self._model,
                "input": [item for each in chosen.led(messages) for item in self._items(each)],
                "store": False,
                "include": [*self._reasoning_included(), *hosted.included(tools)] or None,
                "tools": [_tool(tool) for tool in tools] or None,
                "tool_choice": options.tool_choice if chooses else None,
                "parallel_tool_calls": chosen.parallel_tool_calls if tools else None,
                "temperature": chosen.temperature,
                "top_p": chosen.top_p,
                "max_output_tokens": chosen.max_output_tokens,
                "reasoning": {"effort": effort} if effort else None,
            }
        )

    def _reasoning_included(self) -> list[JsonValue]:
        """Other models answer 400 when they are asked for it."""
        reasons = self._parameters.reasoning_effort or REASONING_MODELS.match(self._model)
        return ["reasoning.encrypted_content"] if reasons else []

    def _items(self, message: Message) -> list[Json]:
        match message.role:
            case "tool":
                return [_tool_output(message)]
            case "assistant" if message.provider_items and self._echo.is_sent(message):
                return _sendable(message.provider_items)
            case "assistant":
                said = [_said("assistant", message.content)] if message.content else []
                return said + [_call_item(call) for call in message.tool_calls]
            case "system":
                return [_said(self._parameters.system_role, message.content)]
        return [_said(message.role, message.content)]

    async def _whole(self, request: Json) -> Json:
        return await self._endpoint.post("/responses", request)

    async def _streamed(self, request: Json) -> Json:
        done: list[Json] = []
        events = await self._endpoint.events("/responses", request)
        for event in events:
            kind = text(event, "type")
            if kind == "error":
                raise self._endpoint.reported(event, request)
            if kind == "response.output_item.done":
                done.append(record(event, "item"))
            if kind in LAST_EVENTS:
                answer = record(event, "response")
                return answer if records(answer, "output") else {**answer, "output": list(done)}
        raise self._endpoint.cut(events)

    def _reply(self, answer: Json, request: Json, heard: Sequence[Message]) -> Reply:
        if answer.get("error"):
            raise self._endpoint.reported(answer["error"], request, answer=answer)
        status = text(answer, "status") or "completed"
        items = _with_unique_ids(records(answer, "output"), heard)
        if status not in ("completed", "incomplete") or (status == "completed" and not items):
            what = f"sent a response that is {status} and has no output"
            raise self._endpoint.unusable(what, answer=answer)
        parts = [part for item in items for part in _parts(item)]
        told = usage(record(answer, "usage"), "input_tokens", "output_tokens")
        return Reply(
            message=_message(items, parts, self._endpoint.origin),
            finish_reason=_finish_reason(answer, items, parts, _is_at_limit(told, request)),
            usage=told.model_copy(update={"hosted_calls": hosted.counted(items)}),
            model=text(answer, "model") or None,
            citations=_citations(parts),
            hosted_pages=hosted.pages(items),
        )


def _said(role: str, content: str) -> Json:
    return {"role": role, "content": content}


def _tool_output(message: Message) -> Json:
    return {
        "type": "function_call_output",
        "call_id": message.tool_call_id,
        "output": message.content,
    }


def _call_item(call: ToolCall) -> Json:
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments_as_object(call.arguments),
    }


def _sendable(items: Sequence[Json]) -> list[Json]:
    """The items as they came; without their ids where reasoning among them came unencrypted,
    which the server does not remember: it would look for what the ids name."""
    lost = [item for item in items if _is_lost(item)]
    sent = [item for item in items if not _is_lost(item)]
    if lost:
        sent = [{name: item[name] for name in item if name != "id"} for item in sent]
    return [_with_object(item) if item.get("type") == "function_call" else item for item in sent]


def _is_lost(item: Json) -> bool:
    return item.get("type") == "reasoning" and not item.get("encrypted_content")


def _with_object(item: Json) -> Json:
    return {**item, "arguments": arguments_as_object(text(item, "arguments"))}


def _tool(tool: ToolSpec) -> Json:
    if tool.hosted is not None:
        return hosted.offered(tool.hosted)
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,  # strict schemas forbid optional parameters
    }


def _with_unique_ids(items: list[Json], heard: Sequence[Message]) -> list[Json]:
    taken = ids_in(heard)
    named: list[Json] = []
    for item in items:
        if item.get("type") == "function_call":
            item = {**item, "call_id": unique_id(text(item, "call_id"), taken, len(heard))}
            taken.add(text(item, "call_id"))
        named.append(item)
    return named


def _parts(item: Json) -> list[Json]:
    return records(item, "content") if item.get("type") == "message" else []


def _message(items: list[Json], parts: list[Json], origin: str) -> Message:
    return Message(
        role="assistant",
        content="".join(text(part, "text", "refusal") for part in parts),
        tool_calls=tuple(_call(item) for item in items if item.get("type") == "function_call"),
        reasoning=_reasoning(items),
        provider_items=tuple(items),
        provider_fields=ProviderFields(origin=origin),
    )


def _call(item: Json) -> ToolCall:
    return ToolCall(
        id=text(item, "call_id"), name=text(item, "name"), arguments=text(item, "arguments")
    )


def _reasoning(items: list[Json]) -> str | None:
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    parts = [
        part for item in thoughts for part in records(item, "content") or records(item, "summary")
    ]
    return "\n".join(text(part, "text") for part in parts) or None


def _finish_reason(
    answer: Json, items: list[Json], parts: list[Json], at_limit: bool
) -> Literal["stop", "tool_calls", "length", "refused"]:
    why = text(record(answer, "incomplete_details"), "reason")
    if why == "content_filter" or any(part.get("type") == "refusal" for part in parts):
        return "refused"
    if answer.get("status") == "incomplete":
        return "length"
    calls = [item for item in items if item.get("type") == "function_call"]
    if at_limit and not (calls and all(_is_complete(call) for call in calls)):
        return "length"
    return "tool_calls" if calls else "stop"


def _is_at_limit(told: Usage, request: Json) -> bool:
    """Whether the reply is as long as it may be; llama.cpp and others call it `completed` then."""
    most = request.get("max_output_tokens")
    return isinstance(most, int) and (told.output_tokens or 0) >= most


def _is_complete(call: Json) -> bool:
    arguments = text(call, "arguments")
    return arguments_as_object(arguments) == arguments


def _citations(parts: list[Json]) -> tuple[str, ...]:
    notes = [note for part in parts for note in records(part, "annotations")]
    cited = [text(note, "url") for note in notes if note.get("type") == "url_citation"]
    return tuple(dict.fromkeys(url for url in cited if url))
