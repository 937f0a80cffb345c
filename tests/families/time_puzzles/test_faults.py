"""Which constraint a missing date points to, rule by rule."""

from __future__ import annotations

from agent_env.families.time_puzzles.facts import (
    DayOfMonthSpecific,
    Decade,
    Fact,
    KbEvent,
    Month,
    MultiWeekday,
    OnWeekday,
)
from agent_env.families.time_puzzles.faults import PuzzleFaults
from agent_env.families.time_puzzles.hooks import cluster, groups
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.records.schema import Sample
from agent_env.tasks.faults import Faults
from agent_env.temporal.facts.tables import shipped_tables
from tests.families.time_puzzles.sets import generate

FIND = PuzzleFaults(shipped_tables())


def puzzle(gold: str, *facts: Fact, **fields: object) -> TimePuzzle:
    texts = tuple(fact.type for fact in facts)
    return TimePuzzle.model_validate({
        "id": "p", "gold": gold.split(), "constraints": texts, "explicit_constraints": texts,
        "facts": facts, "solution_count": len(gold.split()), "fact_count": len(facts), **fields,
    })  # fmt: skip


MAYS = puzzle(
    "1990-05-01 1991-05-01 1992-05-01 1993-05-01 1994-05-01 1995-05-01 1996-05-01 1997-05-01 "
    "1998-05-01 1999-05-01",
    Decade(decade=1990), Month(month=5), DayOfMonthSpecific(day=1),
)  # fmt: skip


def rules(found: Faults) -> set[tuple[str, str]]:
    return {(m.misread.type if m.misread else "", m.rule) for m in found.missed}


def test_a_decade_read_from_its_year_one_is_recognised() -> None:
    given = (*MAYS.gold[1:], "2000-05-01")
    found = FIND(MAYS, given)
    assert [ref.type for ref in found.wrong[0].violates] == ["decade"]
    assert rules(found) == {("decade", "violated elsewhere")}


def test_another_reading_that_only_loses_dates_is_named() -> None:
    """1980s from 1981: with 1990 ruled out by another fact, 1980 alone is lost."""
    found = FIND(
        puzzle("1980-02-29 1984-02-29 1988-02-29", Decade(decade=1980), Month(month=2),
               DayOfMonthSpecific(day=29)),
        ("1984-02-29", "1988-02-29"),
    )  # fmt: skip
    assert rules(found) == {("decade", "other reading: decade_from_1")}


def test_a_value_left_out_points_to_its_constraint() -> None:
    both = MultiWeekday(value=("Monday", "Tuesday"))
    found = FIND(puzzle("2001-01-01 2001-01-02", both, Month(month=1)), ("2001-01-01",))
    assert rules(found) == {("multi_weekday", "left out by its value")}


def test_without_any_date_nothing_is_blamed() -> None:
    assert rules(FIND(MAYS, ())) == {("", "no date given")}


def test_a_date_outside_the_years_asked_about_violates_the_range() -> None:
    found = FIND(puzzle("2001-01-01", OnWeekday(weekday="Monday")), ("2060-01-05",))
    assert [ref.index for ref in found.wrong[0].violates] == [-1]


def test_an_event_that_the_tables_lack_is_not_blamed() -> None:
    unknown = KbEvent(event="my own party", aspect="multi_year", level="year")
    found = FIND(puzzle("2001-01-01", unknown, Month(month=1)), ("2002-01-01",))
    assert found.wrong[0].violates == ()


def test_gold_answers_have_no_faults_and_a_foreign_date_always_has_one() -> None:
    for made in generate(shipped_tables(), 40, 11):
        assert FIND(made, made.gold) == Faults()
        (wrong,) = FIND(made, (*made.gold, "1801-03-04")).wrong
        assert wrong.violates


def test_puzzles_are_grouped_by_what_they_hold_and_cluster_by_event() -> None:
    made = generate(shipped_tables(), 1, 3)[0]
    assert groups(made)["solutions"] == (str(made.solution_count),)
    assert "kb_event" in groups(made)["fact type"]
    assert cluster(made) == made.event
    assert groups(Sample(id="x", task="other", gold=())) == {}
