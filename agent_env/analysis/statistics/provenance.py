"""Where answers came from and what failed first, counted over the records of provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.provenance import VERDICTS, Provenance
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic

WHY = "Why answers are wrong"
STEPS = ("returned", "opened", "cited", "shown", "used")


def records_of(comparison: Comparison) -> dict[str, list[Provenance]]:
    """By label of the condition, those of all its episodes; without conditions that have none."""
    records = {
        arm.label: [each.provenance for each in arm.observations if each.provenance is not None]
        for arm in comparison.study.arms
    }
    return {label: own for label, own in records.items() if own}


def _present(records: Iterable[Provenance]) -> list[str]:
    present = {each.verdict for each in records}
    return [verdict for verdict in VERDICTS if verdict in present]


@Statistic("answers", order=70, section=WHY).of
def answers(comparison: Comparison) -> ResultTable:
    records = records_of(comparison)
    verdicts = _present(each for own in records.values() for each in own)
    rows: list[tuple[Cell, ...]] = []
    for label, own in records.items():
        counts = Counter[str](each.verdict for each in own)
        right = sum(each.is_right for each in own)
        rows.append((label, len(own), right, *(counts[verdict] for verdict in verdicts)))
    heads = ("episodes", "right", *verdicts)
    notes = (
        "By rules, from the traces and the same question's answers in the other worlds: agent-env "
        "docs analysis lists them.",
    )
    columns = (Column("condition"), *(Column(head, 0) for head in heads))
    return ResultTable("answers", "Where do answers come from?", columns, tuple(rows), notes)


@Statistic("failures", order=71, section=WHY).of
def failures(comparison: Comparison) -> ResultTable:
    rows = tuple(
        (label, *key, number)
        for label, own in records_of(comparison).items()
        for key, number in Counter((e.verdict, e.failure) for e in own if e.failure).most_common()
    )
    heads = (Column("condition"), Column("answer was"), Column("failed first"),
             Column("episodes", 0))  # fmt: skip
    return ResultTable("failures", "What failed first where answers are wrong?", heads, rows)


@Statistic("evidence", order=74, section=WHY).of
def evidence(comparison: Comparison) -> ResultTable:
    """By condition that looks something up: verdicts, and how far its look-ups came."""
    records = {
        label: concerned
        for label, own in records_of(comparison).items()
        if (concerned := [each for each in own if each.searches and each.lookups])
    }
    verdicts = _present(each for own in records.values() for each in own)
    rows: list[tuple[Cell, ...]] = []
    for label, own in records.items():
        lookups = [lookup for each in own for lookup in each.lookups]
        counts = Counter[str](each.verdict for each in own)
        shares = (sum(getattr(each, step) for each in lookups) / len(lookups) for step in STEPS)
        rows.append((label, len(own), *(counts[v] for v in verdicts), len(lookups), *shares))
    heads = ("episodes", *verdicts, "lookups")
    columns = (Column("condition"), *(Column(h, 0) for h in heads), *map(Column, STEPS))
    note = (
        "Parts of the look-ups that came so far; used: the model wrote the right date or its "
        "answer fits it, shown to it or not."
    )
    return ResultTable("evidence", "How far did look-ups come?", columns, tuple(rows), (note,))


@Statistic("tool-use", order=75, section=WHY).of
def tool_use(comparison: Comparison) -> ResultTable:
    """Whether the tools' results show in the answers."""
    rows: list[tuple[Cell, ...]] = []
    for label, own in records_of(comparison).items():
        tools = {use.tool for each in own for use in each.uses}
        for tool in sorted(tools, reverse=True):  # the web before python before calendars
            uses = [use for each in own for use in each.uses if use.tool == tool]
            used = Counter(use.used for use in uses)
            rows.append((label, tool, len(uses), sum(use.calls for use in uses),
                         used[True], used[False], used[None],
                         sum(use.right_but_unused for use in uses)))  # fmt: skip
    heads = ("episodes", "calls", "used", "not used", "cannot tell", "right result ignored")
    columns = (Column("condition"), Column("tool"), *(Column(head, 0) for head in heads))
    title = "Were the tools' results used in the answer?"
    note = (
        "Right result ignored: an output was exactly the right answer, and the answer is another."
    )
    return ResultTable("tool-use", title, columns, tuple(rows), (note,))
