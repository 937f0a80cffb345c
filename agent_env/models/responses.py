"""The Responses API, used statelessly: nothing is stored at the server between steps.

What the model put out goes back as it was (Message.provider_items), so that a reasoning model
keeps its thread. The API has no seed; asking for one is refused when the model is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agent_env.errors import ConfigError
from agent_env.models.wire import (
    Endpoint,
    Json,
    Parameters,
    arguments_as_object,
    record,
    records,
    text,
    unique_id,
    usage,
)
from agent_env.schema import Message, Reply, ToolCall, ToolSpec

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
    ) -> None:
        if parameters.seed is not None:
            raise ConfigError("the Responses API takes no seed; leave it out")
        self.name = name
        self._model = model
        self._parameters = parameters
        self._stream = stream
        self._endpoint = Endpoint(model, base_url, api_key, timeout_s)

    async def generate(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """One reply; raises ModelError where the server gives none that can be used."""
        request = self._request(messages, tools)
        answer = await (self._streamed(request) if self._stream else self._whole(request))
        return self._reply(self._endpoint.cleaned(answer), request, len(messages))

    async def close(self) -> None:
        """Closes the connections."""
        await self._endpoint.close()

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Json:
        chosen = self._parameters
        effort = chosen.reasoning_effort
        fields: Json = {
            "model": self._model,
            "input": [item for message in messages for item in self._items(message)],
            "store": False,
            "include": ["reasoning.encrypted_content"] if effort else None,
            "tools": [_function(tool) for tool in tools] or None,
            "tool_choice": chosen.tool_choice(messages, tools),
            "temperature": chosen.temperature,
            "top_p": chosen.top_p,
            "max_output_tokens": chosen.max_output_tokens,
            "reasoning": {"effort": effort} if effort else None,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _items(self, message: Message) -> list[Json]:
        match message.role:
            case "tool":
                return [_tool_output(message)]
            case "assistant" if message.provider_items:
                return [_sendable(item) for item in message.provider_items]
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
        for event in await self._endpoint.events("/responses", request):
            kind = text(event, "type")
            if kind == "error":
                raise self._endpoint.reported(event, request)
            if kind == "response.output_item.done":
                done.append(record(event, "item"))
            if kind in LAST_EVENTS:
                answer = record(event, "response")
                return answer if records(answer, "output") else {**answer, "output": list(done)}
        raise self._endpoint.cut()

    def _reply(self, answer: Json, request: Json, step: int) -> Reply:
        if answer.get("error"):
            raise self._endpoint.reported(answer["error"], request)
        status = text(answer, "status") or "completed"
        items = _with_unique_ids(records(answer, "output"), step)
        if status not in ("completed", "incomplete") or (status == "completed" and not items):
            raise self._endpoint.unusable(f"sent a response that is {status} and has no output")
        parts = [part for item in items for part in _parts(item)]
        return Reply(
            message=_message(items, parts),
            finish_reason=_finish_reason(answer, items, parts),
            usage=usage(record(answer, "usage"), "input_tokens", "output_tokens"),
            model=text(answer, "model") or None,
            citations=_citations(parts),
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


def _sendable(item: Json) -> Json:
    if item.get("type") != "function_call":
        return item
    return {**item, "arguments": arguments_as_object(text(item, "arguments"))}


def _function(tool: ToolSpec) -> Json:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,  # strict schemas forbid optional parameters
    }


def _with_unique_ids(items: list[Json], step: int) -> list[Json]:
    taken: set[str] = set()
    named: list[Json] = []
    for item in items:
        if item.get("type") == "function_call":
            item = {**item, "call_id": unique_id(text(item, "call_id"), taken, step)}
            taken.add(text(item, "call_id"))
        named.append(item)
    return named


def _parts(item: Json) -> list[Json]:
    return records(item, "content") if item.get("type") == "message" else []


def _message(items: list[Json], parts: list[Json]) -> Message:
    return Message(
        role="assistant",
        content="".join(text(part, "text", "refusal") for part in parts),
        tool_calls=tuple(_call(item) for item in items if item.get("type") == "function_call"),
        reasoning=_reasoning(items),
        provider_items=tuple(items),
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
    answer: Json, items: list[Json], parts: list[Json]
) -> Literal["stop", "tool_calls", "length", "refused"]:
    why = text(record(answer, "incomplete_details"), "reason")
    if why == "content_filter" or any(part.get("type") == "refusal" for part in parts):
        return "refused"
    if answer.get("status") == "incomplete":
        return "length"
    return "tool_calls" if any(i.get("type") == "function_call" for i in items) else "stop"


def _citations(parts: list[Json]) -> tuple[str, ...]:
    notes = [note for part in parts for note in records(part, "annotations")]
    cited = [text(note, "url") for note in notes if note.get("type") == "url_citation"]
    return tuple(dict.fromkeys(url for url in cited if url))
