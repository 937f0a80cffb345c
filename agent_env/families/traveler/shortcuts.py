"""Shortcuts of TRAVELER; the one that ignores the time counts all events that fit in all else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from agent_env.families.traveler.sample import NOTHING, TravelerSample, traveler_sample
from agent_env.families.traveler.truth import Answer
from agent_env.records.schema import MaterialTable, Sample
from agent_env.tasks.shortcuts import by_question, constant, majority, oracle
from agent_env.tasks.task import Shortcut

Occurrence = tuple[str, str]
"""Subject and local day."""
Index = Mapping[tuple[str, str], Sequence[Occurrence]]
"""By event type and location."""
TimeBlind = Callable[[TravelerSample], Answer | None]
"""None where the sample's event list is not there."""


CONSTANT, IGNORE_TIME = "constant", "ignore-time"
HIDDEN = {"gold": (), "matches": "none", "chances": {}}


def shortcuts(blind: TimeBlind) -> tuple[Shortcut, ...]:
    """No, nobody, 0 or never; the majority of the template; the time ignored; the gold."""

    def ignore_time(sample: Sample) -> str | None:
        own = traveler_sample(sample)
        answer = blind(own)
        return None if answer is None else _worded(own.template, answer)

    return (
        constant("no, nobody, 0, never", lambda sample: _worded(_template(sample), None)),
        majority(answer_text, _template),
        by_question(
            IGNORE_TIME,
            "by all events that fit but for their time",
            lambda sample, rng: ignore_time(sample),
        ),
        oracle(answer_text),
    )


def answer_text(sample: Sample) -> str:
    """The gold as the prompt asks for it; of a vague question the most probable answer."""
    return _worded(_template(sample), sample.gold)


def _template(sample: Sample) -> str:
    return traveler_sample(sample).template


def _worded(template: str, answer: Answer | None) -> str:
    names = {"who": "nobody", "when": "never"}
    text = ", ".join(NOTHING[template] if answer is None else answer)
    return f"MY ANSWER: {text or names.get(template, '')}"


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
