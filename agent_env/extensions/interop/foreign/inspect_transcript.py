"""The conversation of one sample of an Inspect log: its messages, and of its events what they tell
of each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from agent_env.extensions.interop.foreign.transcript import Transcript
from agent_env.extensions.interop.inspect_chat import from_inspect, from_usage
from agent_env.sdk.records import ToolSpec


def inspect_transcript(sample: Any) -> Transcript:
    """The transcript of an EvalSample whose attachments are resolved."""
    asked = [e for e in sample.events if e.event == "model" and e.output.choices and not e.error]
    prompt = _prompt(sample.messages)
    written = [m for m in sample.messages[prompt:] if m.role == "assistant"]
    events = _in_order(written, asked)
    ran = [event for event in sample.events if event.event == "tool"]
    return Transcript(
        messages=tuple(map(from_inspect, sample.messages)),
        tools=tuple(_tools(asked)),
        usages=tuple(e and from_usage(e.output.usage) for e in events),
        question=_question(sample.input),
        gold=sample.target if isinstance(sample.target, str) else tuple(sample.target),
        answer=_answer(sample),
        output=sample.output.completion or None,
        model=next((e.output.model for e in asked if e.output.model), None),
        prompt=prompt,
        latencies_s=tuple(e and e.working_time for e in events),
        durations_s={e.id: e.working_time for e in ran if e.working_time is not None},
        tool_errors={
            m.tool_call_id: m.error.message
            for m in sample.messages
            if m.role == "tool" and m.error is not None and m.tool_call_id
        },
        began_at=datetime.fromisoformat(sample.started_at) if sample.started_at else None,
    )


def _prompt(messages: Sequence[Any]) -> int:
    """How many messages come before the first that the model wrote: worked examples are none."""
    for at, message in enumerate(messages):
        if message.role == "assistant" and message.source != "input":
            return at
    return len(messages)


def _in_order(written: Sequence[Any], asked: Sequence[Any]) -> list[Any]:
    """The model call behind each message: by id, else by place where the numbers agree, else
    None."""
    by_id: Mapping[str, Any] = {e.output.choices[0].message.id: e for e in asked}
    events = [by_id.get(message.id) for message in written]
    if not any(events) and len(written) == len(asked):
        return list(asked)
    return events


def _tools(asked: Sequence[Any]) -> list[ToolSpec]:
    """Offered in any call."""
    offered = {tool.name: tool for event in asked for tool in event.tools}
    return [
        ToolSpec(
            name=tool.name,
            description=tool.description,
            parameters=tool.parameters.model_dump(mode="json", exclude_none=True),
        )
        for tool in offered.values()
    ]


def _question(given: Any) -> str | None:
    """The input, of a conversation the last thing that the user says."""
    if isinstance(given, str):
        return given
    return next((m.text for m in reversed(given) if m.role == "user"), None)


def _answer(sample: Any) -> str | None:
    """As the first scorer read it, else the last reply."""
    answers = (score.answer for score in (sample.scores or {}).values() if score.answer)
    return next(answers, None) or sample.output.completion or None
