"""Runs as Inspect logs: one CONDITION.eval for each condition, written by Inspect's own library.

A sample is an episode, an epoch a repeat. Every model call and tool call is an event, so the
viewer shows the transcript with its times. What Inspect has no place for is in the metadata.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_env.features.interop.chat import arguments_of, storable
from agent_env.features.interop.export.source import Choice, EpisodeRecord, Source
from agent_env.features.interop.inspect_chat import (
    STOPS,
    call_error,
    to_inspect,
    to_tools,
    to_usage,
)
from agent_env.sdk.commands import need_extra
from agent_env.sdk.errors import ConfigError, first_problem
from agent_env.sdk.records import Manifest, Message
from agent_env.sdk.scoring import SampleMeans
from agent_env.sdk.trace import ModelCalled, ToolCalled

LIMITS = {
    "steps": "turn", "tool_calls": "custom", "tokens": "token", "input_tokens": "token",
    "output_tokens": "token", "cost": "cost", "time": "working",
    "context": "context",
}  # fmt: skip
"""Our stop reasons as Inspect's kinds of limits; the reason itself is beside."""


AT_ONCE = 2_000
"""Samples of one log: Inspect holds a log whole in memory, about 0.2 MB a sample of four steps."""


def write(source: Source, out: Path) -> dict[str, int]:
    """Write the logs into the folder `out`; how many samples each has. A condition with more than
    `AT_ONCE` episodes gets several, CONDITION.2.eval and so on. ConfigError for a value that a log
    of Inspect cannot hold, as a run.json by another hand may."""
    need_extra("inspect_ai", extra="inspect", what="--to inspect")
    try:
        from inspect_ai.log import write_eval_log

        manifest, counts = source.manifest, dict[str, int]()
        samples, parts = list[Any](), Counter[str]()

        def flush() -> None:
            if samples:
                condition = str(samples[0].metadata["condition"])
                parts[condition] += 1
                name = condition if parts[condition] == 1 else f"{condition}.{parts[condition]}"
                log = _log(source, manifest, condition, samples)
                write_eval_log(log, str(out / f"{name}.eval"), format="eval")
                counts[name] = len(samples)
                samples.clear()

        for record in source:  # in the order of their files: one condition after the other
            is_other = samples and samples[0].metadata["condition"] != record.episode.condition
            if is_other or len(samples) == AT_ONCE:
                flush()
            samples.append(_sample(record, manifest))
        flush()
        return counts
    except ValidationError as exc:
        raise ConfigError(f"Inspect takes no such log: {first_problem(exc.errors())}") from exc


def _log(source: Source, manifest: Manifest, condition: str, samples: Sequence[Any]) -> Any:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec, EvalStats

    status: Any = manifest.imported and manifest.imported.status  # as the imported log had it
    address = manifest.model_parameters.get("base_url")
    kept = {"run", "limits", "run_limits", "prompt", "options", "seed", "sandbox", "web", "id"}
    total: dict[str, Any] = {}
    for sample in samples:
        for model, usage in sample.model_usage.items():
            total[model] = total[model] + usage if model in total else usage
    return EvalLog(
        status=status or ("error" if any(sample.error for sample in samples) else "success"),
        eval=EvalSpec(
            run_id=source.run,
            eval_id=f"{source.run}-{condition}",
            created=manifest.created_at,
            task=f"{manifest.task}/{condition}",
            task_id=f"{manifest.task}-{condition}-{source.run}",
            dataset=EvalDataset(
                name=manifest.dataset or manifest.task,
                samples=manifest.samples,
                sample_ids=list(dict.fromkeys(sample.id for sample in samples)),
            ),
            model=manifest.model,
            model_base_url=address if isinstance(address, str) else None,
            config=EvalConfig(epochs=manifest.repeats),
            packages={"agent-env": manifest.versions.get("agent-env", "unknown")},
            metadata=json.loads(manifest.model_dump_json(include=kept)),
        ),
        results=_results(source, samples),
        stats=EvalStats(
            started_at=min(str(sample.started_at) for sample in samples),
            completed_at=max(str(sample.completed_at) for sample in samples),
            model_usage=total,
        ),
        samples=list(samples),
    )


