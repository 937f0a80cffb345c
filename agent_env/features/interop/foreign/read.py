"""Which reader a file or a folder of results is for. Logs leave the worker in parts: a log without
its episodes, then each of these."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from agent_env.features.interop.foreign.inspect_log import read_inspect, streamed
from agent_env.features.interop.foreign.lm_eval import read_lm_eval
from agent_env.features.interop.foreign.log import (
    LOG_READERS,
    ForeignEpisode,
    ForeignLog,
    odd_values,
)
from agent_env.features.interop.foreign.table import Columns, read_columns, read_table
from agent_env.sdk.errors import ConfigError, DatasetError
from agent_env.sdk.run import each_of

LOG, EPISODE = TypeAdapter(ForeignLog), TypeAdapter(ForeignEpisode)


def log_parts(logs: Sequence[ForeignLog]) -> Iterator[dict[str, Any]]:
    for log in logs:
        bare = replace(log, episodes=(), stream=None)
        yield {"log": LOG.dump_python(bare, mode="json"), "is_stream": log.stream is not None}
        for episode in log.episodes:
            yield {"episode": EPISODE.dump_python(episode, mode="json")}


def joined(file: Path, parts: Iterable[dict[str, Any]]) -> list[ForeignLog]:
    logs: list[tuple[ForeignLog, list[ForeignEpisode]]] = []
    for part in parts:
        if "log" in part:
            stream = partial(_streamed, file) if part["is_stream"] else None
            logs.append((replace(LOG.validate_python(part["log"]), stream=stream), []))
        else:
            logs[-1][1].append(EPISODE.validate_python(part["episode"]))
    return [replace(log, episodes=tuple(own)) for log, own in logs]


def _streamed(file: Path, note: Callable[[str], None]) -> Iterator[ForeignEpisode]:
    for part in each_of("log_episodes", [file], file=str(file)):
        if "note" in part:
            note(part["note"])
        else:
            yield EPISODE.validate_python(part["episode"])


def stream(file: str) -> Iterator[dict[str, Any]]:
    """In the worker: the episodes of an Inspect log with their transcripts, one at a time in
    memory, and behind them notes on what cannot be read."""
    notes: list[str] = []
    with odd_values(Path(file)):
        for episode in streamed(Path(file), notes.append):
            yield {"episode": EPISODE.dump_python(episode, mode="json")}
    yield from ({"note": note} for note in notes)


KNOWN = (
    "known: logs of Inspect (.eval, .json), samples_*.jsonl of lm-evaluation-harness, and any "
    "table (.csv, .tsv, .jsonl, .parquet) with --columns FILE"
)
MOST_REPEATS = 100_000
INSPECT = re.compile(r'\s*\{\s*"(version|status)"')
"""How a JSON log of Inspect begins."""


def split_name(path: Path) -> tuple[str, Path]:
    """The name and the file of NAME=FILE; "" where there is no name."""
    name, equals, file = str(path).partition("=")
    return (name, Path(file)) if equals and not path.exists() else ("", path)


def is_log(path: Path) -> bool:
    """Whether it is a file, or a folder that an installed reader takes."""
    if path.is_file() or (path / "run.json").exists():
        return path.is_file()
    return any(reader.takes(path) for reader in LOG_READERS.installed_objects())


def read_logs(
    paths: Sequence[Path], columns: Path | None, with_transcripts: bool = False
) -> list[ForeignLog]:
    """The logs of these files and folders, or of NAME=FILE; `columns` maps those of tables.
    Conversations are read `with_transcripts` alone. They are read in the worker. ConfigError or
    DatasetError names the file and what is wrong with it."""
    mapping = None if columns is None else read_columns(columns).model_dump(mode="json")
    logs: list[ForeignLog] = []
    for name, file in map(split_name, paths):
        if not is_log(file):
            raise ConfigError(
                f"{file}: is not a folder of results that is known; {KNOWN}"
                if file.is_dir()
                else f"{file}: there is no such file"
            )
        own = joined(
            file,
            each_of(
                "logs", [file], file=str(file), columns=mapping, with_transcripts=with_transcripts
            ),
        )
        for log in own:
            _check_repeats(log)
        logs += [replace(log, name=" ".join(filter(None, (name, log.name)))) for log in own]
    return logs


def parts(
    file: str, columns: dict[str, Any] | None, with_transcripts: bool
) -> Iterator[dict[str, Any]]:
    """In the worker: the logs of one file or folder, in parts."""
    path = Path(file)
    with odd_values(path):
        if columns is None:
            logs = _read_logs(path, with_transcripts)
        else:
            logs = read_table(path, Columns.model_validate(columns))
    return log_parts(logs)


def _check_repeats(log: ForeignLog) -> None:
    for each in log.episodes:
        if not 1 <= each.repeat <= MOST_REPEATS:
            text = f"repeat {each.repeat} of sample {each.sample} is not from 1 to {MOST_REPEATS}"
            raise DatasetError(log.file, None, text)


def _read_logs(path: Path, with_transcripts: bool) -> Sequence[ForeignLog]:
    for reader in LOG_READERS.installed_objects():
        if reader.takes(path):
            return reader.read(path, with_transcripts)
    if path.suffix == ".eval" or (path.suffix == ".json" and _is_of_inspect(path)):
        return [read_inspect(path, with_transcripts)]
    if path.suffix != ".json":
        try:
            log = read_lm_eval(path, with_transcripts)
        except DatasetError as exc:
            raise DatasetError(path, None, f"is not a readable log: {exc}; {KNOWN}") from exc
        if log is not None:
            return [log]
    raise DatasetError(path, None, f"is not a log that is known; {KNOWN}")


def _is_of_inspect(file: Path) -> bool:
    with file.open("rb") as stream:
        return INSPECT.match(stream.read(200).decode(errors="replace")) is not None
