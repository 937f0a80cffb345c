"""Examines a user's tables: `questions tdbench doctor`."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from agent_env.families.tdbench.family import FAMILY
from agent_env.families.tdbench.sample import Cardinality, Kind, TdbenchOptions, TdbenchSample
from agent_env.families.tdbench.sources import (
    asked,
    file_tables,
    policies_of,
    read_own,
    repaired_sheet,
    with_roles,
)
from agent_env.features.facts.tables.table_doctor import (
    BLOCKING,
    FAR_YEAR,
    MEANINGS,
    PROBLEMS,
    Finding,
    Repair,
    diagnose,
)
from agent_env.features.facts.tables.table_records import Sheet
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import option_texts
from agent_env.sdk.results import Cell, Column, ResultTable
from agent_env.temporal.days import PartialDate

MOST_QUERIES = 100
"""Queries of each kind that are made to count them."""
NEEDS: Mapping[Kind, str] = {
    "relation": "groups with two answers; question=… answer=… unique=false may make larger ones",
    "current": "rows that hold as of now",
    "nth": "groups with two answers, whose rows start on different days",
    "longest": "a group with two answers and two rows that ended",
    "count": "an answer that comes twice in its group",
    "duration": "dates by the day, and rows of two groups that share days and ended",
    "hops": "two or three tables",
}
"""What a kind of question is made of."""


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table's problems, before and after the repairs."""

    name: str
    rows: int
    notes: tuple[str, ...]
    before: tuple[Finding, ...]
    after: tuple[Finding, ...]
    log: tuple[Repair, ...]

    @property
    def is_blocked(self) -> bool:
        """Whether questions cannot be made yet."""
        return any(finding.problem in BLOCKING for finding in self.after)

    def table(self, policies: Mapping[str, str]) -> ResultTable:
        """Problems with their numbers of rows, policies and an example."""
        rows: list[tuple[Cell, ...]] = []
        for problem, choices in PROBLEMS.items():
            own = [finding for finding in self.before if finding.problem == problem]
            left = {finding.line for finding in self.after if finding.problem == problem}
            if own or left:
                example = f"line {own[0].line}: {own[0].text}"[:90] if own else ""
                policy, names = policies.get(problem, "keep"), ", ".join((*choices, "keep"))
                count = len({finding.line for finding in own})
                rows.append((problem, count, policy, len(left), names, example))
        columns = ("problem", "rows", "policy", "left", "policies", "for example")
        notes = (*self.notes, *(f"{row[0]}: {MEANINGS[str(row[0])]}" for row in rows))
        heads = tuple(Column(name, 0) for name in columns)
        return ResultTable("doctor", f"{self.name}: {self.rows} rows", heads, tuple(rows), notes)


@dataclass(frozen=True, slots=True)
class KindReport:
    """How many queries of a kind the tables give."""

    kind: Kind
    sizes: Mapping[Cardinality, int]
    """By the number of answers."""
    why: str = ""
    """Why there is none."""


@dataclass(frozen=True, slots=True)
class IntakeReport:
    """What came of an examination."""

    tables: tuple[TableReport, ...]
    policies: dict[str, str]
    kinds: tuple[KindReport, ...]
    """Empty where a problem is left that keeps all questions away."""
    command: str
    """What makes questions of these tables, with every option that was found out; empty where it
    is not clear what to ask."""
    out: Path | None
    log_file: Path | None
    repair: tuple[str, ...] = ()
    """The policies as the user gave them."""

    @property
    def advice(self) -> str:
        """The problems that keep questions away, and the option that repairs them."""
        found = {(n, f.line, f.problem) for n, t in enumerate(self.tables) for f in t.after}
        left = Counter(problem for _, _, problem in sorted(found) if problem in BLOCKING)
        kept = [text for text in self.repair if text.partition("=")[0].strip() not in left]
        texts = ",".join(dict.fromkeys(("standard", *kept)))
        what = ", ".join(f"{name} in {n} row{'s' * (n > 1)}" for name, n in left.items())
        return f"{what}; --option repair={texts} repairs"

    @property
    def is_blocked(self) -> bool:
        """Whether questions cannot be made yet."""
        return any(table.is_blocked for table in self.tables) or not self.command

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        return {
            "tables": [asdict(table) for table in self.tables],
            "policies": self.policies,
            "kinds": [asdict(kind) for kind in self.kinds],
            "blocked": self.is_blocked,
            "command": self.command,
            "out": str(self.out) if self.out else None,
        }

    def kinds_table(self) -> ResultTable:
        """The kinds with their numbers of queries."""
        sizes: tuple[Cardinality, ...] = get_args(Cardinality)
        rows = tuple(
            (each.kind, sum(each.sizes.values()), *(each.sizes.get(s, 0) for s in sizes), each.why)
            for each in self.kinds
        )
        names = ("kind", "queries", "one answer", "several", "none", "why none is made")
        heads = tuple(Column(name, 0) for name in names)
        note = f"At most {MOST_QUERIES} of a kind are counted; each is worded --option phrasings=N"
        return ResultTable("kinds", "Queries that can be made", heads, rows, (f"{note} times.",))


