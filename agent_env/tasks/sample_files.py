"""Files of samples and of the tables that they name, and others that a user names."""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from agent_env.errors import ConfigError, DatasetError, DatasetErrors, first_problem
from agent_env.records.safe_files import replace_file
from agent_env.records.schema import MaterialTable, Record, Sample

Parsed = TypeVar("Parsed", bound=Record)


def samples_bytes(samples: Sequence[Record]) -> bytes:
    """samples.jsonl or materials.jsonl: one per line, the same bytes for the same records."""
    return b"".join(sample.model_dump_json().encode() + b"\n" for sample in samples)


def materials_beside(dataset: Path) -> Path:
    """The file with the tables of a samples file: NAME.materials.jsonl."""
    return dataset.with_name(f"{dataset.stem}.materials.jsonl")


TABLES = frozenset(".csv .tsv .json .jsonl .ndjson .parquet .sqlite .sqlite3 .duckdb .xlsx".split())
"""How files of questions end."""


def task_in(file: Path) -> str | None:
    """The task that the first sample of a file names; None where it holds something else."""
    try:
        with file.open("rb") as lines:
            task = json.loads(lines.readline(1_000_000))["task"]
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    except (ValueError, KeyError, TypeError):
        return None
    return task if isinstance(task, str) else None


def write_whole(file: Path, data: bytes) -> None:
    """Writes a file that the user named, whole or not at all."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, data)
    except OSError as exc:
        raise ConfigError(f"cannot write to {file}: {exc.strerror}") from exc


def read_samples(file: Path, kind: type[Sample]) -> tuple[Sample, ...]:
    """The samples of a file; DatasetError with file, line and reason of the first defect."""
    if file.suffix.lower() in (".csv", ".tsv", ".parquet"):
        raise ConfigError(
            f"{file} is a table, and --dataset takes samples that agent-env made (JSON Lines); "
            f"your own questions: agent-env run {file}"
        )
    return parse_samples(file, _user_file(file), kind)


def _user_file(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc


def parse_samples(file: Path, data: bytes, kind: type[Sample]) -> tuple[Sample, ...]:
    """The samples in the bytes of a file; DatasetErrors with all defects."""
    samples: list[Sample] = []
    lines_by_id: dict[str, int] = {}
    defects: list[tuple[int | None, str]] = []
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            sample = kind.model_validate_json(line)
        except ValidationError as exc:
            defects += [(number, first_problem([problem])) for problem in exc.errors()]
            continue
        if sample.id in lines_by_id:
            defects.append((number, f"id '{sample.id}' is also on line {lines_by_id[sample.id]}"))
        lines_by_id.setdefault(sample.id, number)
        samples.append(sample)
    if defects:
        raise DatasetErrors(file, defects)
    if not samples:
        raise DatasetError(file, None, "holds no sample")
    return tuple(samples)


def read_materials(file: Path) -> tuple[MaterialTable, ...]:
    """The tables of a materials file; DatasetError with file and line of the first defect."""
    return parse_materials(file, _user_file(file))


def parse_materials(file: Path, data: bytes) -> tuple[MaterialTable, ...]:
    """The tables in the bytes of a file."""
    numbered = enumerate(data.splitlines(), start=1)
    return tuple(_parse(file, n, line, MaterialTable) for n, line in numbered if line.strip())


def _parse(file: Path, number: int, line: bytes, kind: type[Parsed]) -> Parsed:
    try:
        return kind.model_validate_json(line)
    except ValidationError as exc:
        raise DatasetError(file, number, first_problem(exc.errors())) from exc


@dataclass(frozen=True, slots=True)
class Filter:
    """A field and its allowed values."""

    field: str
    values: tuple[str, ...]


def parse_where(text: str) -> Filter:
    field, equals, values = text.partition("=")
    if not field or not equals or not values:
        raise ConfigError(f"--where '{text}' is not FIELD=A,B")
    return Filter(field.strip(), tuple(value.strip() for value in values.split(",")))


def select(samples: Sequence[Sample], filters: Sequence[Filter]) -> list[Sample]:
    """The samples that satisfy all filters, a record in a field by its name; ConfigError for an
    unknown field. `columns` of the samples, if they have any, are fields too."""
    for each in filters:
        columns = dict.fromkeys(name for sample in samples for name in _columns(sample))
        fields = [*type(samples[0]).model_fields, *columns]
        if each.field not in fields:
            raise ConfigError(f"--where: no field '{each.field}'; known: {', '.join(fields)}")
    return [s for s in samples if all(_satisfies(s, f) for f in filters)]


def _satisfies(sample: Sample, filter_: Filter) -> bool:
    columns = _columns(sample)
    value = columns.get(filter_.field) or getattr(sample, filter_.field, "")
    values = value if isinstance(value, tuple) else (value,)
    return any(str(getattr(part, "name", part)) in filter_.values for part in values)


def _columns(sample: Sample) -> Mapping[str, str]:
    """The columns of a user's file that the sample was read from."""
    columns: Mapping[str, str] = getattr(sample, "columns", {})
    return columns
