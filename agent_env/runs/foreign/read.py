"""Which reader a file of results is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent_env.errors import ConfigError, DatasetError
from agent_env.runs.foreign.inspect_log import read_inspect
from agent_env.runs.foreign.lm_eval import FIELDS, read_lm_eval
from agent_env.runs.foreign.log import ForeignLog
from agent_env.runs.foreign.table import read_columns, read_table
from agent_env.tasks.file_rows import json_rows

KNOWN = (
    "known: logs of Inspect (.eval, .json), sample files of lm-evaluation-harness "
    "(samples_*.jsonl), and any table (.csv, .tsv, .jsonl, .parquet) with --columns FILE"
)


def split_name(path: Path) -> tuple[str, Path]:
    """The name and the file of NAME=FILE; "" where there is no name."""
    name, equals, file = str(path).partition("=")
    return (name, Path(file)) if equals and not path.exists() else ("", path)


def read_logs(
    paths: Sequence[Path], columns: Path | None, with_transcripts: bool = False
) -> list[ForeignLog]:
    """The logs of these files, or of NAME=FILE; `columns` maps those of tables. Conversations are
    read `with_transcripts` alone. ConfigError or DatasetError names the file and what is wrong with
    it."""
    mapping = None if columns is None else read_columns(columns)
    logs: list[ForeignLog] = []
    for name, file in map(split_name, paths):
        if not file.is_file():
            raise ConfigError(f"{file}: there is no such file")
        own = [_read_log(file, with_transcripts)] if mapping is None else read_table(file, mapping)
        logs += [replace(log, name=" ".join(filter(None, (name, log.name)))) for log in own]
    return logs


def _read_log(file: Path, with_transcripts: bool) -> ForeignLog:
    if file.suffix in (".eval", ".json"):
        return read_inspect(file, with_transcripts)
    return _read_lines(file)


def _read_lines(file: Path) -> ForeignLog:
    try:
        text = file.read_text("utf-8")
        first = next(iter(json_rows(file, text)), None)
    except (OSError, UnicodeDecodeError, DatasetError) as exc:
        raise DatasetError(file, None, f"is no log that can be read: {exc}; {KNOWN}") from exc
    if first is None or not first[1].keys() >= FIELDS:
        raise DatasetError(file, None, f"is no log that is known; {KNOWN}")
    return read_lm_eval(file, text)
