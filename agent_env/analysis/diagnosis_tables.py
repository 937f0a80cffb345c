"""Records of provenance in sum, as tables, and one of them in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_env.analysis.provenance import VERDICTS, Provenance
from agent_env.analysis.result_tables import Cell, Column, ResultTable

STEPS = ("returned", "opened", "cited", "shown", "used")


@dataclass(frozen=True, slots=True)
class RunDiagnosis:
    """All episodes of one run."""

    run: str
    model: str
    conditions: tuple[str, ...]
    diagnoses: tuple[Provenance, ...]


def diagnosis_tables(run: RunDiagnosis) -> list[ResultTable]:
    """Where answers came from, what failed first, constraints concerned, look-ups, tools used,
    repeated calls; empty ones left out."""
    tables = [answers(run), failures(run), constraints(run), missing(run), evidence_table(run),
              tool_use(run), loops(run)]  # fmt: skip
    return [table for table in tables if table.rows]


def _of(run: RunDiagnosis, condition: str) -> list[Provenance]:
    return [each for each in run.diagnoses if each.condition == condition]


def _verdicts(records: Sequence[Provenance]) -> list[str]:
    present = {each.verdict for each in records}
    return [verdict for verdict in VERDICTS if verdict in present]


def answers(run: RunDiagnosis) -> ResultTable:
    """Episodes by condition and verdict."""
    verdicts = _verdicts(run.diagnoses)
    rows: list[tuple[Cell, ...]] = []
    for condition in run.conditions:
        records = _of(run, condition)
        counts = Counter(each.verdict for each in records)
        right = sum(each.is_right for each in records)
        rows.append((condition, len(records), right, *(counts[v] for v in verdicts)))  # type: ignore[index]
    columns = (Column("condition"), Column("episodes", 0), Column("right", 0),
               *(Column(verdict, 0) for verdict in verdicts))  # fmt: skip
    title = f"Where answers came from · {run.model} · {run.run}"
    notes = (
        "By rules, from the traces and the same question's answers in the other worlds: agent-env "
        "docs analysis lists them.",
    )
    return ResultTable("answers", title, columns, tuple(rows), notes)


def failures(run: RunDiagnosis) -> ResultTable:
    """What failed first where the answer is not right."""
    counts = Counter((e.condition, e.verdict, e.failure) for e in run.diagnoses if e.failure)
    rows = tuple(
        (*key, n) for key, n in sorted(counts.items(), key=lambda item: (item[0][0], -item[1]))
    )
    columns = (Column("condition"), Column("answer was"), Column("failed first"),
               Column("episodes", 0))  # fmt: skip
    return ResultTable("failures", "What failed first where answers are wrong", columns, rows)


def constraints(run: RunDiagnosis) -> ResultTable:
    """How many episodes gave a date that violates a constraint of each type."""
    counts: dict[str, Counter[str]] = {}
    for each in run.diagnoses:
        for name in {ref.type for wrong in each.errors.wrong for ref in wrong.violates}:
            counts.setdefault(name, Counter())[each.condition] += 1
    rows = _by_condition(counts, run.conditions)
    columns = (Column("constraint"), *(Column(c, 0) for c in run.conditions))
    return ResultTable("violated", "Episodes with a date that violates a constraint", columns, rows)


def missing(run: RunDiagnosis) -> ResultTable:
    """The constraint most likely misread where dates are missing, by type and rule."""
    counts: dict[str, Counter[str]] = {}
    for each in run.diagnoses:
        causes = {(m.misread.type if m.misread else "none", m.rule) for m in each.errors.missed}
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


def evidence_table(run: RunDiagnosis) -> ResultTable:
    """By condition that looks something up: verdicts, and how far its look-ups came."""
    records = [each for each in run.diagnoses if each.searches and each.lookups]
    verdicts = _verdicts(records)
    columns = (
        Column("condition"), Column("episodes", 0), *(Column(name, 0) for name in verdicts),
        Column("lookups", 0), *(Column(step) for step in STEPS),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for condition in run.conditions:
        own = [each for each in records if each.condition == condition]
        lookups = [lookup for each in own for lookup in each.lookups]
        if lookups:
            counts = Counter(each.verdict for each in own)
            shares = (sum(getattr(each, step) for each in lookups) / len(lookups) for step in STEPS)
            rows.append((condition, len(own), *(counts[v] for v in verdicts), len(lookups),  # type: ignore[index]
                         *shares))  # fmt: skip
    note = (
        "Parts of the look-ups that came so far; used: the model wrote the right date or its "
        "answer fits it, shown to it or not."
    )
    return ResultTable("evidence", "How far look-ups came", columns, tuple(rows), (note,))


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


def in_lines(record: Provenance) -> Iterator[str]:
    """One record for a person."""
    because = f": {record.because}" if record.because else ""
    yield f"{record.episode}: {record.verdict}{because}"
    if record.failure:
        yield f"  failed first: {record.failure}"
    if record.stands_on:
        yield f"  stands on: {', '.join(record.stands_on)}"
    for page in record.pages:
        traits = {"proves it": page.proves and page.holds_fact, "planted": page.is_planted,
                  "proves it, but its dates were not shown": page.proves and not page.holds_fact,
                  "changed in this world": page.is_shifted}  # fmt: skip
        words = "; ".join(name for name, holds in traits.items() if holds)
        yield f"  {page.how}: {page.url}{f' ({words})' if words else ''}"
    for use in record.uses:
        usage = {True: "used", False: "not used", None: "cannot tell whether used"}[use.used]
        extra = "; it held the right dates" if use.right_but_unused else ""
        calls = f"{use.calls} call{'s' if use.calls != 1 else ''}"
        yield f"  {use.tool}: {calls}, {usage} in the answer{extra}"
    for attack in record.attacks:
        if attack.exposed:
            end = (
                "its instruction was obeyed"
                if attack.obeyed
                else (
                    "its planted value was given"
                    if attack.given
                    else "its planted value was not given"
                )
            )
            yield f"  attack {attack.name}: the model read it; {end}"
    if (faults := record.tool_faults) is not None:
        tries = {"says so": faults.says_so, "calls again": faults.retries,
                 "asks otherwise": faults.asks_otherwise}  # fmt: skip
        then = ", ".join(name for name, holds in tries.items() if holds) or "nothing was tried"
        yield f"  faults of tools: {faults.explicit + faults.implicit} landed" + (
            f"; then: {then}" if faults.landed else ""
        )
    for world in record.worlds:
        answer = "no answer" if world.answer is None else ", ".join(world.answer) or "none"
        end = (
            "right"
            if world.is_right
            else ("the unchanged world's answer" if world.is_original else "wrong")
        )
        yield f"  under {world.condition}: {answer} ({end})"
    for wrong in record.errors.wrong:
        yield f"  {wrong.date} is wrong; it violates:"
        yield from (f"    - [{ref.type}] {ref.text}" for ref in wrong.violates)
        if not wrong.violates:
            yield "    - no constraint that could be checked"
    for miss in record.errors.missed:
        ref = miss.misread
        cause = f"[{ref.type}] {ref.text}" if ref else "no constraint stands out"
        yield f"  {miss.date} is missing; most likely misread ({miss.rule}): {cause}"
    if (source := record.source) is not None:
        where = f", {source.url}" if source.url else ""
        suffix = "; the model wrote it down" if source.is_written else ""
        yield f"  likely source: {source.date} ({source.place}{where}){suffix}"
    for again in record.repeated:
        loop = ", a loop" if again.is_loop else ""
        yield f"  called {again.times} times{loop}: {again.tool} {again.arguments[:120]}"
