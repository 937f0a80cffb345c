"""Time Puzzles as a family: samples from a seed, or a set in the published format."""

from __future__ import annotations

from pathlib import Path

from agent_env.families.time_puzzles.published import read_published
from agent_env.families.time_puzzles.task import NAME, generate, make_task
from agent_env.tasks.family import Family, Made, NoOptions
from agent_env.temporal.facts.tables import shipped_tables


def _make(count: int, seed: int, options: NoOptions) -> Made:
    return Made(generate(shipped_tables(), count, seed))


def _read_foreign(file: Path) -> Made | None:
    return Made(read_published(file)) if _is_array(file) else None


def _is_array(file: Path) -> bool:
    """Whether the file holds one JSON array, and not a JSON object a line."""
    try:
        with file.open("rb") as opened:
            return opened.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    except OSError:
        return False  # said by the reader, with its reason


FAMILY = Family(
    NAME,
    lambda prompt, options, tables: make_task(prompt),
    _make,
    read_foreign=_read_foreign,
    reference="agent_env.families.time_puzzles.reference:next_step",
)
