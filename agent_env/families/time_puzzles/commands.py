"""What the commands on puzzle files do: generate a set, audit a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from agent_env.episodes.run_folder import write_whole
from agent_env.errors import ConfigError
from agent_env.families.time_puzzles.audit import AuditReport, audit, corrected
from agent_env.families.time_puzzles.audit_events import read_event_dates
from agent_env.families.time_puzzles.candidates import CALENDAR_KINDS
from agent_env.families.time_puzzles.published import puzzle_bytes, read_puzzles, write_published
from agent_env.families.time_puzzles.puzzle_sets import PuzzleSet, SetOptions, make_set
from agent_env.temporal.days import DayRange
from agent_env.temporal.facts.tables import FactTables, shipped_tables
from agent_env.temporal.facts.worlds import read_world

FORMS = ("samples", "published")


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """What the user asks of a set; ranges as text."""

    out: Path
    count: int
    seed: int
    facts: str
    solutions: str
    years: str
    calendars: str
    facts_table: Path | None
    form: str
    checked: bool
    processes: int


def generate_set(
    options: GenerateOptions, on_puzzle: Callable[[], None]
) -> tuple[PuzzleSet, FactTables]:
    """Make and write a set; what could not be made is named in it, the rest is written."""
    if options.form not in FORMS:
        raise ConfigError(f"unknown format '{options.form}'; known: {', '.join(FORMS)}")
    first, last = parse_range("years", options.years, 1583, 2400)
    wanted = SetOptions(
        count=options.count,
        seed=options.seed,
        facts=_numbers("facts", options.facts, 1, 12),
        solutions=_numbers("solutions", options.solutions, 0, 1000),
        days=DayRange(date(first, 1, 1), date(last, 12, 31)),
        calendars=_calendars(options.calendars),
        checked=options.checked,
    )
    tables = tables_with(options.facts_table)
    _check_writable(options.out)
    made = make_set(tables, wanted, options.processes, on_puzzle)
    data = (
        write_published(made.puzzles, tables)
        if options.form == "published"
        else puzzle_bytes(made.puzzles)
    )
    write_whole(options.out, data)
    return made, tables


def audit_file(file: Path, facts: Path | None, fix: Path | None) -> AuditReport:
    """Audit a puzzle file of either format; write the corrected set where `fix` says, unless
    nothing was judged."""
    puzzles = read_puzzles(file)
    events = read_event_dates(facts) if facts is not None else None
    report = audit(puzzles, shipped_tables(), events)
    if fix is not None and report.judged:
        write_whole(fix, puzzle_bytes(corrected(puzzles, report)))
    return report


def tables_with(events: Path | None) -> FactTables:
    """The shipped tables, with a user's events instead of ours where they are given, and with the
    table's people where it has any."""
    tables = shipped_tables()
    return tables if events is None else read_world(events, tables)


def parse_range(name: str, text: str, least: int, most: int) -> tuple[int, int]:
    """`A-B` or one number, both within bounds."""
    match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    if match is None:
        raise ConfigError(f"--{name} '{text}' is no range; write 5 or 4-6")
    first, last = int(match[1]), int(match[2] or match[1])
    if first > last:
        raise ConfigError(f"--{name} '{text}' is reversed; write {last}-{first}")
    if not least <= first <= last <= most:
        raise ConfigError(f"--{name} '{text}' does not lie within {least}-{most}")
    return first, last


def _numbers(name: str, text: str, least: int, most: int) -> tuple[int, ...]:
    first, last = parse_range(name, text, least, most)
    return tuple(range(first, last + 1))


def _calendars(text: str) -> tuple[str, ...]:
    names = tuple(CALENDAR_KINDS) if text == "all" else tuple(filter(None, text.split(",")))
    for name in names:
        if name not in CALENDAR_KINDS:
            known = ", ".join(CALENDAR_KINDS)
            raise ConfigError(f"unknown calendar '{name}'; known: all, {known}")
    return tuple(dict.fromkeys(names))


def _check_writable(out: Path) -> None:
    """Say so before the work where the file cannot be written."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("ab"):
            pass
    except OSError as exc:
        raise ConfigError(f"cannot write to {out}: {exc.strerror}") from exc
