"""Episodes, model calls and tool calls as flat rows, the same columns in every file format: JSON
lines (episodes.jsonl, steps.jsonl, tool_calls.jsonl) and Parquet, typed alike for every run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from agent_env.features.interop.chat import as_line, storable
from agent_env.features.interop.export.source import EpisodeRecord, Source
from agent_env.sdk.commands import need_extra
from agent_env.sdk.records import ModelFacts, Usage
from agent_env.sdk.trace import ModelCalled

Kind = Literal["text", "int", "float", "bool", "texts"]
Row = dict[str, Any]

_WHICH: dict[str, Kind] = {
    "run": "text", "episode": "text", "condition": "text", "sample": "text", "repeat": "int",
}  # fmt: skip
_USED: dict[str, Kind] = {
    "input_tokens": "int", "cached_tokens": "int", "output_tokens": "int",
    "reasoning_tokens": "int",
}  # fmt: skip

EPISODES: Mapping[str, Kind] = {
    **_WHICH, "task": "text", "model": "text", "status": "text", "stop_reason": "text",
    "failure": "text", "outcome": "text", "answer": "text", "read": "texts", "gold": "texts",
    "steps": "int", "tool_calls": "int", "tool_errors": "int", "hosted_calls": "int", **_USED,
    "usage_sources": "texts", "failed_calls": "int", "uncounted_calls": "int",
    "cache_hits": "int", "cost_usd": "float", "duration_s": "float", "started_at": "text",
    "parent": "text",
}  # fmt: skip
"""One row per episode; `read` is the answer as the scorer read it. A column `score_METRIC` for
each metric of the task follows."""

STEPS: Mapping[str, Kind] = {
    **_WHICH, "call": "int", "step": "int", "attempt": "int", "at": "text", "latency_s": "float",
    "queued_s": "float", "finish_reason": "text", "served_model": "text", **_USED,
    "usage_source": "text", "cost_usd": "float", "text": "text", "reasoning": "text",
    "tools_asked": "int", "error": "text", "error_kind": "text", "from_cache": "bool",
    "replayed": "bool", "request": "text",
}  # fmt: skip
"""One row per model call, by `call` from 1; one that gave no reply has an `error` and no `step`.
Tokens add up to those of the episode."""

TOOL_CALLS: Mapping[str, Kind] = {
    **_WHICH, "step": "int", "id": "text", "tool": "text", "arguments": "text", "output": "text",
    "error": "text", "ended": "text", "duration_s": "float", "output_tokens": "int",
    "tokens_source": "text", "opened": "texts", "returned": "texts", "replayed": "bool",
    "at": "text",
}  # fmt: skip
"""One row per tool call; `ended` says that it failed or was cancelled in the harness. `opened` and
`returned` are URLs."""


def columns(source: Source) -> dict[str, Mapping[str, Kind]]:
    """The tables by name, each with its columns in order."""
    scores: dict[str, Kind] = {f"score_{name}": "float" for name in source.task.metrics}
    return {"episodes": {**EPISODES, **scores}, "steps": STEPS, "tool_calls": TOOL_CALLS}


def rows(source: Source) -> Iterator[dict[str, list[Row]]]:
    """The rows of each table, episode by episode; every row has all columns, None is unknown."""
    run, manifest, tables = source.run, source.manifest, columns(source)
    for record in source:
        which = {
            "run": run, "episode": record.name, "condition": record.episode.condition,
            "sample": record.episode.sample, "repeat": record.episode.repeat,
        }  # fmt: skip
        found = {
            "episodes": [_episode(record, manifest.task, manifest.model_facts)],
            "steps": list(_steps(record, manifest.model_facts)),
            "tool_calls": list(_tool_calls(record)),
        }
        yield {
            name: [dict.fromkeys(tables[name]) | which | row for row in made]
            for name, made in found.items()
        }


def _episode(record: EpisodeRecord, task: str, facts: ModelFacts | None) -> Row:
    episode, parent = record.episode, record.start.parent
    same = [name for name in EPISODES if name in type(episode).model_fields]
    return {
        **{name: _plain(getattr(episode, name)) for name in same},
        "task": task,
        "outcome": record.score.outcome,
        "read": _plain(record.score.answer),
        "gold": list(record.sample.gold),
        "cost_usd": episode.paid.cost_usd(facts),
        "started_at": record.start.at,
        "parent": None if parent is None else f"{parent.run}/{parent.episode}@{parent.step}",
        **{f"score_{name}": value for name, value in record.score.metrics.items()},
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _steps(record: EpisodeRecord, facts: ModelFacts | None) -> Iterator[Row]:
    step = 0
    calls = (event for event in record.events if isinstance(event, ModelCalled))
    for number, event in enumerate(calls, start=1):
        reply = event.reply
        step += reply is not None
        usage = (event.usage if reply is None else reply.usage) or Usage()
        row = {
            "call": number, "attempt": event.attempt, "at": event.at,
            "latency_s": event.latency_s, "queued_s": event.queued_s, "request": event.request,
            "usage_source": usage.source, "error": event.error, "error_kind": event.error_kind,
            "replayed": bool(event.replayed), "from_cache": False,
            "cost_usd": event.paid_usd(facts),
            **{name: getattr(usage, name) for name in _USED},
        }  # fmt: skip
        if reply is not None:
            row |= {
                "step": step, "finish_reason": reply.finish_reason, "served_model": reply.model,
                "text": reply.message.content, "reasoning": reply.message.reasoning,
                "tools_asked": len(reply.message.tool_calls),
                "from_cache": reply.cached_at is not None,
            }  # fmt: skip
        yield row


def _tool_calls(record: EpisodeRecord) -> Iterator[Row]:
    for step in record.recording.steps:
        for event in step.called:
            pages = event.result.pages
            yield {
                "step": step.number, "id": event.call.id, "tool": event.call.name,
                "arguments": event.call.arguments, "error": event.result.error,
                "output": None if event.gave_nothing else event.result.output,
                "ended": event.ended, "duration_s": event.duration_s,
                "output_tokens": event.output_tokens, "tokens_source": event.tokens_source,
                "opened": [page.url for page in pages if page.how == "opened"],
                "returned": [page.url for page in pages if page.how == "returned"],
                "replayed": bool(event.replayed), "at": event.at,
            }  # fmt: skip


def write_jsonl(source: Source, out: Path) -> dict[str, int]:
    """Write the tables into the folder `out`; how many rows each has."""
    counts = dict.fromkeys(columns(source), 0)
    with ExitStack() as stack:
        files = {
            name: stack.enter_context((out / f"{name}.jsonl").open("w", encoding="utf-8"))
            for name in counts
        }
        for tables in rows(source):
            for name, made in tables.items():
                counts[name] += len(made)
                for row in made:
                    files[name].write(as_line(row))
    return counts


AT_ONCE = 5_000
"""Rows of a table that are held in memory before they are written."""


def write_parquet(source: Source, out: Path) -> dict[str, int]:
    """Write the tables into the folder `out`; how many rows each has."""
    need_extra("pyarrow", extra="parquet", what="--to parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    types: dict[Kind, Any] = {
        "text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(),
        "texts": pa.list_(pa.string()),
    }  # fmt: skip
    schemas = {
        name: pa.schema([(column, types[kind]) for column, kind in table.items()])
        for name, table in columns(source).items()
    }
    counts, waiting = dict.fromkeys(schemas, 0), {name: list[Row]() for name in schemas}
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(pq.ParquetWriter(out / f"{name}.parquet", schema))
            for name, schema in schemas.items()
        }

        def flush(name: str) -> None:
            rows_ = [{k: _storable_cell(v) for k, v in row.items()} for row in waiting[name]]
            writers[name].write_table(pa.Table.from_pylist(rows_, schema=schemas[name]))
            waiting[name].clear()

        for tables in rows(source):
            for name, made in tables.items():
                counts[name] += len(made)
                waiting[name] += made
                if len(waiting[name]) >= AT_ONCE:
                    flush(name)
        for name in schemas:
            flush(name)
    return counts


def _storable_cell(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    return [_storable_cell(part) for part in value] if isinstance(value, list) else value
