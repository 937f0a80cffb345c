"""The answer that ignores the time expression: everything that fits in all else counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from agent_env.families.traveler.sample import TravelerSample
from agent_env.families.traveler.truth import Answer
from agent_env.records.schema import MaterialTable

Occurrence = tuple[str, str]
"""Subject and local day."""
Index = Mapping[tuple[str, str], Sequence[Occurrence]]
"""By event type and location."""
TimeBlind = Callable[[TravelerSample], Answer | None]
"""None where the sample's event list is not there."""


def time_blind(materials: Mapping[str, MaterialTable]) -> TimeBlind:
    """The answers over these event lists."""
    indices: dict[str, Index] = {}

    def answer(sample: TravelerSample) -> Answer | None:
        digest = next((digest for digest in sample.materials if digest in materials), None)
        if digest is None:
            return None
        if digest not in indices:
            indices[digest] = _index(materials[digest])
        there = indices[digest].get((sample.event, sample.location), ())
        own = [o for o in there if sample.subject in (None, o[0])]
        return _answer(sample.template, own)

    return answer


def _index(table: MaterialTable) -> Index:
    at = [table.columns.index(name) for name in ("event", "location", "subject", "time")]
    index: dict[tuple[str, str], list[Occurrence]] = defaultdict(list)
    for row in table.rows:
        event, location, subject, time = (str(row[column]) for column in at)
        index[event, location].append((subject, time[:10]))
    return index


def _answer(template: str, occurrences: Sequence[Occurrence]) -> Answer:
    if template == "who":
        return tuple(sorted({subject for subject, _ in occurrences}))
    if template == "did":
        return ("yes",) if occurrences else ("no",)
    if template == "how-often":
        return (str(len(occurrences)),)
    return (max(day for _, day in occurrences),) if occurrences else ()
