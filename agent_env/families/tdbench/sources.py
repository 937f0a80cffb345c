"""The tables from which questions are made: loaded or invented, checked, as of now."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from agent_env.families.tdbench.own_templates import with_templates
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.tdbench.wording import DOMAINS, GAMES, Domain, user_domain
from agent_env.features.facts.fiction.tables import make_tables
from agent_env.features.facts.tables import tables as facts
from agent_env.features.facts.tables.table_doctor import (
    Repair,
    TableUse,
    dependencies,
    read_policies,
    repaired,
)
from agent_env.features.facts.tables.table_records import (
    Sheet,
    load_table,
    make_table,
    read_sheet,
)
from agent_env.features.facts.tables.temporal_table import (
    TemporalTable,
    as_of,
    coalesced,
    coarser,
    tfd_violations,
)
from agent_env.sdk.errors import ConfigError, ConfigErrors, DatasetError, DatasetErrors

SHIPPED = facts.SHIPPED / "temporal"
REAL = ("offices", "organisations", "games")
"""Shipped tables of real facts; the others are invented."""
NOW = date(2025, 6, 30)
"""As of when the shipped and the invented tables are."""
MAX_LISTED = 5
"""Violations of a dependency that an error lists."""


@dataclass(frozen=True, slots=True)
class Source:
    """A checked table with its words, and the number of rows omitted, by reason."""

    domain: Domain
    table: TemporalTable
    omissions: Mapping[str, int]
    notes: tuple[str, ...] = ()
    """What was found out about its file."""


def read_now(options: TdbenchOptions) -> date:
    """The day as of which the tables are; ConfigError where a file's tables have none."""
    if options.now is not None:
        try:
            return date.fromisoformat(options.now)
        except ValueError as exc:
            raise ConfigError(f"now {options.now} is not a day: {exc}") from exc
    if options.is_own:
        raise ConfigError("questions from a file need the day it is as of: --option now=YYYY-MM-DD")
    return NOW


def sources(options: TdbenchOptions, seed: int) -> tuple[Source, ...]:
    """The tables in order; DatasetError or ConfigError names a defect."""
    now = read_now(options)
    if options.is_own:
        return _of_files(options, now)
    if options.templates is not None:
        raise ConfigError("templates are for a file's table: --option tables=FILE")
    names = options.domains or tuple(DOMAINS)
    for name in names:
        if name not in DOMAINS:
            raise ConfigError(f"no domain '{name}'; known: {', '.join(DOMAINS)}")
    if "hops" in options.kinds:
        names = tuple(dict.fromkeys((*names, "offices", "games")))
    if options.tables == "shipped":
        tables = {
            name: load_table(SHIPPED / f"{name}.csv", fictional=name not in REAL) for name in names
        }
    else:
        tables_seed = seed if options.tables_seed is None else options.tables_seed
        tables = make_tables(options.rows, tables_seed, names)
    found = []
    for name, table in tables.items():
        domain = GAMES if name == "games" else DOMAINS[name]
        if options.question and name != "games":
            domain = user_domain(name, options.question, options.answer, options.unique)
        found.append(_source(domain, table, options, now))
    return tuple(found)


def _of_files(options: TdbenchOptions, now: date) -> tuple[Source, ...]:
    """A file's table, or the several tables of hops."""
    places = file_tables(options)
    sheets = [read_own(file, name, options) for file, name in places]
    hops = set(options.kinds) == {"hops"}
    if len(sheets) > 1 and not hops:
        raise ConfigError("several tables make questions of hops only: --option kinds=hops")
    if hops and len(sheets) == 1:
        raise ConfigError("hops need two or three tables: --option tables=ONE.csv,OTHER.csv")
    options, notes = with_roles(options, sheets)
    found = []
    for (file, name), sheet in zip(places, sheets, strict=True):
        short: list[int] = []
        mended, log = repaired_sheet(sheet, options)
        try:
            table = make_table(
                file, name or file.stem, mended, options.granularity, options.end_included,
                too_short=short,
            )  # fmt: skip
        except DatasetError as exc:
            problems = exc.lines if isinstance(exc, DatasetErrors) else (str(exc),)
            hint = f"`agent-env questions tdbench doctor {file}` says how to repair them"
            raise ConfigErrors(problems if options.repair else (*problems, hint)) from exc
        domain = Domain(table.name, (), ())
        if not hops:
            domain = user_domain(table.name, options.question, options.answer, options.unique)
            if options.templates is not None:
                domain = with_templates(domain, Path(options.templates))
        lines = {(f"{each.problem}={each.policy}", each.line) for each in log}
        repairs = Counter(policy for policy, _ in lines)
        own = tuple(f"{file.name}: {note}" for note in (*sheet.notes, *notes))
        found.append(_source(domain, table, options, now, len(short), repairs, own))
    return tuple(found)


