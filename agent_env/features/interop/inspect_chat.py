"""Messages, calls, tools, tokens and replies as Inspect has them, and back. Needs the extra
`inspect`, which is imported where it is used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent_env.features.interop.chat import arguments_of, storable
from agent_env.sdk.records import Message, Reply, ToolCall, ToolSpec, Usage

STOPS = {
    "stop": "stop", "tool_calls": "tool_calls", "length": "max_tokens", "refused": "content_filter"
}  # fmt: skip
FINISHES: dict[str, Any] = {theirs: ours for ours, theirs in STOPS.items()}


def to_inspect(
    message: Message,
    model: str | None = None,
    function: str | None = None,
    error: str | None = None,
) -> Any:
    """A message as Inspect's ChatMessage; `function` and `error` are those of the call that a tool
    message answers."""
    from inspect_ai.model import ChatMessageSystem, ChatMessageTool, ChatMessageUser

    if message.role == "assistant":
        return _assistant(message, model)
    if message.role == "tool":
        return ChatMessageTool(
            content=storable(message.content),
            tool_call_id=message.tool_call_id,
            function=function,
            error=call_error(error),
        )
    kind = ChatMessageSystem if message.role == "system" else ChatMessageUser
    return kind(content=message.content)


def _assistant(message: Message, model: str | None) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ContentReasoning, ContentText

    content: Any = message.content
    if message.reasoning:
        content = [ContentReasoning(reasoning=message.reasoning), ContentText(text=message.content)]
    fields = message.provider_fields  # what the server said beside what Inspect has fields for
    return ChatMessageAssistant(
        content=content,
        tool_calls=[to_call(call) for call in message.tool_calls] or None,
        model=model,
        source="generate",
        metadata=fields and {"provider_fields": fields.model_dump(mode="json")},
    )


def from_inspect(message: Any) -> Message:
    """A ChatMessage of Inspect's as ours."""
    calls = getattr(message, "tool_calls", None) or ()
    parts = () if isinstance(message.content, str) else message.content
    reasoning = [part.reasoning for part in parts if part.type == "reasoning"]
    return Message(
        role=message.role,
        content=message.text,
        tool_calls=tuple(map(_from_call, calls)),
        tool_call_id=getattr(message, "tool_call_id", None),
        reasoning="\n".join(reasoning) or None,
    )


def to_call(call: ToolCall) -> Any:
    """A call as Inspect's."""
    from inspect_ai.tool import ToolCall as InspectCall

    arguments, problem = arguments_of(call)
    return InspectCall(
        id=call.id, function=call.name, arguments=arguments, parse_error=call.problem or problem
    )


def _from_call(call: Any) -> ToolCall:
    text = json.dumps(call.arguments, ensure_ascii=False)
    return ToolCall(id=call.id, name=call.function, arguments=text, problem=call.parse_error)


def call_error(text: str | None) -> Any:
    """Why a call failed, as Inspect's; None for a call that did not."""
    from inspect_ai.tool import ToolCallError

    return None if text is None else ToolCallError(type="unknown", message=text)


def to_tools(specs: Sequence[ToolSpec]) -> list[Any]:
    from inspect_ai.tool import ToolInfo, ToolParams

    return [
        ToolInfo(
            name=spec.name,
            description=spec.description,
            parameters=ToolParams(
                properties=spec.parameters.get("properties") or {},
                required=spec.parameters.get("required") or [],
            ),
        )
        for spec in specs
    ]


def to_usage(usage: Usage, cost: float | None = None) -> Any:
    """None where a count is unknown. Inspect counts cached input apart from the other input."""
    from inspect_ai.model import ModelUsage

    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return ModelUsage(
        input_tokens=usage.input_tokens
        - (usage.cached_tokens or 0)
        - (usage.cache_write_tokens or 0),
        input_tokens_cache_read=usage.cached_tokens,
        input_tokens_cache_write=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        total_cost=cost,
    )


def from_usage(usage: Any) -> Usage:
    """Inspect's ModelUsage as ours; without one, all counts are unknown."""
    if usage is None:
        return Usage()
    cached, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
    return Usage(
        input_tokens=usage.input_tokens + (cached or 0) + (written or 0),
        cached_tokens=cached,
        cache_write_tokens=written,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        source="provider",
    )


def from_output(output: Any) -> Reply:
    """Inspect's ModelOutput as our reply."""
    return Reply(
        message=from_inspect(output.message),
        finish_reason=FINISHES.get(output.stop_reason),
        usage=from_usage(output.usage),
        model=output.model or None,
    )
