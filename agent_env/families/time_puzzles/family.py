"""Time Puzzles as a family: samples from a seed, or a set in the published format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_env.families.time_puzzles.candidates import CALENDAR_KINDS
from agent_env.families.time_puzzles.facts import category_of
from agent_env.families.time_puzzles.options import (
    PuzzleOptions,
    calendars_of,
    make_set,
    processes_of,
    set_options,
    tables_of,
    world_of,
)
from agent_env.families.time_puzzles.published import read_published, write_published
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.task import NAME, make_task
from agent_env.sdk.family import Family, SampleSet


def _make(count: int, seed: int, options: PuzzleOptions) -> SampleSet:
    parameters = set_options(count, seed, options)
    puzzle_set = make_set(tables_of(options), parameters, processes_of(options))
    notes = tuple(_absent_calendars(puzzle_set.puzzles, options))
    return SampleSet(puzzle_set.puzzles, missing=puzzle_set.missing, notes=notes)


def _absent_calendars(puzzles: Sequence[TimePuzzle], options: PuzzleOptions) -> Iterator[str]:
    """The calendars that the user names and no puzzle has."""
    kinds = {category_of(fact) for puzzle in puzzles for fact in puzzle.facts}
    if "calendars" not in options.model_fields_set:
        return
    for name in calendars_of(options):
        if puzzles and kinds.isdisjoint(CALENDAR_KINDS[name]):
            yield (
                f"no puzzle has a fact of the calendar {name}: with facts={options.facts} and "
                f"solutions={options.solutions} it is hardly ever necessary; try fewer facts, or "
                "more puzzles"
            )


def _is_array(file: Path) -> bool:
    """Whether the file holds one JSON array, and not a JSON object a line."""
    try:
        with file.open("rb") as opened:
            return opened.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    except OSError:
        return False  # said by the reader, with its reason


FAMILY = Family(
    NAME,
    lambda prompt, options, tables: make_task(
        prompt, lambda: tables_of(options), lambda: world_of(options)
    ),
    _make,
    PuzzleOptions,
    read_foreign=lambda file, _: SampleSet(read_published(file)) if _is_array(file) else None,
    write_foreign=lambda samples, options: write_published(
        [each for each in samples if isinstance(each, TimePuzzle)], tables_of(options)
    ),
    screening="agent_env.families.time_puzzles.screening:screen_events",
    reference="agent_env.families.time_puzzles.reference:next_step",
    policies=(
        "reference",
        "reference-static",
        "rememberer",
        "guesser",
        "believer",
        "checker",
        "giver-up",
    ),
    rewording="agent_env.families.time_puzzles.model_wording:REWORDING",
    reproduction="agent_env.families.time_puzzles.reproduction:PAPER",
)
