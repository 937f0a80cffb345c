"""Where answers came from and what failed first, counted over the records of provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

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


REASONS = {
    "not known": "it did not know a fact that had to be looked up",
    "not searched": "it did not search",
    "not found": "its searches did not show the page that proves it",
    "not opened": "it did not open the page that proves it",
    "misread": "what proves it was shown, and it answered otherwise",
    "given pages misread": "what proves it was given, and it answered otherwise",
    "miscalculated": "it had the facts and did not find what follows from them",
    "dates left out": "it had the facts and left out some of what follows from them",
    "right result ignored": "a tool gave the right result, and it answered otherwise",
    "dropped a constraint": "it ignored a part of the question",
    "pages gone": "the pages that prove it are gone",
    "unreadable": "no answer could be read in the reply",
    "attack": "it took what a planted page says",
    "limit": "a limit ended the episode",
    "no call": "it called no tool",
    "no work": "it gave an empty answer without working",
    "stopped at a snippet": "it took a date of the search results and opened no page",
    "another date of the snippets": "it took a wrong date of the search results",
    "trusted another page": "it took a date of a page that is about something else",
    "newest date of the page": "it took the newest date of the page",
    "another date of the page": "it took a wrong date of the right page",
    "fault of a tool": "a tool had failed",
    "memory against the page": "it gave what it remembered, against the page",
}
"""By what failed first, before its colon, what it means."""


def reason_of(failure: str) -> str:
    """What failed first as a clause; itself where there is none for it."""
    return REASONS.get(failure.partition(":")[0], failure)


@Statistic("why", order=69, section=WHY).of
def why(comparison: Comparison) -> ResultTable:
    """For each condition how many answers are wrong and what most of them lack; those without a
    wrong one together."""
    texts, right = list[str](), list[str]()
    by_label = records_of(comparison)
    for label, own in by_label.items():
        wrong = Counter(reason_of(each.failure) for each in own if each.failure)
        if not wrong:
            right.append(label)
            continue
        (most, number), total = wrong.most_common(1)[0], wrong.total()
        reason = most if most in REASONS.values() else f"of ‘{most}’"
        share = "" if number == total else f", {number} of them"
        is_lookup = most == REASONS["not known"]
        found = _found_by_searching(comparison, label, by_label) if is_lookup else ""
        answers = sum(each.verdict not in ("failed", "unfinished") for each in own)
        text = f"{total} of {answers} answers of {label} are wrong"
        if most == "cannot be told":
            texts.append(f"{text}; why cannot be told, as the questions name no page.")
        else:
            texts.append(f"{text}{share} because {reason}{found}.")
    if right:
        texts.append(f"No answer of {', '.join(right)} is wrong.")
    rows = tuple((text,) for text in texts)
    return ResultTable("why", "Why are answers wrong?", (Column("why"),), rows)


def _found_by_searching(
    comparison: Comparison, label: str, by_label: Mapping[str, Sequence[Provenance]]
) -> str:
    """How often the first condition of the same run that searches was shown what this one lacks."""
    run = comparison.study.arm(label).run
    for arm in comparison.study.arms:
        own = [each for each in by_label.get(arm.label, ()) if each.searches and each.lookups]
        if arm.run == run and own and arm.condition.disturbance is None:
            shown = sum(each.is_shown for each in own)
            times = "every time" if shown == len(own) else f"in {shown} of {len(own)}"
            return f"; with {arm.label} it was shown it {times}"
    return ""


@Statistic("answers", order=70, section=WHY).of
def answers(comparison: Comparison) -> ResultTable:
    records = records_of(comparison)
    present = {each.verdict for own in records.values() for each in own}
    verdicts = [verdict for verdict in VERDICTS if verdict in present]
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
    """By condition that looks something up, how far its look-ups came; not where all did."""
    records = {
        label: concerned
        for label, own in records_of(comparison).items()
        if (concerned := [each for each in own if each.searches and each.lookups])
    }
    rows: list[tuple[Cell, ...]] = []
    for label, own in records.items():
        lookups = [lookup for each in own for lookup in each.lookups]
        shares = [sum(getattr(each, step) for each in lookups) / len(lookups) for step in STEPS]
        if min(shares) < 1:
            rows.append((label, len(own), len(lookups), *shares))
    columns = (Column("condition"), Column("episodes", 0), Column("lookups", 0),
               *map(Column, STEPS))  # fmt: skip
    note = (
        "Parts of the look-ups that got so far; used: the model wrote the right date or its "
        "answer fits it, shown to it or not."
    )
    return ResultTable("evidence", "How far did look-ups get?", columns, tuple(rows), (note,))