def _results(source: Source, samples: Sequence[Any]) -> Any:
    """The means of `agent-env show`, over samples; of an imported log that is exported whole, its
    own results."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    scores = []
    imported = source.manifest.imported
    if imported is not None and source.choice == Choice():
        scores = [EvalScore.model_validate(each) for each in imported.results]
    for name in source.task.metrics if not scores else ():
        means = SampleMeans()
        for sample in samples:
            if sample.scores:
                score = sample.scores.get(name)
                means.add(str(sample.id), None if score is None else score.value)
        scored = sum(name in (sample.scores or {}) for sample in samples)
        scores.append(
            EvalScore(
                name=name,
                scorer=name,
                scored_samples=scored,
                unscored_samples=len(samples) - scored,
                metrics={}
                if means.mean is None
                else {"mean": EvalMetric(name="mean", value=means.mean)},
            )
        )
    done = sum(sample.error is None for sample in samples)
    return EvalResults(total_samples=len(samples), completed_samples=done, scores=scores)


def _sample(record: EpisodeRecord, manifest: Manifest) -> Any:
    from inspect_ai.log import EvalError, EvalSample, EvalSampleLimit
    from inspect_ai.scorer import Score

    episode, score = record.episode, record.score
    messages = [_message(m, record) for m in episode.messages]
    prompt = len(record.start.messages)
    replies = [step.call for step in record.recording.steps]
    known = to_usage(episode.usage, episode.paid.cost_usd(manifest.model_facts))
    answer = None if score.answer is None else ", ".join(score.answer)
    limit = LIMITS.get(episode.stop_reason or "")
    problem = episode.failure or ("unfinished" if episode.status == "unfinished" else None)
    return EvalSample(
        id=getattr(record.sample, "source_id", episode.sample),
        epoch=episode.repeat,
        input=messages[:prompt] or "",
        target=list(record.sample.gold),
        messages=messages,
        output=_final_output(record, replies, manifest),
        scores={
            name: Score(value=value, answer=answer, explanation=episode.answer)
            for name, value in score.metrics.items()
        },
        metadata=getattr(record.sample, "metadata", {})
        | {
            "condition": episode.condition,
            "outcome": score.outcome,
            "stop_reason": episode.stop_reason,
            "tool_calls": episode.tool_calls,
            "steps": episode.steps,
            "citations": list(episode.citations),
            "usage_known": known is not None,
            "usage_sources": list(episode.usage_sources),
        },
        model_usage={} if known is None else {episode.model: known},
        events=_events(record, manifest),
        started_at=record.events[0].at,
        completed_at=record.events[-1].at,
        total_time=(_when(record.events[-1].at) - _when(record.events[0].at)).total_seconds(),
        working_time=episode.duration_s,
        error=problem and EvalError(message=problem, traceback="", traceback_ansi=""),
        limit=limit
        and EvalSampleLimit(type=limit, limit=_most(record), reason=episode.stop_reason),
        uuid=f"{record.start.run or ''}/{record.name}",
        turn_count=episode.steps,
    )  # fmt: skip


def _most(record: EpisodeRecord) -> float:
    """The limit that was reached; -1 where the trace does not say it."""
    names = {"time": "time_s", "cost": "cost_usd"}
    reason = record.episode.stop_reason or ""
    value = (record.start.limits or {}).get(names.get(reason, reason))
    return float(value) if isinstance(value, int | float) else -1.0


def _message(message: Message, record: EpisodeRecord) -> Any:
    event = _ran(record, message.tool_call_id) if message.role == "tool" else None
    if event is None:
        return to_inspect(message, record.episode.model)
    return to_inspect(message, function=event.call.name, error=event.result.error)


def _ran(record: EpisodeRecord, call_id: str | None) -> ToolCalled | None:
    found = (e for e in record.events if isinstance(e, ToolCalled) and e.call.id == call_id)
    return next(found, None)


def _final_output(record: EpisodeRecord, replies: Sequence[ModelCalled], manifest: Manifest) -> Any:
    """The last reply; of an imported sample what its solver gave out, which may be another text."""
    from inspect_ai.model import ModelOutput

    output = _output(replies[-1], manifest) if replies else ModelOutput(model=manifest.model)
    imported = record.episode.imported
    text = imported.output if imported is not None else None
    if text is None or output.completion == text:
        return output
    reason = output.stop_reason if output.choices else "stop"
    return ModelOutput.from_content(output.model or manifest.model, text, stop_reason=reason)


def _output(event: ModelCalled, manifest: Manifest) -> Any:
    from inspect_ai.model import ChatCompletionChoice, ModelOutput

    reply = event.reply
    if reply is None:
        return ModelOutput(model=manifest.model, choices=[], error=event.error)
    choice = ChatCompletionChoice(
        message=to_inspect(reply.message, manifest.model),
        stop_reason=STOPS.get(reply.finish_reason or "", "unknown"),
    )
    return ModelOutput(
        model=reply.model or manifest.model,
        choices=[choice],
        usage=to_usage(reply.usage, reply.usage.cost_usd(manifest.model_facts)),
        time=event.latency_s,
    )


def _when(at: str) -> datetime:
    return datetime.fromisoformat(at)


def _events(record: EpisodeRecord, manifest: Manifest) -> list[Any]:
    """Model and tool calls in order, each from when it began; failed ones too."""
    from inspect_ai.event import ModelEvent, ToolEvent
    from inspect_ai.model import GenerateConfig

    events: list[Any] = []
    began = _when(record.start.at)
    for place, event in enumerate(record.events):
        at = _when(event.at)
        if isinstance(event, ModelCalled):
            start = at - timedelta(seconds=event.latency_s or 0.0)
            sent = record.recording.messages_at(place)
            events.append(
                ModelEvent(
                    timestamp=start, completed=at, working_time=event.latency_s,
                    working_start=(start - began).total_seconds(), model=manifest.model,
                    input=[_message(m, record) for m in sent], tools=to_tools(record.start.tools),
                    tool_choice="auto", config=GenerateConfig(), output=_output(event, manifest),
                    error=event.error, retries=event.attempt - 1 or None,
                )
            )  # fmt: skip
        elif isinstance(event, ToolCalled):
            start = at - timedelta(seconds=event.duration_s or 0.0)
            events.append(
                ToolEvent(
                    timestamp=start, completed=at, working_time=event.duration_s,
                    working_start=(start - began).total_seconds(), id=event.call.id,
                    function=event.call.name, arguments=arguments_of(event.call)[0],
                    result=storable(event.result.output), error=call_error(event.result.error),
                    events=[],
                    failed=True if event.gave_nothing else None,
                )
            )  # fmt: skip
    return events