def examine(files: Sequence[Path], texts: Sequence[str], out: Path | None) -> IntakeReport:
    """Examine tables under KEY=VALUE options of the task; repair their rows by the policies of
    `repair`, and write those of a single table to `out`, with a log beside it."""
    options = FAMILY.read_options([f"tables={','.join(map(str, files))}", *texts])
    assert isinstance(options, TdbenchOptions)
    places = file_tables(options)
    if out is not None and len(places) > 1:
        raise ConfigError("--out takes the rows of one table")
    sheets = [read_own(file, name, options) for file, name in places]
    notes: list[str] = []
    try:
        options, notes = with_roles(options, sheets)
    except ConfigError as exc:
        notes = [str(exc)]
    notes += _unasked(options, sheets)
    reports, mended = [], []
    for (file, name), sheet in zip(places, sheets, strict=True):
        after, log = repaired_sheet(sheet, options)
        mended.append(after)
        question = asked(sheet, options)
        before, left = (tuple(diagnose(each, question)) for each in (sheet, after))
        title = f"{file.name} {name}" if name else file.name
        own = (*sheet.notes, *(notes if sheet is sheets[-1] else ()))
        reports.append(TableReport(title, len(sheet.rows), own, before, left, tuple(log)))
    if len(places) > 1:
        options = options.model_copy(update={"kinds": ("hops",)})
    if options.now is None:
        # the last date of the tables, which their `now` cannot precede
        days = []
        for text in (
            t for sheet in mended for row in sheet.rows for t in (row.start, row.end) if t
        ):
            try:
                days.append(PartialDate.parse(text).last)
            except ValueError:
                continue
        known = [day for day in days if day.year < FAR_YEAR]
        options = options.model_copy(
            update={"now": max(known).isoformat() if known else "2025-01-01"}
        )
    is_askable = bool(options.question and options.answer)
    kinds = () if any(r.is_blocked for r in reports) or not is_askable else _kinds(options)
    chosen = options.model_dump(exclude_defaults=True)
    given = (part for text in option_texts(chosen) for part in ("--option", text))
    command = shlex.join(
        ["agent-env", "questions", "generate", "tdbench", "--out", "mine.jsonl", *given]
    )
    log_file = None if out is None else _write(mended[0], reports[0].log, out)
    shown = command if is_askable else ""
    policies = policies_of(options)
    return IntakeReport(tuple(reports), policies, kinds, shown, out, log_file, options.repair)


def _unasked(options: TdbenchOptions, sheets: Sequence[Sheet]) -> list[str]:
    """A note on the columns that no question is about."""
    used = {*options.question, *options.answer}
    names = [name for sheet in sheets for name in sheet.columns if name not in used]
    if len(sheets) > 1 or not used or not names:
        return []
    return [f"no question asks by or for {', '.join(names)}; an open book shows them in its rows"]


def _kinds(options: TdbenchOptions) -> tuple[KindReport, ...]:
    """What the generator makes of the tables, kind by kind."""
    from agent_env.families.tdbench.generator import make

    reports = []
    kinds: tuple[Kind, ...] = ("hops",) if options.kinds == ("hops",) else tuple(NEEDS)
    for kind in kinds:
        own = options.model_copy(update={"kinds": (kind,), "phrasings": 1})
        try:
            samples = make(MOST_QUERIES, 1, own).samples
        except ConfigError as exc:
            why = str(exc).splitlines()[0] if kind == "hops" else f"needs {NEEDS[kind]}"
            reports.append(KindReport(kind, {}, why))
            continue
        sizes = Counter(each.cardinality for each in samples if isinstance(each, TdbenchSample))
        reports.append(KindReport(kind, dict(sizes)))
    return tuple(reports)


def _write(sheet: Sheet, log: Sequence[Repair], out: Path) -> Path:
    """The rows as CSV, and the log beside them."""
    from agent_env.features.facts.tables.tables import write_csv
    from agent_env.sdk.trace import write_whole

    rows = ((*row.values, row.start, row.end) for row in sheet.rows)
    write_csv((*sheet.columns, "start", "end"), rows, out)
    log_file = out.with_name(f"{out.stem}.repairs.jsonl")
    lines = (json.dumps(asdict(entry), ensure_ascii=False) + "\n" for entry in log)
    write_whole(log_file, "".join(lines).encode())
    return log_file
