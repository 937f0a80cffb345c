"""The list of the episodes that a run began (RUN/begun.txt), one a line with its time.

An episode that stands in it more often than there are traces of it was begun again: what is chosen
among several attempts is seen. Not guaranteed: anything against someone who changes the list, too.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import DatasetError, StorageError
from agent_env.records.safe_files import check_file
from agent_env.records.trace_events import Event

BEGUN = "begun.txt"


def note_begun(folder: Path, event: Event) -> None:
    """Appends the episode of its first event."""
    file = folder / BEGUN
    try:
        check_file(folder, file)
        with file.open("ab", buffering=0) as opened:
            opened.write(f"{event.at} {event.episode}\n".encode("utf-8", "surrogatepass"))
    except OSError as exc:
        raise StorageError(f"cannot write {file}: {exc.strerror}") from exc


def begun_in(run: RunFolder) -> dict[str, list[str]]:
    """When each episode of a run was begun; empty for a run that has no list of that."""
    times: dict[str, list[str]] = {}
    with suppress(DatasetError):
        for line in run.read(BEGUN).decode(errors="replace").splitlines():
            at, _, name = line.partition(" ")
            times.setdefault(name, []).append(at)
    return times