def with_roles(
    options: TdbenchOptions, sheets: Sequence[Sheet]
) -> tuple[TdbenchOptions, list[str]]:
    """The options with the columns of question and answer; where they are not stated, those of the
    dependency with the most groups, and a note on it."""
    columns = "; ".join(", ".join(sheet.columns) for sheet in sheets)
    missing = "say what to ask: --option question=COLUMNS --option answer=COLUMNS"
    if options.question and options.answer:
        return options, []
    if len(sheets) > 1:
        raise ConfigError(f"{missing}; the columns are {columns}")
    fits = [
        each
        for each in dependencies(sheets[0])
        if set(options.question) <= set(each.keys) and options.answer in ((), (each.answer,))
    ]
    if not fits:
        raise ConfigError(
            f"no column is determined by others at every time, with several answers to ask for; "
            f"{missing} --option unique=false; the columns are {columns}"
        )
    own = {"question": fits[0].keys, "answer": (fits[0].answer,)}
    others = "".join(f"; or {each}" for each in fits[1:3])
    keys = ",".join(fits[0].keys)
    note = f"asked by {fits[0]}: --option question={keys} --option answer={fits[0].answer}{others}"
    return options.model_copy(update=own), [note]


def read_own(file: Path, name: str | None, options: TdbenchOptions) -> Sheet:
    """The rows of one of the files; ConfigError for the file's own defects."""
    try:
        return read_sheet(file, options.model_copy(update={"table": name}))
    except DatasetError as exc:
        raise ConfigError(str(exc)) from exc


def repaired_sheet(sheet: Sheet, options: TdbenchOptions) -> tuple[Sheet, list[Repair]]:
    """The rows after the repairs of the options, and those of `aliases`."""
    question, policies = asked(sheet, options), policies_of(options)
    if not question.keys and "standard" in options.repair:
        policies = {k: v for k, v in policies.items() if k not in ("open-end", "dependency")}
    return repaired(sheet, policies, question)


def policies_of(options: TdbenchOptions) -> dict[str, str]:
    """The policies of `repair`, and that of `aliases`."""
    own = {"alias": "name"} if options.aliases else {}
    return own | read_policies(options.repair)


def asked(sheet: Sheet, options: TdbenchOptions) -> TableUse:
    """The columns by which the sheet's rows must not contradict each other."""
    columns = {*options.question, *options.answer}
    if not options.unique or not options.question or not columns <= set(sheet.columns):
        return TableUse(granularity=options.granularity)
    return TableUse(options.question, options.answer, options.granularity)


def file_tables(options: TdbenchOptions) -> list[tuple[Path, str | None]]:
    """The files with the names of their tables: one file with several, or several files, whose
    databases take the names in turn."""
    names = [name.strip() for name in (options.table or "").split(",") if name.strip()]
    if Path(options.tables).is_file() or "," not in options.tables:
        return [(Path(options.tables), name) for name in names or [None]]  # type: ignore[list-item]
    files = [Path(text.strip()) for text in options.tables.split(",") if text.strip()]
    turn = iter(names)
    databases = (".db", ".duckdb", ".sqlite", ".sqlite3")
    return [(f, next(turn, None) if f.suffix in databases else None) for f in files]


def _source(
    domain: Domain, table: TemporalTable, options: TdbenchOptions, now: date, cut: int = 0,
    repairs: Mapping[str, int] | None = None, notes: tuple[str, ...] = (),
) -> Source:  # fmt: skip
    """`cut`: the number of rows that the granularity leaves without time; `repairs`: the number of
    repaired rows by policy."""
    for form in domain.forms:
        if both := set(form.keys) & set(form.answers):
            raise ConfigError(f"column '{min(both)}' is asked and answered")
        for name in (*form.keys, *form.answers):
            if name not in table.columns:
                raise ConfigError(
                    f"{table.name} has no column '{name}'; its columns are "
                    f"{', '.join(table.columns)}"
                )
    for tfd in domain.tfds:
        violations = list(itertools.islice(tfd_violations(table, tfd), 1000))
        if violations:
            raise ConfigError(
                f"{tfd} does not hold in {table.name}, in {len(violations)} pairs of rows: "
                f"{'; '.join(map(str, violations[:MAX_LISTED]))}. Say --option "
                "repair=dependency=drop to leave these groups out, or --option unique=false"
            )
    if options.granularity is not None and options.granularity != table.granularity:
        table, cut = coarser(table, options.granularity)
    omissions = {f"rows of {table.name} that begin and end in one {table.granularity}": cut}
    for policy, number in (repairs or {}).items():
        omissions[f"rows of {table.name} repaired by {policy}"] = number
    current = as_of(table, now)
    omissions[f"rows of {table.name} that begin after {now}"] = len(table.rows) - len(current.rows)
    return Source(domain, current if options.is_own else coalesced(current), omissions, notes)
