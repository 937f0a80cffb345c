"""Logs of Inspect, `.eval` and JSON, by its own reader, and the conversations of their samples.
Needs the extra `inspect`."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from agent_env.features.interop.foreign.log import (
    ForeignEpisode,
    ForeignLog,
    Transcript,
    texts,
)
from agent_env.features.interop.inspect_chat import from_inspect, from_usage
from agent_env.sdk.commands import need_extra
from agent_env.sdk.errors import DatasetError
from agent_env.sdk.records import ToolSpec

OURS = "episode_score"
"""The scorer of `inspect_tasks`."""
TRANSCRIPT = {"messages", "events", "events_data", "output", "store", "attachments", "timelines"}
"""Fields of a sample that a comparison does not need."""
REMOVED = "Key removed from summary"
"""What a summary holds in place of a long list or object."""
_MOST = sys.float_info.max


def read_inspect(file: Path, with_transcripts: bool = False) -> ForeignLog:
    """The log; DatasetError where Inspect cannot read it. Transcripts of an `.eval` come by the
    log's `stream`, those of a JSON log, which Inspect holds whole, in its episodes."""
    need_extra("inspect_ai", what="a log of Inspect")
    from inspect_ai.log import read_eval_log

    is_zip = file.suffix == ".eval"
    unread: Counter[str] = Counter()
    notes: list[str] = []
    try:
        log = read_eval_log(str(file), is_zip, resolve_attachments=with_transcripts)
        samples = log.samples or []
        summaries = (
            _summaries(file, log, notes.append) if is_zip else [s.summary() for s in samples]
        )
    except MemoryError:
        raise
    except Exception as exc:  # Inspect's reader raises what its parts raise
        raise DatasetError(file, None, f"is not a log that Inspect reads, or cut: {exc}") from exc
    episodes = [_episode(each, unread) for each in summaries]
    if with_transcripts and not is_zip:
        pairs = zip(episodes, samples, strict=True)
        episodes = [replace(each, transcript=inspect_transcript(s)) for each, s in pairs]
    notes += [
        f"{count} scores are not numbers and left out: {name}" for name, count in unread.items()
    ]
    if log.status != "success":
        notes.append(f"its status is {log.status}: {len(episodes)} episodes are there")
    return ForeignLog(
        file=file,
        source=" ".join(next(iter(log.eval.packages.items()), ("inspect_ai",))),
        task=log.eval.task,
        model=log.eval.model,
        episodes=tuple(episodes),
        samples={str(s.id): _metadata(s.metadata) for s in summaries},
        contents={str(s.id): _content(s.input) for s in summaries},
        settings=texts({**log.eval.task_args, **log.eval.model_args, **_scorers(log)}),
        notes=tuple(notes),
        status=log.status,
        results=[
            each.model_dump(mode="json", exclude_none=True)
            for each in (log.results.scores if log.results else ())
        ],
        stream=partial(streamed, file) if with_transcripts and is_zip else None,
    )


def _summaries(file: Path, log: Any, note: Callable[[str], None]) -> list[Any]:
    """Of all samples, as the log keeps them beside the samples; old logs and those of a task that
    runs are read whole. Where one sample is broken, the others."""
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    known = read_eval_log_sample_summaries(str(file))
    has_usage = any(each.model_usage for each in known) or not log.stats.model_usage
    if has_usage and all(each.completed for each in known):
        return sorted(known, key=_place)
    try:
        samples = read_eval_log(str(file), exclude_fields=TRANSCRIPT).samples or []
    except Exception:  # one broken sample fails the whole, so that each is tried by itself
        samples = list(_one_by_one(file, TRANSCRIPT, note))
    return [each.summary() for each in samples]


def _place(each: Any) -> tuple[int, str]:
    """The order in which Inspect reads samples."""
    return each.epoch, each.id if isinstance(each.id, str) else str(each.id).zfill(20)


def _one_by_one(file: Path, without: set[str], note: Callable[[str], None]) -> Iterator[Any]:
    from inspect_ai.log import read_eval_log_sample, read_eval_log_sample_summaries

    for each in read_eval_log_sample_summaries(str(file)):
        try:
            yield read_eval_log_sample(
                str(file),
                each.id,
                each.epoch,
                resolve_attachments="attachments" not in without,
                exclude_fields=without,
            )
        except Exception as exc:  # as above
            reason = " ".join(f"{type(exc).__name__}: {exc}".split())[:200]
            note(f"sample {each.id}, epoch {each.epoch} cannot be read and is left out: {reason}")


