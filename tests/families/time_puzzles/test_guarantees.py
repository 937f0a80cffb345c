"""The spans of calendar facts make no other fact unnecessary."""

from random import Random

import pytest

from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import (
    ChineseZodiac,
    DayOfMonthSpecific,
    ExplicitYear,
    LunarMonth,
)
from agent_env.families.time_puzzles.guarantees import SPANS, SpelledOut, TooManySpans
from agent_env.families.time_puzzles.solver import rests_of, solve
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.temporal.days import PUZZLE_DAYS

SETS = DaySets(PUZZLE_DAYS, shipped_tables())
EVERYTHING = PUZZLE_DAYS.everything
DRAGON = ChineseZodiac(animal="Dragon")


def listed(facts, seed=1):
    sets = [SETS.of(fact) for fact in facts]
    rests = rests_of(sets, EVERYTHING)
    answer = solve(sets, EVERYTHING)
    return SpelledOut(SETS).listed(facts, rests, answer, Random(seed)), answer


@pytest.mark.parametrize(
    "facts",
    [
        [ExplicitYear(year=2024), LunarMonth(month=1), DayOfMonthSpecific(day=15)],
        [ExplicitYear(year=2024), DRAGON, DayOfMonthSpecific(day=15)],
        [DRAGON, LunarMonth(month=1), DayOfMonthSpecific(day=15)],
        [ExplicitYear(year=2025), DRAGON, LunarMonth(month=6)],
    ],
    ids=["one calendar fact", "a span over two years", "two calendar facts", "no answer"],
)
def test_the_answer_is_the_same_and_every_fact_remains_necessary(facts):
    sets, answer = listed(facts)
    assert solve(sets, EVERYTHING) == answer
    assert all(rest != answer for rest in rests_of(sets, EVERYTHING))


def test_needed_spans_are_listed_with_decoys_up_to_24():
    (year, dragon), _ = listed([ExplicitYear(year=2024), DRAGON])
    runs = PUZZLE_DAYS.runs(dragon)
    assert year == PUZZLE_DAYS.year(2024)
    assert len(runs) == SPANS
    assert set(runs) < set(PUZZLE_DAYS.runs(SETS.of(DRAGON)))
    assert [f"{low} {high}" for low, high in runs if low.year == 2024] == ["2024-02-10 2025-01-28"]
    with pytest.raises(TooManySpans, match="lunar_month takes 251 spans"):
        listed([LunarMonth(month=1), DayOfMonthSpecific(day=15)])
