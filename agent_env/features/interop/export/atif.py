"""Episodes as trajectories in Harbor's interchange format, ATIF 1.8: CONDITION/SAMPLE.REPEAT.json.

A step is a message of the prompt, one that the harness put in, or a reply of the model with its
calls and their results. What ATIF has no place for is in `extra`; unknown figures are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agent_env.features.interop.chat import arguments_of
from agent_env.features.interop.export.source import EpisodeRecord, Source
from agent_env.sdk.models import chat_tool
from agent_env.sdk.records import Manifest, Message, ModelFacts, ToolCall, Usage

SCHEMA = "ATIF-v1.8"
Json = dict[str, Any]


def write(source: Source, out: Path) -> dict[str, int]:
    """Write a file for each episode into the folder `out`. Episodes that failed before anything was
    said are left out: a trajectory has at least one step."""
    count = 0
    for record in source:
        steps = _steps(record, source.manifest.model_facts)
        if not steps:
            source.left_out += 1
            continue
        file = out / f"{record.name}.json"
        file.parent.mkdir(exist_ok=True)
        text = json.dumps(
            _trajectory(record, source, steps), ensure_ascii=False, allow_nan=False, indent=2
        )
        file.write_bytes(text.encode("utf-8", "replace") + b"\n")
        count += 1
    return {"trajectories": count}


def _trajectory(record: EpisodeRecord, source: Source, steps: list[Json]) -> Json:
    episode, score, tools = record.episode, record.score, list(map(chat_tool, record.start.tools))
    name, version = _harness(source.manifest)
    notes = (
        f"Failed model calls: {episode.failed_calls}. They are no steps; the totals include their "
        "tokens where the server reported them."
    )
    return _known(
        schema_version=SCHEMA,
        session_id=source.run,
        trajectory_id=f"{source.run}/{record.name}",
        agent=_known(
            name=name,
            version=version,
            model_name=episode.model,
            tool_definitions=tools or None,
        ),
        steps=steps,
        notes=notes if episode.failed_calls else None,
        final_metrics=_known(
            total_prompt_tokens=episode.input_tokens,
            total_completion_tokens=episode.output_tokens,
            total_cached_tokens=episode.cached_tokens,
            total_cost_usd=episode.paid.cost_usd(source.manifest.model_facts),
            total_steps=len(steps),
            extra=_known(
                total_reasoning_tokens=episode.reasoning_tokens, duration_s=episode.duration_s
            )
            or None,
        ),
        extra=_known(
            task=source.manifest.task,
            condition=episode.condition,
            sample=episode.sample,
            repeat=episode.repeat,
            status=episode.status,
            stop_reason=episode.stop_reason,
            failure=episode.failure,
            answer=episode.answer,
            gold=list(record.sample.gold),
            outcome=score.outcome,
            scores=score.metrics,
        ),
    )


def _harness(manifest: Manifest) -> tuple[str, str]:
    """What asked the model, and its version: we, or the tool of an imported log."""
    if manifest.imported is None:
        return "agent-env", manifest.versions.get("agent-env", "unknown")
    name, _, version = manifest.imported.tool.partition(" ")
    return name, version or "unknown"


def _known(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _steps(record: EpisodeRecord, facts: ModelFacts | None) -> list[Json]:
    steps: list[Json] = []
    _add_messages(steps, record.start.messages, record.start.at, is_prompt=True)
    ours = {event.call.id for step in record.recording.steps for event in step.called}
    for step in record.recording.steps:
        call, reply = step.call, step.reply
        # an outside agent sends the results of our tools again, which are below
        _add_messages(steps, (m for m in call.added if m.tool_call_id not in ours), call.at)
        fields = _agent_step(reply.message)
        if reply.model not in (None, record.episode.model):
            fields["model_name"] = reply.model
        cost = call.paid_usd(facts)
        usage: Usage = reply.usage
        more = _known(reasoning_tokens=usage.reasoning_tokens, usage_source=usage.source)
        fields |= _known(
            metrics=_known(
                prompt_tokens=usage.input_tokens,
                completion_tokens=usage.output_tokens,
                cached_tokens=usage.cached_tokens,
                cost_usd=cost,
                extra=more or None,
            )
            or None,
            llm_call_count=1,
        )
        _add(steps, call.at, bool(call.replayed), **fields)
        for event in step.called:
            found = _known(error=event.result.error, ended=event.ended, duration_s=event.duration_s)
            output = None if event.gave_nothing else event.result.output
            _observe(steps, event.call.id, _known(content=output, extra=found or None))
    if (end := record.recording.end) is not None:
        _add_messages(steps, end.added, end.at)
    return steps


def _add_messages(
    steps: list[Json], messages: Iterable[Message], at: str, is_prompt: bool = False
) -> None:
    """Messages that the model did not write now; what it says in them are worked examples."""
    for message in messages:
        if message.role == "tool":
            _observe(steps, message.tool_call_id, {"content": message.content})
        elif message.role == "assistant":
            _add(steps, at, is_prompt, **_agent_step(message))
        else:
            _add(steps, at, False, source=message.role, message=message.content)


def _add(steps: list[Json], at: str, is_copied: bool, **fields: Any) -> None:
    step = _known(step_id=len(steps) + 1, timestamp=at, **fields)
    steps.append(step | ({"is_copied_context": True} if is_copied else {}))


def _agent_step(message: Message) -> Json:
    return _known(
        source="agent",
        message=message.content,
        reasoning_content=message.reasoning,
        tool_calls=[_call(call) for call in message.tool_calls] or None,
    )


def _call(call: ToolCall) -> Json:
    arguments, problem = arguments_of(call)
    problem = call.problem or problem
    return _known(
        tool_call_id=call.id,
        function_name=call.name,
        arguments=arguments,
        extra=None if problem is None else {"problem": problem},
    )


def _observe(steps: list[Json], call: str | None, result: Json) -> None:
    """The result belongs to the step before it, where that is the model's and made the call."""
    if not steps:
        return
    calls: Iterable[Mapping[str, Any]] = steps[-1].get("tool_calls", ())
    if any(call == each["tool_call_id"] for each in calls):
        result = {"source_call_id": call, **result}
    steps[-1].setdefault("observation", {"results": []})["results"].append(result)
