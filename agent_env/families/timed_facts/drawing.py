"""Randomly draws questions from stories; the answers come from the solver (closed intervals)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.questions import DECADES
from agent_env.families.timed_facts.solver import Query, Relation, Solution, Ties, solve
from agent_env.families.timed_facts.stories import Story
from agent_env.temporal.months import Month, Span, month, write_month

FIRST, LAST = month(1800, 1), month(2030, 12)


@dataclass(frozen=True, slots=True)
class QuestionDraft:
    """A question before its wording."""

    query: Query
    when: str
    """The wording of the time: `in Jan, 1995`, `before Karvel F.C.`"""
    reference: str
    boundary: str
    solution: Solution


def draw_in(story: Story, rng: Random) -> QuestionDraft:
    """What held in a month inside a fact, in its first or last month, or just outside it."""
    fact = rng.choice(story.facts)
    at, boundary = _moment(fact, rng)
    return _draft(story, "in", Span(at, at), f"in {write_month(at)}", boundary)


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


def draw_neighbour(story: Story, rng: Random, ties: Ties = "all") -> QuestionDraft:
    """What came directly before or after a value."""
    relation: Relation = rng.choice(("before", "after"))
    value = rng.choice(story.facts).value
    solution = solve(story.facts, Query(relation, value), ties=ties)
    spells = sum(fact.value == value for fact in story.facts)
    boundary = "several-spells" if spells > 1 else "tied" if solution.near else "alone"
    return QuestionDraft(Query(relation, value), f"{relation} {value}", value, boundary, solution)


def draw_own_span(story: Story, rng: Random) -> QuestionDraft:
    """What held throughout a fact's own span: TimeQA's easy questions."""
    fact = rng.choice([f for f in story.facts if f.last is not None] or story.facts)
    first, last = _bounds(fact)
    when = f"from {_date_text(fact.start, first)} to {_date_text(fact.end, last)}"
    return _draft(story, "throughout", Span(first, last), when, "own-span")


def _date_text(text: str | None, value: Month) -> str:
    return text if text is not None and "-" not in text else write_month(value)


def draw_hard(story: Story, rng: Random) -> QuestionDraft:
    """TimeQA's hard questions: a month, two months, before or after one, a part of a decade."""
    how = rng.choice(("in", "between", "before", "after", "decade"))
    if how == "in":
        return draw_in(story, rng)
    first, last = _bounds(rng.choice(story.facts))
    at = rng.randint(first - 12, last + 12)
    if how == "between":
        until = at + rng.choice((2, 6, 14, 30))
        when = f"at any time between {write_month(at)} and {write_month(until)}"
        return _draft(story, "between", Span(at, until), when, "shifted")
    if how == "decade":
        return _decade(story, at, rng)
    at = rng.choice((at, first))
    word = "right before" if how == "before" else "right after"
    relation: Relation = "before" if how == "before" else "after"
    return _draft(story, relation, Span(at, at), f"{word} {write_month(at)}", "shifted")


def _decade(story: Story, at: Month, rng: Random) -> QuestionDraft:
    part = rng.choice(("early", "late"))
    decade = at // 120 * 10
    low, high = DECADES[part]
    span = Span(month(decade + low, 1), month(decade + high, 12))
    return _draft(story, "between", span, f"in the {part} {decade}s", "decade")


def _draft(story: Story, relation: Relation, span: Span, when: str, boundary: str) -> QuestionDraft:
    query = Query(relation, span)
    first, last = write_month(span.first, "iso"), write_month(span.last, "iso")
    reference = first if span.first == span.last else f"{first} to {last}"
    return QuestionDraft(query, when, reference, boundary, solve(story.facts, query))
