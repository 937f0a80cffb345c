"""Diagnoses in sum, as tables, and one of them in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_env.analysis.diagnosis import Diagnosis
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.models.addresses import short_name

ORDER = (
    "right", "attack", "memory", "retrieval", "reading", "lookup", "knowledge", "reasoning",
    "formatting", "no call", "tool call in text", "malformed calls", "loop",
    "echo of the prompt", "context", "budget", "refused", "unexplained", "failed", "unfinished",
    "scorer_failed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunDiagnosis:
    """All episodes of one run."""

    run: str
    model: str
    conditions: tuple[str, ...]
    diagnoses: tuple[Diagnosis, ...]


def diagnosis_tables(run: RunDiagnosis) -> list[ResultTable]:
    """Kinds of failure, constraints concerned, tools used, repeated calls; empty ones left out."""
    tables = [kinds(run), stages(run), constraints(run), missing(run), tool_use(run), loops(run)]
    return [table for table in tables if table.rows]


def _of(run: RunDiagnosis, condition: str) -> list[Diagnosis]:
    return [each for each in run.diagnoses if each.condition == condition]


def kinds(run: RunDiagnosis) -> ResultTable:
    """Episodes by condition and kind."""
    totals = Counter(each.kind for each in run.diagnoses)
    present = [kind for kind in ORDER if totals[kind]]  # type: ignore[index]
    rows: list[tuple[Cell, ...]] = []
    for condition in run.conditions:
        counts = Counter(each.kind for each in _of(run, condition))
        rows.append((condition, sum(counts.values()), *(counts[k] for k in present)))  # type: ignore[index]
    columns = (Column("condition"), Column("episodes", 0), *(Column(kind, 0) for kind in present))
    title = f"Why answers are wrong · {short_name(run.model)} · {run.run}"
    notes = (
        "By rules, from the traces: agent-env docs analysis lists them. Failed and unfinished "
        "episodes are no answers.",
    )
    return ResultTable("kinds", title, columns, tuple(rows), notes)


def stages(run: RunDiagnosis) -> ResultTable:
    """Where in its kind a failure happened."""
    counts = Counter((e.condition, e.kind, e.stage) for e in run.diagnoses if e.stage)
    rows = tuple(
        (*key, n) for key, n in sorted(counts.items(), key=lambda item: (item[0][0], -item[1]))
    )
    columns = (Column("condition"), Column("kind"), Column("stage"), Column("episodes", 0))
    return ResultTable("stages", "At which stage", columns, rows)


def constraints(run: RunDiagnosis) -> ResultTable:
    """How many episodes gave a date that violates a constraint of each type."""
    counts: dict[str, Counter[str]] = {}
    for each in run.diagnoses:
        for name in {ref.type for wrong in each.faults.wrong for ref in wrong.violates}:
            counts.setdefault(name, Counter())[each.condition] += 1
    rows = _by_condition(counts, run.conditions)
    columns = (Column("constraint"), *(Column(c, 0) for c in run.conditions))
    return ResultTable("violated", "Episodes with a date that violates a constraint", columns, rows)


def missing(run: RunDiagnosis) -> ResultTable:
    """The constraint most likely misread where dates are missing, by type and rule."""
    counts: dict[str, Counter[str]] = {}
    for each in run.diagnoses:
        causes = {(m.misread.type if m.misread else "none", m.rule) for m in each.faults.missed}
        for name, rule in causes:
            counts.setdefault(f"{name} ({rule})", Counter())[each.condition] += 1
    rows = _by_condition(counts, run.conditions)
    columns = (Column("most likely misread"), *(Column(c, 0) for c in run.conditions))
    return ResultTable("misread", "Episodes in which gold dates are missing", columns, rows)


def _by_condition(
    counts: dict[str, Counter[str]], conditions: Sequence[str]
) -> tuple[tuple[Cell, ...], ...]:
    order = sorted(counts, key=lambda name: (-sum(counts[name].values()), name))
    return tuple((name, *(counts[name][c] for c in conditions)) for name in order)


def tool_use(run: RunDiagnosis) -> ResultTable:
    """Whether the tools' results show in the answers."""
    rows: list[tuple[Cell, ...]] = []
    tools = sorted({use.tool for each in run.diagnoses for use in each.uses}, reverse=True)
    for condition in run.conditions:
        for tool in tools:  # the web before python before calendars
            uses = [u for e in _of(run, condition) for u in e.uses if u.tool == tool]
            if uses:
                answers = [u.used for u in uses if u.used is not None]
                rows.append((condition, tool, len(uses), sum(u.calls for u in uses),
                             sum(answers), len(answers) - sum(answers), len(uses) - len(answers),
                             sum(u.right_but_unused for u in uses)))  # fmt: skip
    heads = ("episodes", "calls", "used", "not used", "cannot tell", "right result ignored")
    columns = (Column("condition"), Column("tool"), *(Column(h, 0) for h in heads))
    return ResultTable(
        "tool-use", "Were the tools' results used in the answer", columns, tuple(rows)
    )


def loops(run: RunDiagnosis) -> ResultTable:
    """Identical calls."""
    rows = []
    for condition in run.conditions:
        episodes = _of(run, condition)
        repeated = [r for e in episodes for r in e.repeated]
        if repeated:
            rows.append((condition, sum(bool(e.repeated) for e in episodes),
                         sum(r.times - 1 for r in repeated),
                         sum(any(r.is_loop for r in e.repeated) for e in episodes)))  # fmt: skip
    columns = (Column("condition"), Column("episodes with repeated calls", 0),
               Column("calls too many", 0), Column("episodes with a loop", 0))  # fmt: skip
    notes = ("A loop: the same call three times, or twice in a row with the same result.",)
    return ResultTable("loops", "Repeated identical calls", columns, tuple(rows), notes)


_BASES = {
    "proving page": "what proves it",
    "attacking page": "a page that attacks",
    "wrong date": "a date that is not the right one",
    "memory": "memory, as it is that of the unchanged world",
    "nothing shown": "nothing that was shown (memory, a guess or a calculation)",
}


def in_lines(each: Diagnosis) -> Iterator[str]:
    """One diagnosis for a person."""
    yield f"{each.episode}: {each.kind}{f' ({each.stage})' if each.stage else ''}"
    for wrong in each.faults.wrong:
        yield f"  {wrong.date} is wrong; it violates:"
        yield from (f"    - [{ref.type}] {ref.text}" for ref in wrong.violates)
        if not wrong.violates:
            yield "    - no constraint that could be checked"
    for miss in each.faults.missed:
        ref = miss.misread
        cause = f"[{ref.type}] {ref.text}" if ref else "no constraint stands out"
        yield f"  {miss.date} is missing; most likely misread ({miss.rule}): {cause}"
    if (source := each.source) is not None:
        where = f", {source.url}" if source.url else ""
        suffix = "; the model wrote it down" if source.is_written else ""
        yield f"  likely source: {source.date} ({source.place}{where}){suffix}"
    if (basis := each.basis) is not None:
        where = f": {', '.join(basis.pages)}" if basis.pages else ""
        yield f"  the answer stands on: {_BASES[basis.kind]}{where}"
    for use in each.uses:
        usage = {True: "used", False: "not used", None: "cannot tell whether used"}[use.used]
        extra = "; it held the right dates" if use.right_but_unused else ""
        yield f"  {use.tool}: {use.calls} calls, {usage} in the answer{extra}"
    for again in each.repeated:
        loop = ", a loop" if again.is_loop else ""
        yield f"  called {again.times} times{loop}: {again.tool} {again.arguments[:120]}"
