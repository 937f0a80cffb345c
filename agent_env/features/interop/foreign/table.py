"""Any table of results by a mapping file, such as

[columns]                 # of the table, by what they are
sample = "question_id"
repeat = "seed"           # optional; else rows of one sample are repeats in their order
scores = ["correct", "f1"]
model = "model"           # optional; one log for each model
failure = "error"         # optional: a text that is not empty means that it failed
input_tokens = "tokens_in"
metadata = ["topic"]      # for --cluster and --by
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from agent_env.features.facts.tables.table_files import FileRow, checked_rows, read_table_file
from agent_env.features.interop.foreign.log import ForeignEpisode, ForeignLog
from agent_env.sdk.errors import ConfigError, DatasetError, user_problem
from agent_env.sdk.records import Record
from agent_env.sdk.results import QUANTITIES

WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


class Columns(Record):
    """Names of the table's columns."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample: str
    scores: tuple[str, ...] = Field(min_length=1)
    repeat: str | None = None
    model: str | None = None
    failure: str | None = None
    metadata: tuple[str, ...] = ()
    input_tokens: str | None = None
    cached_tokens: str | None = None
    output_tokens: str | None = None
    reasoning_tokens: str | None = None
    cost_usd: str | None = None
    steps: str | None = None
    tool_calls: str | None = None
    duration_s: str | None = None


def read_columns(file: Path) -> Columns:
    """The mapping; ConfigError with the file and the field for a mistake."""
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as exc:
        raise ConfigError(f"{file} cannot be read as TOML: {exc}") from exc
    if unknown := sorted(set(data) - {"columns"}):
        raise ConfigError(f"{file}: unknown entry '{unknown[0]}'; known: columns")
    try:
        return Columns.model_validate(data.get("columns", {}))
    except ValidationError as exc:
        raise ConfigError(f"{file}: {user_problem(exc.errors(), Columns.model_fields)}") from exc


def read_table(file: Path, columns: Columns) -> list[ForeignLog]:
    """A log for each model of the table; DatasetError with the line for what is no such row."""
    by_model: dict[str, list[FileRow]] = defaultdict(list)
    for row in checked_rows(file, read_table_file(file)):
        named = [columns.sample, *columns.scores, *columns.metadata]
        if missing := [name for name in named if name not in row.cells]:
            known = ", ".join(row.cells)
            raise DatasetError(file, row.line, f"has no column '{missing[0]}'; it has {known}")
        by_model[str(row.cells[columns.model]) if columns.model else "unknown"].append(row)
    if not by_model:
        raise DatasetError(file, None, "holds no row")
    return [_log(file, model, rows, columns) for model, rows in by_model.items()]


def _log(file: Path, model: str, rows: list[FileRow], columns: Columns) -> ForeignLog:
    count: Counter[str] = Counter()
    episodes, samples = [], {}
    for line, row in ((each.line, each.cells) for each in rows):
        sample = str(row[columns.sample])
        count[sample] += 1
        samples[sample] = {name: str(row[name]) for name in columns.metadata}
        repeat = row.get(columns.repeat) if columns.repeat else count[sample]
        failure = row.get(columns.failure) if columns.failure else None
        episodes.append(
            ForeignEpisode(
                sample=sample,
                repeat=int(_number(file, line, columns.repeat or "", repeat) or count[sample]),
                metrics={} if failure else dict(_scores(file, line, row, columns)),
                failure=str(failure) if failure else None,
                used=dict(_used(file, line, row, columns)),
            )
        )
    name = model if columns.model else ""
    return ForeignLog(file, "a table", file.stem, model, tuple(episodes), samples, name=name)


def _scores(
    file: Path, line: int, row: Mapping[str, Any], columns: Columns
) -> Iterator[tuple[str, float]]:
    for name in columns.scores:
        if (value := _number(file, line, name, row[name])) is not None:
            yield name, value


def _used(
    file: Path, line: int, row: Mapping[str, Any], columns: Columns
) -> Iterator[tuple[str, float]]:
    for quantity in QUANTITIES:
        name = getattr(columns, quantity)
        if name and (value := _number(file, line, name, row.get(name))) is not None:
            yield quantity, value


def _number(file: Path, line: int, name: str, value: Any) -> float | None:
    """None for an empty cell."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    try:
        if math.isfinite(number := float(value)):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise DatasetError(file, line, f"{name}: '{str(value)[:40]}' is not a number")
