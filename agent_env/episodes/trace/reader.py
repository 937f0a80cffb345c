"""Reads traces."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from agent_env.episodes.trace.lines import Lines, TraceError, last_event, read_lines
from agent_env.episodes.trace.long_texts import with_texts
from agent_env.episodes.trace.texts import MissingText, Texts
from agent_env.errors import ConfigError, DatasetError, StorageError
from agent_env.records.safe_files import UnsafeFile, read_file
from agent_env.records.trace_events import EpisodeFinished, Event

PLACES = ("episodes", "interrupted", "broken")
"""Folders of traces in a run."""


def read_trace(path: Path, texts: Texts | None = None) -> list[Event]:
    """The events of a file, with their texts from the run's store (`texts`, or that of the trace's
    folder); without a torn last line. TraceError for any other defect."""
    return resolved(path, read_events(path), texts)


def read_events(path: Path) -> Lines:
    """As read_trace, without the texts from the run's store."""
    try:
        data = read_file(_folder_of(path), path)
    except UnsafeFile as exc:
        raise _unsafe_trace(path, exc) from exc
    except IsADirectoryError as exc:
        raise ConfigError(
            f"{path} is a folder, no trace; agent-env episodes {path} lists a run's episodes"
        ) from exc
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise ConfigError(f"{path} is no trace: {exc.strerror}") from exc
    except OSError as exc:
        raise StorageError(f"cannot read the trace {path}: {exc.strerror}") from exc
    return read_lines(path, data)


def _folder_of(path: Path) -> Path:
    """The folder that the trace must not lead out of: its run's; outside of runs, its own."""
    folders = path.absolute().parents
    if len(folders) > 2 and folders[1].name in PLACES:
        return folders[2]
    return Path(os.path.realpath(path)).parent


def _unsafe_trace(path: Path, exc: UnsafeFile) -> TraceError:
    return TraceError(path, None, str(exc.strerror), Lines([], 0, 0), mendable=False)


def resolved(path: Path, lines: Lines, texts: Texts | None) -> list[Event]:
    """The events with their texts from the store."""
    if not any(event.texts for event in lines.events):
        return lines.events
    store = texts or Texts.beside(path)
    events: list[Event] = []
    try:
        for number, event in enumerate(lines.events, start=1):
            try:
                events.append(with_texts(event, store) if event.texts else event)
            except (MissingText, ValidationError) as exc:
                sound = Lines(events, 0, 0)
                raise TraceError(path, number, str(exc), sound, mendable=False) from exc
    finally:
        if texts is None:
            store.close()
    return events


def is_finished(path: Path) -> bool:
    """Whether the episode of this file is finished; false if it failed, was interrupted, or the
    file is broken."""
    return isinstance(read_end(path), EpisodeFinished)


def read_end(path: Path) -> Event | None:
    """The episode's last event; None without events, or for a broken file. Checks every checksum,
    but parses only this event and the verdicts after it."""
    try:
        return last_event(path, read_file(_folder_of(path), path))
    except (DatasetError, OSError):
        return None
