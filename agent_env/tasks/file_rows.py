"""Rows of a user's file: JSON lines, a JSON array, CSV, TSV or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from agent_env.errors import ConfigError, DatasetError

SEPARATORS = {".csv": ",", ".tsv": "\t"}

Row = Mapping[str, Any]


class TableRow(dict[str, Any]):
    """A row of CSV or TSV, where lists are texts."""

    def __init__(self, head: Sequence[str], cells: Sequence[str]) -> None:
        super().__init__(zip(head, cells, strict=False))
        self.problem = f"has {len(cells)} cells under {len(head)} columns"
        self.is_whole = len(head) == len(cells)


def file_rows(file: Path) -> Iterator[tuple[int, Row]]:
    """Rows with line numbers (Parquet and JSON arrays: the row's number, from 1)."""
    if file.suffix == ".parquet":
        yield from enumerate(_parquet(file), start=1)
        return
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    except UnicodeDecodeError:
        raise DatasetError(file, None, "is not UTF-8 text") from None
    if file.suffix in SEPARATORS:
        yield from _table(file, text)
    else:
        yield from json_rows(file, text)


def _table(file: Path, text: str) -> Iterator[tuple[int, Row]]:
    reader = csv.reader(StringIO(text, newline=""), delimiter=SEPARATORS[file.suffix], strict=True)
    try:
        head = next(reader, None) or []
        if len(set(head)) < len(head):
            raise DatasetError(file, 1, "two columns have the same name")
        before = reader.line_num
        for cells in reader:
            line, before = before + 1, reader.line_num
            if not cells:
                continue
            yield line, TableRow(head, cells)
    except csv.Error as exc:
        raise DatasetError(file, reader.line_num, f"is not CSV: {exc}") from exc


def _parquet(file: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ConfigError(f"{file} needs pyarrow: pip install 'agent-env[parquet]'") from None
    try:
        yield from pyarrow.parquet.read_table(file).to_pylist()
    except (OSError, ValueError) as exc:
        raise DatasetError(file, None, f"is not a Parquet file: {exc}") from exc


def json_rows(file: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects with their line numbers, or with indices from 1 for an array; DatasetError names
    the file and the line of what is no JSON object."""
    items: Iterable[tuple[int, Any]]
    if text.lstrip().startswith("["):
        items = enumerate(_parse(file, None, text), start=1)
    else:
        lines = enumerate(text.split("\n"), start=1)
        items = ((number, _parse(file, number, line)) for number, line in lines if line.strip())
    for number, item in items:
        if not isinstance(item, dict):
            raise DatasetError(file, number, "is not a JSON object")
        yield number, item


def _parse(file: Path, line: int | None, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise DatasetError(file, line, f"is not JSON: {exc}") from exc
