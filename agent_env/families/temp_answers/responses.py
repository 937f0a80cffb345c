"""Response files in: the published CSV layout, or any CSV or JSON lines by a mapping.

A published file holds the responses of one model and one way of prompting to one split; its name
says which (`ttqa_head_MODEL_few-shot_….csv`). What a row lacks is kept as None and counted later.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_env.errors import ConfigError, DatasetError

NEEDED = ("question", "label", "answer_format", "answer_temporal_unit", "split", "response")
OPTIONAL = (
    "id", "category", "table_id", "question_type", "question_wo_instruct", "instruction",
    "dataset", "model", "prompting", "cluster", "prefilled", "finish_reason", "table_context",
)  # fmt: skip
DATASETS = ("tot", "ttqa")
MISSING = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)  # fmt: skip
"""What a data frame reads as no value."""


@dataclass(frozen=True, slots=True)
class Response:
    """One response to one question."""

    line: int
    """Of the row in its file, from 1; for CSV the row's number, its header not counted."""
    question: str
    label: str | None
    format: str | None
    unit: str | None
    split: str
    response: str | None
    key: str
    """Which question it is: the same for all models."""
    cluster: str
    """The table or graph that it shares with other questions."""
    question_type: str | None = None
    stopped: str | None = None
    """The server's finish reason, where the file has it."""
    years_only: bool = False
    """Whether neither question nor table gives a month or a day."""


@dataclass(frozen=True, slots=True)
class ResponseFile:
    """One file's rows."""

    path: Path
    dataset: str
    """`tot` (an object) or `ttqa` (a final line)."""
    model: str
    prompting: str
    prefilled: bool
    """Whether each response continues an object that was begun."""
    rows: tuple[Response, ...]
    duplicates: tuple[int, ...] = ()
    """Lines of rows whose question came before in the same file; they are scored all the same."""

    @property
    def label(self) -> str:
        """A short name: the file's, or run and condition."""
        return self.path.stem if self.path.suffix else f"{self.path.parent.name}/{self.path.name}"

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(sorted({row.split for row in self.rows}))


def read_responses(
    path: Path, mapping: Mapping[str, Any] | None = None, dated: dict[str, bool] | None = None
) -> ResponseFile:
    """A file by its layout; DatasetError names the columns that are missing. `dated` keeps what was
    seen of questions and tables that recur in the next file."""
    records = _records(path)
    first = next(records, None)
    if first is None:
        raise DatasetError(path, None, "holds no response")
    columns = _columns(path, first, mapping or {})
    named = _named(path)
    dataset = _dataset(path, first, columns, named)
    rows, seen, again = [], set[str](), list[int]()
    dated = {} if dated is None else dated
    for line, record in enumerate(_chain(first, records), start=1):
        row = _row(line, record, columns, dataset, dated)
        if row.key in seen:
            again.append(line)
        seen.add(row.key)
        rows.append(row)
    prefilled = _constant(columns, first, "prefilled")
    return ResponseFile(
        path,
        dataset,
        _constant(columns, first, "model") or named.get("model", path.stem),
        _constant(columns, first, "prompting") or named.get("prompting", ""),
        prefilled.lower() in ("true", "1", "yes") if prefilled else "continue" in path.stem,
        tuple(rows),
        tuple(again),
    )


