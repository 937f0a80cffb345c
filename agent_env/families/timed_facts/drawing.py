"""Draws questions from stories; the answers come from the solver, closed months."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.questions import DECADES
from agent_env.families.timed_facts.solver import Query, Relation, Solved, solve
from agent_env.families.timed_facts.stories import Story
from agent_env.temporal.months import Month, Span, month, write_month

FIRST, LAST = month(1800, 1), month(2030, 12)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A question without its words."""

    query: Query
    when: str
    """How the time is said: `in Jan, 1995`, `before Karvel F.C.`"""
    reference: str
    boundary: str
    solved: Solved


def draw_in(story: Story, rng: Random) -> Drawn:
    """What held in one month: inside a fact, on its first or last month, or just outside it."""
    fact = rng.choice(story.facts)
    at, boundary = _moment(fact, rng)
    return _drawn(story, "in", Span(at, at), f"in {write_month(at)}", boundary)


def _moment(fact: Fact, rng: Random) -> tuple[Month, str]:
    first, last = _bounds(fact)
    places = [(first, "first"), (first - 1, "just-before")]
    if fact.last is not None:
        places += [(last, "last"), (last + 1, "just-after")]
    if last - first > 1:
        inside = (rng.randint(first + 1, last - 1), "inside")
        places += [inside, inside]
    return rng.choice(places)


def _bounds(fact: Fact) -> tuple[Month, Month]:
    first = fact.first if fact.first is not None else FIRST
    return first, fact.last if fact.last is not None else max(first + 24, month(2023, 12))


def draw_neighbour(story: Story, rng: Random) -> Drawn:
    """What came next to a value that has one spell."""
    relation: Relation = rng.choice(("before", "after"))
    value = rng.choice(story.facts).value
    solved = solve(story.facts, Query(relation, value))
    spells = sum(fact.value == value for fact in story.facts)
    boundary = "several-spells" if spells > 1 else "tied" if solved.near else "alone"
    return Drawn(Query(relation, value), f"{relation} {value}", value, boundary, solved)


def draw_own_span(story: Story, rng: Random) -> Drawn:
    """What held all through a fact's own span: TimeQA's easy questions."""
    fact = rng.choice([f for f in story.facts if f.last is not None] or story.facts)
    first, last = _bounds(fact)
    when = f"from {_said(fact.start, first)} to {_said(fact.end, last)}"
    return _drawn(story, "throughout", Span(first, last), when, "own-span")


def _said(text: str | None, value: Month) -> str:
    return text if text is not None and len(text) == 4 else write_month(value)


def draw_hard(story: Story, rng: Random) -> Drawn:
    """TimeQA's hard questions: a month, two months, before or after one, a part of a decade."""
    how = rng.choice(("in", "between", "before", "after", "decade"))
    if how == "in":
        return draw_in(story, rng)
    first, last = _bounds(rng.choice(story.facts))
    at = rng.randint(first - 12, last + 12)
    if how == "between":
        until = at + rng.choice((2, 6, 14, 30))
        when = f"at any time between {write_month(at)} and {write_month(until)}"
        return _drawn(story, "between", Span(at, until), when, "shifted")
    if how == "decade":
        return _decade(story, at, rng)
    at = rng.choice((at, first))
    word = "right before" if how == "before" else "right after"
    relation: Relation = "before" if how == "before" else "after"
    return _drawn(story, relation, Span(at, at), f"{word} {write_month(at)}", "shifted")


def _decade(story: Story, at: Month, rng: Random) -> Drawn:
    part = rng.choice(("early", "late"))
    decade = at // 120 * 10
    low, high = DECADES[part]
    span = Span(month(decade + low, 1), month(decade + high, 12))
    return _drawn(story, "between", span, f"in the {part} {decade}s", "decade")


def _drawn(story: Story, relation: Relation, span: Span, when: str, boundary: str) -> Drawn:
    query = Query(relation, span)
    first, last = write_month(span.first, "iso"), write_month(span.last, "iso")
    reference = first if span.first == span.last else f"{first} to {last}"
    return Drawn(query, when, reference, boundary, solve(story.facts, query))
