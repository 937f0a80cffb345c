"""A question's shifted world: two facts of its topic exchange their spans, on every page of theirs.

Names and spans stay; who was where when is another, and fits the lives of its people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from itertools import combinations
from pathlib import Path
from random import Random

from agent_env.families.timed_facts.generating import KIND_OF, cell_of, story_of, wrong_values
from agent_env.families.timed_facts.gold import gold_answers, is_tied
from agent_env.families.timed_facts.sample import TimedQuestion
from agent_env.features.extraction.solver import Fact, Query, Ties
from agent_env.features.facts.fiction.histories import OF_OBJECT
from agent_env.features.facts.site.render import render_changed
from agent_env.features.facts.site.sheet import LIKELY_FIRST
from agent_env.features.facts.tables.tables import (
    FactTables,
    IntervalRow,
    read_intervals,
    read_world,
    shipped_tables,
)
from agent_env.sdk.family import CannotShift
from agent_env.sdk.web import ChangedPage, ShiftedWorld

YOUNGEST = 17
"""Years of age at which a span may begin."""


def world_of(intervals: Path) -> FactTables:
    """The fictional world whose tables `web build` wrote; CannotShift without its events and
    lives."""
    facts = intervals.with_name(intervals.name.removesuffix(".intervals.csv") + ".facts.csv")
    if not facts.exists():
        raise CannotShift(f"{facts.name}, which web build writes, is not beside {intervals.name}")
    events = read_world(facts, shipped_tables())
    return replace(events, intervals=read_intervals(intervals), invented=True)


def shifted_world(
    question: TimedQuestion,
    world: FactTables,
    ties: Ties,
    rng: Random,
    text_at: Callable[[str], str | None],
) -> ShiftedWorld:
    """The question's `Task.shift`: another answer, in the same cell."""
    if not question.gold:
        raise CannotShift("their prompt tells that there may be no answer")
    if question.kind == "position":
        raise CannotShift("pages on elections and tenures state their terms of office, too")
    # The rows of the question's topic and kind.
    rows = [
        row
        for row in world.intervals
        if KIND_OF[row.relation] == question.kind
        and (row.object if row.relation in OF_OBJECT else row.subject) == question.topic
    ]
    plain = story_of(rows).facts if rows else ()
    if set(plain) != set(question.own_facts):
        raise CannotShift("the table of the run's web has other facts of their topic")
    pairs = list(combinations(rows, 2))
    for one, two in rng.sample(pairs, len(pairs)):
        moved = {
            one: replace(one, start=two.start, end=two.end),
            two: replace(two, start=one.start, end=one.end),
        }
        facts = story_of([moved.get(row, row) for row in rows]).facts
        twin = _twin(question, dict(zip(plain, facts, strict=True)), ties)
        if twin is not None and _fits_lives(moved, world):
            fields = twin.model_dump(mode="json", include={"gold", "facts", "negatives"})
            return ShiftedWorld(sample=fields, pages=_changed_pages(moved, world, text_at))
    raise CannotShift("no exchange of two spans gives another answer that fits the lives")


def _twin(question: TimedQuestion, moved: dict[Fact, Fact], ties: Ties) -> TimedQuestion | None:
    """The question with these facts; None without another answer in the same cell, and where a
    tied reference would be one alone, or the reverse."""
    facts = tuple(moved.get(fact, fact) for fact in question.facts)
    twin = question.model_copy(update={"facts": facts})
    query = question.query()
    if not isinstance(query, Query):
        return None
    there = tuple(moved.values())
    answers = gold_answers(there, query, ties)
    is_neighbour = question.boundary in ("tied", "alone")
    if is_neighbour and is_tied(there, question.reference) != (question.boundary == "tied"):
        return None
    if set(answers) == set(question.gold) or cell_of(question.level, answers) != question.cell:
        return None
    wrong = wrong_values(there, answers, question.reference)
    return twin.model_copy(update={"gold": answers, "negatives": wrong})


def _fits_lives(moved: dict[IntervalRow, IntervalRow], world: FactTables) -> bool:
    """Whether everyone is grown up and alive in the new span, and nowhere else."""
    lives = {life.person: life for life in world.people}
    for row, new in moved.items():
        life, last = lives.get(new.subject), new.end or date.max
        if life is None or not (new.start.year - life.start.year >= YOUNGEST and last <= life.end):
            return False
        for other in world.intervals:
            its = moved.get(other, other)
            if other != row and its.subject == new.subject and _overlap(its, new):
                return False
    return True


def _overlap(one: IntervalRow, two: IntervalRow) -> bool:
    return one.start <= (two.end or date.max) and two.start <= (one.end or date.max)


def _changed_pages(
    moved: dict[IntervalRow, IntervalRow], world: FactTables, text_at: Callable[[str], str | None]
) -> tuple[ChangedPage, ...]:
    """The pages of the rows' people, offices and clubs, rendered as the run's web renders them."""
    there = replace(world, intervals=tuple(moved.get(row, row) for row in world.intervals))
    for level in LIKELY_FIRST:
        plain, shifted = (
            [(s.url, s.title, s.text) for s in sheets]
            for sheets in render_changed(world, there, level)
        )
        if all(text_at(url) == text for url, _, text in plain):
            return ChangedPage.between(plain, shifted)
    raise CannotShift("the run's web has other pages of their topic than its tables give")