def streamed(file: Path, note: Callable[[str], None]) -> Iterator[ForeignEpisode]:
    pictures: Counter[str] = Counter()
    for sample in _one_by_one(file, {"store"}, note):
        contents = (m.content for m in sample.messages if not isinstance(m.content, str))
        pictures.update(part.type for content in contents for part in content)
        episode = _episode(sample.summary(), Counter())
        yield replace(episode, transcript=inspect_transcript(sample))
    for kind in pictures.keys() - {"text", "reasoning"}:
        note(f"{pictures[kind]} parts of messages are not text and left out: {kind}")


def _episode(sample: Any, unread: Counter[str]) -> ForeignEpisode:
    """Of a sample's summary."""
    failure = (sample.error.strip().splitlines() or ["error"])[-1][:300] if sample.error else None
    # over all models that the sample used. Inspect's input tokens leave the cached ones out, ours
    # hold them.
    usages = list((sample.model_usage or {}).values())
    used: dict[str, float] = {}
    if usages:
        used["output_tokens"] = float(sum(usage.output_tokens for usage in usages))
        used["input_tokens"] = float(
            sum(
                usage.input_tokens
                + (usage.input_tokens_cache_read or 0)
                + (usage.input_tokens_cache_write or 0)
                for usage in usages
            )
        )
    for quantity, field in (
        ("cached_tokens", "input_tokens_cache_read"),
        ("reasoning_tokens", "reasoning_tokens"),
        ("cost_usd", "total_cost"),
    ):
        values = [getattr(usage, field, None) for usage in usages]
        known = [float(value) for value in values if value is not None]
        if values and len(known) == len(values):
            used[quantity] = sum(known)
    if getattr(sample, "turn_count", None) is not None:
        used["steps"] = float(sample.turn_count)
    if sample.working_time is not None:
        used["duration_s"] = float(sample.working_time)
    return ForeignEpisode(
        sample=str(sample.id),
        repeat=sample.epoch,
        metrics={} if failure else dict(_metrics(sample.scores or {}, unread)),
        failure=failure,
        used=used,
        stop_reason=sample.limit,
    )


def _metrics(scores: Mapping[str, Any], unread: Counter[str]) -> Iterator[tuple[str, float]]:
    """By scorer; a score of several values by scorer and part, those of our scorer by metric."""
    from inspect_ai.scorer import value_to_float

    number = value_to_float()
    for scorer, score in scores.items():
        parts = score.value if isinstance(score.value, dict) else {"": score.value}
        for part, value in parts.items():
            if scorer == OURS and value != value:  # a metric that this answer does not have
                continue
            name = part if scorer == OURS else f"{scorer}/{part}" if part else scorer
            is_number = isinstance(value, bool | int | float) and -_MOST <= value <= _MOST
            if is_number or value in ("C", "I", "P", "N"):
                yield name, float(number(value))
            else:
                unread[name] += 1


def _metadata(values: dict[str, Any] | None) -> dict[str, str]:
    return {k: v for k, v in texts(values or {}).items() if not v.startswith(REMOVED)}


def _content(asked: Any) -> str:
    """Digest of what a sample asks, to tell samples of one id apart."""
    if not isinstance(asked, str):
        asked = json.dumps([(m.role, m.text) for m in asked], ensure_ascii=False)
    return hashlib.sha256(asked.encode()).hexdigest()[:16]


def _scorers(log: Any) -> dict[str, str]:
    """How each was called: one name with other options is another score."""
    return {
        f"scorer {each.name}": json.dumps(each.options, sort_keys=True, default=str)
        for each in log.eval.scorers or []
        if each.options
    }


def inspect_transcript(sample: Any) -> Transcript:
    """The transcript of an EvalSample whose attachments are resolved."""
    asked = [e for e in sample.events if e.event == "model" and e.output.choices and not e.error]
    prompt = _prompt(sample.messages)
    written = [m for m in sample.messages[prompt:] if m.role == "assistant"]
    events = _in_order(written, asked)
    ran = [event for event in sample.events if event.event == "tool"]
    offered = {tool.name: tool for event in asked for tool in event.tools}
    answers = (score.answer for score in (sample.scores or {}).values() if score.answer)
    # the input, of a conversation the last thing that the user says
    return Transcript(
        messages=tuple(map(from_inspect, sample.messages)),
        tools=tuple(
            [
                ToolSpec(
                    name=tool.name,
                    description=tool.description,
                    parameters=tool.parameters.model_dump(mode="json", exclude_none=True),
                )
                for tool in offered.values()
            ]
        ),
        usages=tuple(e and from_usage(e.output.usage) for e in events),
        question=sample.input
        if isinstance(sample.input, str)
        else next((m.text for m in reversed(sample.input) if m.role == "user"), None),
        gold=sample.target if isinstance(sample.target, str) else tuple(sample.target),
        answer=next(answers, None) or sample.output.completion or None,
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
