"""Samples of lm-evaluation-harness (`--log_samples`): `samples_TASK_TIME.jsonl`, a line each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_env.errors import ConfigError, DatasetError
from agent_env.runs.foreign.fields import Unread, mapping, read_object, texts
from agent_env.runs.foreign.log import ForeignEpisode, ForeignLog

FIELDS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps"}
"""Of every line; each name in `metrics` is a field, too."""
_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<time>\d{4}-\d\d-\d\dT.*)")


def read_lm_eval(
    file: Path, rows: Sequence[tuple[int, dict[str, Any]]], unread: Unread
) -> ForeignLog:
    """The log. `rows` are the file's objects with their lines: one for each filter; the filter is
    part of the metric's name where there are several, as in the harness's own tables."""
    filters = sorted({str(row.get("filter", "none")) for _, row in rows})
    metrics: dict[str, dict[str, float]] = defaultdict(dict)
    samples: dict[str, dict[str, str]] = {}
    contents: dict[str, str] = {}
    for line, row in rows:
        if missing := sorted(FIELDS - row.keys()):
            unread.add("lines without a field", f"{missing[0]!r} in {file.name}:{line}")
            continue
        sample = str(row["doc_id"])
        samples[sample] = {"subtask": str(row["task_name"])} if "task_name" in row else {}
        contents[sample] = str(row.get("doc_hash", ""))
        suffix = f",{row['filter']}" if len(filters) > 1 else ""
        values = {name: row.get(name) for name in _names(row)}
        for name, value in unread.numbers(values, f"{file.name}:{line}").items():
            metrics[sample][name + suffix] = value
    match = _NAME.fullmatch(file.stem)
    about = _about(file, match["time"] if match else "")
    config = mapping(about.get("config"))
    return ForeignLog(
        file=file,
        source=f"lm-evaluation-harness {about.get('lm_eval_version', 'of unknown version')}",
        task=match["task"] if match else file.stem,
        model=str(about.get("model_name") or file.parent.name or "unknown"),
        episodes=tuple(ForeignEpisode(sample, 1, metrics[sample]) for sample in samples),
        samples=samples,
        contents=contents,
        settings=texts({**config, **mapping(config.get("model_args")), "model": None}),
        notes=("the file tells no tokens and no errors", *unread.notes),
    )


def _about(file: Path, time: str) -> dict[str, Any]:
    """The summary of the same run beside it, where there is one that can be read."""
    try:
        return read_object(file.with_name(f"results_{time}.json"), file.parent)
    except (ConfigError, DatasetError):
        return {}


def _names(row: dict[str, Any]) -> list[str]:
    """Of the line's metrics; older files do not list them."""
    listed = row.get("metrics")
    if isinstance(listed, list):
        return [str(name) for name in listed]
    known = FIELDS | {"filter", "doc_hash", "prompt_hash", "target_hash", "task_name"}
    return [name for name in row if name not in known]