def read_mapping(path: Path) -> dict[str, Any]:
    """`{"question": "COLUMN", "split": {"value": "head"}, …}`: which column is what."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ConfigError(f"--mapping {path} cannot be read: {exc}") from exc
    if not isinstance(found, dict):
        raise ConfigError(f"--mapping {path} is no JSON object")
    for name, column in found.items():
        if name not in (*NEEDED, *OPTIONAL):
            known = ", ".join((*NEEDED, *OPTIONAL))
            raise ConfigError(f"--mapping {path}: unknown field '{name}'; known: {known}")
        if not isinstance(column, str) and not (
            isinstance(column, dict) and set(column) == {"value"}
        ):
            raise ConfigError(
                f'--mapping {path}: {name} is neither a column\'s name nor {{"value": …}}'
            )
    return found


def _records(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        yield from _json_lines(path)
        return
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with path.open(encoding="utf-8-sig", newline="", errors="replace") as opened:
            reader = csv.DictReader(opened, strict=False)
            yield from reader
    except OSError as exc:
        raise DatasetError(path, None, exc.strerror or str(exc)) from exc
    except csv.Error as exc:
        raise DatasetError(path, reader.line_num, str(exc)) from exc


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8-sig") as opened:
            for number, line in enumerate(opened, start=1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except ValueError as exc:
                    raise DatasetError(path, number, f"is no JSON: {exc}") from exc
                if not isinstance(record, dict):
                    raise DatasetError(path, number, "is no JSON object")
                yield record
    except (OSError, UnicodeDecodeError) as exc:
        raise DatasetError(path, None, str(exc)) from exc


_FINER = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?\s*\d"
    r"|\d\s*(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|\d{4}-\d{1,2}|\d/\d{1,2}/\d",
    re.I,
)
Columns = Mapping[str, str | dict[str, Any]]


def _columns(path: Path, first: Mapping[str, Any], mapping: Mapping[str, Any]) -> Columns:
    """By field, its column or its constant."""
    columns: dict[str, str | dict[str, Any]] = {
        name: mapping.get(name, name)
        for name in (*NEEDED, *OPTIONAL)
        if name in mapping or name in first
    }
    lacking = [name for name in NEEDED if name not in columns]
    lacking += [
        f"{column} (for {name})"
        for name, column in mapping.items()
        if isinstance(column, str) and column not in first
    ]
    if lacking:
        there = ", ".join(str(name) for name in first if name) or "none"
        raise DatasetError(path, None, f"no column {', '.join(lacking)}; there are: {there}")
    return columns


def _named(path: Path) -> dict[str, str]:
    """What a published file's name says: DATASET_SPLIT_MODEL_PROMPTING_GENERATION."""
    parts = path.stem.split("_")
    if len(parts) < 4 or parts[0] not in DATASETS:
        return {}
    return {"dataset": parts[0], "model": parts[2], "prompting": parts[3]}


def _dataset(
    path: Path, first: Mapping[str, Any], columns: Columns, named: Mapping[str, str]
) -> str:
    said = _constant(columns, first, "dataset") or named.get("dataset")
    if said is None:
        said = "tot" if "question_type" in columns or "instruction" in columns else "ttqa"
    if said not in DATASETS:
        raise DatasetError(path, None, f"unknown dataset '{said}'; known: {', '.join(DATASETS)}")
    return said


def _constant(columns: Columns, record: Mapping[str, Any], name: str) -> str | None:
    return None if name not in columns else _value(columns, record, name)


def _value(columns: Columns, record: Mapping[str, Any], name: str) -> str | None:
    """A field's text; None where it is missing or what a data frame reads as missing."""
    column = columns.get(name)
    if column is None:
        return None
    value = column["value"] if isinstance(column, dict) else record.get(column)
    if value is None or value != value:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return None if text in MISSING else text


def _row(
    line: int,
    record: Mapping[str, Any],
    columns: Columns,
    dataset: str,
    dated: dict[str, bool],
) -> Response:
    def field(name: str) -> str | None:
        return _value(columns, record, name)

    question, split = field("question") or "", field("split") or ""
    table, context = field("table_id") or "", field("table_context") or ""
    return Response(
        line=line,
        question=question,
        label=field("label"),
        format=field("answer_format"),
        unit=field("answer_temporal_unit"),
        split=split,
        response=field("response"),
        key=field("id") or "\x1f".join((dataset, split, table, question)),
        cluster=field("cluster") or table or graph_of(question, field("question_wo_instruct")),
        question_type=field("question_type"),
        stopped=field("finish_reason"),
        years_only="year" in (field("answer_temporal_unit") or "")
        and not any(_is_dated(text, dated) for text in (question, context)),
    )


def _is_dated(text: str, dated: dict[str, bool]) -> bool:
    """Whether a text gives a month or a day; tables recur, so each is looked at once."""
    if text not in dated:
        dated[text] = _FINER.search(text) is not None
    return dated[text]


def graph_of(question: str, bare: str | None) -> str:
    """The facts before a question, which questions on the same graph share; else the question."""
    lines = [line for line in (bare or question).splitlines() if line.strip()]
    return "\n".join(lines[:-1]) if len(lines) > 2 else question


def _chain(first: dict[str, Any], rest: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rest


def question_keys(path: Path) -> frozenset[str]:
    """The questions of a file in the published layout of questions, as `Response.key` has them."""
    records = _records(path)
    first = next(records, None)
    if first is None or not {"question", "split"} <= set(first):
        raise DatasetError(path, None, "is no question file: it needs question and split")
    columns: Columns = {name: name for name in (*NEEDED, *OPTIONAL) if name in first}
    dataset = path.stem.split("_")[0]
    if dataset not in DATASETS:
        dataset = "tot" if "instruction" in first else "ttqa"
    return frozenset(
        _row(line, record, columns, dataset, {}).key
        for line, record in enumerate(_chain(first, records), start=1)
    )
