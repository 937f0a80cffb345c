"""Reads response files: the published CSV layout, or any CSV or JSON lines by a mapping.

A published file has the responses of one model and one prompting method to one split, which its
name states (`ttqa_head_MODEL_few-shot_….csv`). A missing value of a row is None, and counted later.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from agent_env.families.temp_answers.sample import TimeQuestion
from agent_env.features.facts.tables.table_files import json_rows
from agent_env.features.papers.responses import text_of
from agent_env.sdk.errors import ConfigError, DatasetError
from agent_env.sdk.records import Episode
from agent_env.temporal.written import ANY_MONTH, SHORT_MONTH

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
"""Texts that pandas reads as missing values."""


@dataclass(frozen=True, slots=True)
class Response:
    line: int
    """The line in its file, from 1; for CSV the row's number without the header."""
    question: str
    label: str | None
    format: str | None
    unit: str | None
    split: str
    response: str | None
    key: str
    """Identifies the question, for all models."""
    cluster: str
    """The table or graph that the question shares with others."""
    question_type: str | None = None
    finish_reason: str | None = None
    """The server's, where the file has it."""
    years_only: bool = False
    """Whether question and table give years only."""


@dataclass(frozen=True, slots=True)
class ResponseFile:
    path: Path
    dataset: str
    """`tot` (an object) or `ttqa` (a final line)."""
    model: str
    prompting: str
    prefilled: bool
    """Whether each response continues the start of an object."""
    rows: tuple[Response, ...]
    duplicates: tuple[int, ...] = ()
    """Lines of rows that repeat a question of the same file; they are scored nevertheless."""
    generation: str = ""
    """How the responses were generated, such as `continue_final_message`."""

    @property
    def label(self) -> str:
        """A short name: the file's, or run and condition."""
        return self.path.stem if self.path.suffix else f"{self.path.parent.name}/{self.path.name}"

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(sorted({row.split for row in self.rows}))


def read_responses(path: Path, mapping: Mapping[str, Any] | None = None) -> ResponseFile:
    """A file by its layout. Raises DatasetError for missing columns."""
    records = _records(path)
    first = next(records, None)
    if first is None:
        raise DatasetError(path, None, "has no response")
    columns = _columns(path, first, mapping or {})
    name_parts = _name_parts(path)
    dataset = _value(columns, first, "dataset") or name_parts.get("dataset")
    if dataset is None:
        dataset = "tot" if "question_type" in columns or "instruction" in columns else "ttqa"
    if dataset not in DATASETS:
        raise DatasetError(path, None, f"unknown dataset '{dataset}'; known: {', '.join(DATASETS)}")
    rows, keys, duplicates = [], set[str](), list[int]()
    for line, record in enumerate(chain([first], records), start=1):
        absent = [c for name in NEEDED if isinstance(c := columns[name], str) and c not in record]
        if absent:
            raise DatasetError(path, None, f"record {line} has no field '{absent[0]}'")
        row = _row(line, record, columns, dataset)
        if row.key in keys:
            duplicates.append(line)
        keys.add(row.key)
        rows.append(row)
    prefilled = _value(columns, first, "prefilled")
    return ResponseFile(
        path,
        dataset,
        _value(columns, first, "model") or name_parts.get("model", path.stem),
        _value(columns, first, "prompting") or name_parts.get("prompting", ""),
        prefilled.lower() in ("true", "1", "yes") if prefilled else "continue" in path.stem,
        tuple(rows),
        tuple(duplicates),
        name_parts.get("generation", ""),
    )


