"""Logs on their way out of the worker, in parts: a log without its episodes, then each of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from agent_env.extensions.interop.foreign.fields import odd_values
from agent_env.extensions.interop.foreign.inspect_log import streamed
from agent_env.extensions.interop.foreign.log import ForeignEpisode, ForeignLog
from agent_env.sdk.run import each_of

LOG, EPISODE = TypeAdapter(ForeignLog), TypeAdapter(ForeignEpisode)


def log_parts(logs: Sequence[ForeignLog]) -> Iterator[dict[str, Any]]:
    """The parts of the logs, as JSON."""
    for log in logs:
        bare = replace(log, episodes=(), stream=None)
        yield {"log": LOG.dump_python(bare, mode="json"), "is_stream": log.stream is not None}
        for episode in log.episodes:
            yield {"episode": EPISODE.dump_python(episode, mode="json")}


def joined(file: Path, parts: Iterable[dict[str, Any]]) -> list[ForeignLog]:
    """The logs of a file or folder, of their parts."""
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
