"""The pages and dates of the sealed web that prove a puzzle's constraints."""

from __future__ import annotations

from collections.abc import Sequence

from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import Fact, KbEvent, PersonAlive, UsPresident
from agent_env.records.schema import Proof
from agent_env.temporal.facts.articles import (
    Edge,
    article_url,
    event_urls,
    life_urls,
    presidency_title,
)


def proofs_of(facts: Sequence[Fact], sets: DaySets) -> tuple[Proof, ...]:
    """One proof for each fact with a lookup, in the order of the facts."""
    proofs = (_proof(number, fact, sets) for number, fact in enumerate(facts))
    return tuple(proof for proof in proofs if proof is not None)


def _proof(number: int, fact: Fact, sets: DaySets) -> Proof | None:
    match fact:
        case KbEvent():
            return _event_proof(number, fact, sets)
        case PersonAlive(person=person):
            life = sets.people[person]
            dates = (str(life.start), str(life.end))
            return Proof(constraint=number, urls=life_urls(person), dates=dates, shares="span")
        case UsPresident(person=person):
            terms = [(start, end) for start, end in sets.terms[person] if end is not None]
            days = tuple(str(day) for term in terms for day in term)
            url = article_url(presidency_title(person))
            return Proof(constraint=number, urls=(url,), dates=days, shares="span")
    return None


def _event_proof(number: int, fact: KbEvent, sets: DaySets) -> Proof:
    row = sets.events[fact.event]
    if fact.aspect == "multi_year":
        bounds = [str(year) for year in row.years] or [str(row.start), str(row.end)]
        urls = event_urls(row, None)
        return Proof(constraint=number, urls=urls, dates=tuple(bounds), shares="years")
    edge: Edge = fact.aspect
    bound = row.start if edge == "start" else row.end
    return Proof(
        constraint=number, urls=event_urls(row, edge), dates=(str(bound),), shares=fact.level
    )