def read_mapping(path: Path) -> dict[str, Any]:
    """Columns by field: `{"question": "COLUMN", "split": {"value": "head"}, …}`."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ConfigError(f"--mapping {path} cannot be read: {exc}") from exc
    if not isinstance(fields, dict):
        raise ConfigError(f"--mapping {path} is not a JSON object")
    for name, column in fields.items():
        if name not in (*NEEDED, *OPTIONAL):
            names = ", ".join((*NEEDED, *OPTIONAL))
            raise ConfigError(f"--mapping {path}: unknown field '{name}'; known: {names}")
        if not isinstance(column, str) and not (
            isinstance(column, dict) and set(column) == {"value"}
        ):
            raise ConfigError(
                f'--mapping {path}: {name} is neither a column\'s name nor {{"value": …}}'
            )
    return fields


def _records(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        yield from (record for _, record in json_rows(path, text_of(path)))
        return
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with path.open(encoding="utf-8-sig", newline="", errors="replace") as stream:
            reader = csv.DictReader(stream, strict=False)
            for number, record in enumerate(reader, start=1):
                _check_fields(path, number, record, reader.fieldnames or ())
                yield record
            if _has_open_quote(path):
                why = "a quote is not closed at the end of the file, which seems to be cut"
                raise DatasetError(path, reader.line_num, why)
    except OSError as exc:
        raise DatasetError(path, None, exc.strerror or str(exc)) from exc
    except csv.Error as exc:
        raise DatasetError(path, reader.line_num, str(exc)) from exc


def _has_open_quote(path: Path) -> bool:
    """Whether the number of quotes is odd, as in a file that was cut inside a field."""
    with path.open("rb") as stream:
        chunks = iter(lambda: stream.read(1 << 20), b"")
        return sum(chunk.count(b'"') for chunk in chunks) % 2 == 1


def _check_fields(
    path: Path, number: int, record: Mapping[Any, Any], columns: Sequence[str]
) -> None:
    """Raises for a row with more or fewer fields than the header."""
    if None in record:
        count = len(columns) + len(record[None])
        raise DatasetError(
            path, None, f"row {number} has {count} fields, the header {len(columns)}"
        )
    if None in record.values():
        missing = next(name for name in columns if record[name] is None)
        why = f"row {number} has no field '{missing}'; the file seems to be cut there"
        raise DatasetError(path, None, why)


_FINER = re.compile(
    rf"\b(?:{ANY_MONTH})\b\.?\s*\d|\d\s*(?:{SHORT_MONTH})|\d{{4}}-\d{{1,2}}|\d/\d{{1,2}}/\d", re.I
)
Columns = Mapping[str, str | dict[str, Any]]


def _columns(path: Path, first: Mapping[str, Any], mapping: Mapping[str, Any]) -> Columns:
    """Each field's column or constant."""
    columns: dict[str, str | dict[str, Any]] = {
        name: mapping.get(name, name)
        for name in (*NEEDED, *OPTIONAL)
        if name in mapping or name in first
    }
    missing = [name for name in NEEDED if name not in columns]
    missing += [
        f"{column} (for {name})"
        for name, column in mapping.items()
        if isinstance(column, str) and column not in first
    ]
    if missing:
        present = ", ".join(str(name) for name in first if name) or "none"
        raise DatasetError(path, None, f"no column {', '.join(missing)}; there are: {present}")
    return columns


def _name_parts(path: Path) -> dict[str, str]:
    """The parts of a published file's name: DATASET_SPLIT_MODEL_PROMPTING_GENERATION."""
    parts = path.stem.split("_")
    if len(parts) < 4 or parts[0] not in DATASETS:
        return {}
    names = {"dataset": parts[0], "model": parts[2], "prompting": parts[3]}
    return names | {"generation": "_".join(parts[4:])}


def _value(columns: Columns, record: Mapping[str, Any], name: str) -> str | None:
    """A field's text; None where it is missing or pandas reads it as missing."""
    column = columns.get(name)
    if column is None:
        return None
    value = column["value"] if isinstance(column, dict) else record.get(column)
    if value is None or value != value:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return None if text in MISSING else text


def _row(line: int, record: Mapping[str, Any], columns: Columns, dataset: str) -> Response:
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
        finish_reason=field("finish_reason"),
        years_only="year" in (field("answer_temporal_unit") or "")
        and not any(map(_is_dated, (question, context))),
    )


@lru_cache(maxsize=10_000)
def _is_dated(text: str) -> bool:
    """Whether a text gives a month or a day; cached, because tables recur."""
    return _FINER.search(text) is not None


def graph_of(question: str, bare: str | None) -> str:
    """The facts before a question, which identify its graph; else the question."""
    lines = [line for line in (bare or question).splitlines() if line.strip()]
    return "\n".join(lines[:-1]) if len(lines) > 2 else question


def question_keys(path: Path) -> frozenset[str]:
    """The `Response.key`s of a file of questions in the published layout."""
    records = _records(path)
    first = next(records, None)
    if first is None or not {"question", "split"} <= set(first):
        raise DatasetError(path, None, "is not a question file: it needs question and split")
    columns: Columns = {name: name for name in (*NEEDED, *OPTIONAL) if name in first}
    dataset = path.stem.split("_")[0]
    if dataset not in DATASETS:
        dataset = "tot" if "instruction" in first else "ttqa"
    return frozenset(
        _row(line, record, columns, dataset).key
        for line, record in enumerate(chain([first], records), start=1)
    )


FINISH = {"truncated": "length", "repetition": "length"}


def response_row(line: int, question: TimeQuestion, episode: Episode) -> Response:
    """An episode's answer as a row of a response file."""
    return Response(
        line=line,
        question=question.question,
        label=question.label,
        format=question.answer_format,
        unit=question.answer_unit,
        split=question.split,
        response=episode.answer,
        key=question.id,
        cluster=question.materials[0] if question.materials else question.id,
        question_type=question.question_type,
        finish_reason=FINISH.get(episode.stop_reason or ""),
        years_only=question.years_only,
    )
