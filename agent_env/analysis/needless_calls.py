"""Look-ups that were made although what had been read determined the answer already.

Only look-ups count, not calculation: an answer that is determined must still be computed. Whether
a text determines it is told by the family's solver, see `AnalysisHooks.determined`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from agent_env.analysis.intervals import mean_interval
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.records.schema import Episode, Sample
from agent_env.tasks.task import Determined


@dataclass(frozen=True, slots=True)
class LookupCount:
    """One episode."""

    condition: str
    cluster: str
    calls: int
    needless: int | None
    """None where the solver cannot tell."""


def needless_calls(
    sample: Sample, episode: Episode, look_ups: Container[str], determined: Determined
) -> tuple[int, int | None]:
    """How many look-ups the episode made, and how many of them after the results of earlier replies
    had determined the answer."""
    names = {call.id: call.name for message in episode.messages for call in message.tool_calls}
    texts: list[str] = []
    calls = needless = 0
    is_determined = determined(sample, texts)
    for message in episode.messages:
        if message.role == "tool" and names.get(message.tool_call_id or "") in look_ups:
            texts.append(message.content)
        asked = sum(call.name in look_ups for call in message.tool_calls)
        if asked and is_determined is False:
            is_determined = determined(sample, texts)
        calls += asked
        needless += asked if is_determined else 0
    return calls, None if is_determined is None else needless


def needless_table(counts: Sequence[LookupCount]) -> ResultTable:
    """By condition: look-ups of an episode, and those that were needless."""
    columns = (
        Column("condition"), Column("episodes", 0), Column("look-ups", 2),
        Column("unnecessary", 2), Column("episodes with any"), Column("unknown", 0),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for condition in dict.fromkeys(each.condition for each in counts):
        own = [each for each in counts if each.condition == condition]
        known = [each for each in own if each.needless is not None]
        calls = [(each.cluster, float(each.calls)) for each in known]
        needless = [(each.cluster, float(each.needless or 0)) for each in known]
        shares = [(name, float(number > 0)) for name, number in needless]
        cells = (_cell(calls), _cell(needless), _cell(shares, share=True))
        rows.append((condition, len(known), *cells, len(own) - len(known)))
    notes = (
        "A look-up is unnecessary if the facts that earlier results prove, with those that need no "
        "look-up, already leave the gold dates alone, by the solver. A result proves a fact if it "
        "names a page that does and states its dates: memory and other pages do not count, so this "
        "is a lower bound. Unknown: the solver does not know the facts.",
    )
    return ResultTable("look-ups", "Unnecessary look-ups", columns, tuple(rows), notes)


def _cell(values: Sequence[tuple[str, float]], share: bool = False) -> Cell:
    if not values:
        return None
    low, high = mean_interval(values, share) or (None, None)
    return sum(value for _, value in values) / len(values), low, high
