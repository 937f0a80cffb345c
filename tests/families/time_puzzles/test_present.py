"""Puzzles that count from today: their gold by the days themselves, on the days that are hard."""

import re
from datetime import date, timedelta
from random import Random

import pytest

from agent_env.errors import ConfigError
from agent_env.families.time_puzzles.family import FAMILY
from agent_env.features.clock import DAY, ClockOptions
from agent_env.features.clock.plan import on_their_days
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.records.schema import Condition, World
from agent_env.tasks.modifiers import with_modifier
from agent_env.tasks.task import CannotShift
from tests.ended import ended
from tests.plans import finished
from tests.questions import questions

from . import brute_force

HARD = ("2024-02-29", "2023-03-01", "2012-03-31", "2000-01-01", "1996-12-30", "2021-01-20")
CONDITIONS = [with_modifier(Condition(name="base"), DAY, day) for day in HARD]


def month_before(day, back):
    """The first days of the month so many before, and of the one behind it."""
    first = day.replace(day=1)
    for _ in range(back):
        first = (first - timedelta(1)).replace(day=1)
    return first, (first + timedelta(32)).replace(day=1)


def in_office(day, back):
    """The president of the day, or the one before: by walking back from day to day."""
    terms = [(t.start, t.end or date(9999, 1, 1)) for t in shipped_tables().presidents]
    people = []
    while len(people) <= back:
        start, end = next(term for term in terms if term[0] <= day < term[1])
        people.append((start, end))
        day = start - timedelta(1)
    return people[back]


def holds(text, fact, day, today):
    """Whether a sentence holds of a day: by its words alone, where they count from today."""
    if "President" in text:
        start, end = in_office(today, 0 if "current" in text else 1)
        return start < day < end and day < today
    if found := re.search(r"in the (\d) weeks before today", text):
        return today - timedelta(weeks=int(found[1])) <= day < today
    if "previous week" in text:
        return (today - day).days - today.weekday() in range(1, 8)
    for words, back in (("current", 0), ("the previous", 1), ("before last", 2)):
        if words in text and "month" in text:
            first, after = month_before(today, back)
            return first <= day < after
        if words in text and "year" in text:
            return day.year == today.year - back
    return brute_force.holds(day, fact)


def days_of(year):
    return [date(year, 1, 1) + timedelta(n) for n in range(366 if year % 4 == 0 else 365)]


def test_the_gold_and_answers_of_each_day():
    sample_set, task = questions("time-puzzles", 36, 3, present=True)
    kept, _ = on_their_days(sample_set, CONDITIONS, task, lambda text: None)
    assert len(kept.samples) > 25
    for sample in kept.samples:
        for condition in CONDITIONS:
            own = sample.in_world(condition.world)
            today = date.fromisoformat(condition.today)
            (message,) = task.prompt_under(sample, condition)
            assert condition.today not in message.content
            first = today.year - (21 if "President" in own.constraints[0] else 2)
            days = [day for year in range(first, today.year + 1) for day in days_of(year)]
            facts = [fact.model_dump() for fact in own.facts]
            said = list(zip(own.constraints, facts, strict=True))
            fits = [day for day in days if all(holds(*each, day, today) for each in said)]
            assert tuple(map(str, fits)) == own.gold, (sample.id, today, own.constraints)
    samples = sample_set.samples
    assert len({sample.digest for sample in samples}) == len(samples) >= 33
    units = {sample.facts[0].unit for sample in samples}
    assert units == {"year", "month", "week", "weeks", "president"}
    assert {sample.solution_count for sample in samples} == {1, 2, 3, 4, 5, 6}
    about = {(s.facts[0].unit, s.facts[0].back): s for s in samples}["month", 1]
    kept, _ = on_their_days(sample_set, CONDITIONS[:1], task, lambda text: None)
    own = next(s for s in kept.samples if s.id == about.id).in_world(CONDITIONS[0].world)
    assert "2024-01-01 to 2024-01-31" in own.explicit_constraints[0]
    sample = kept.samples[0]
    then = sample.in_world(World(today=HARD[0]))
    for gold, expected in ((sample.gold, (0.0, 1.0)), (then.gold, (1.0, 0.0))):
        text = "MY ANSWER: " + ", ".join(gold)
        episode = ended(text, sample.id, CONDITIONS[0].name, stop_reason="answered")
        metrics = task.score(sample, episode).metrics
        assert (metrics["follows_clock"], metrics["present"]) == expected
        assert "ever_right" not in metrics  # no history of its answers is known
    shortcut = next(each for each in task.shortcuts if each.name == "ignore-event")
    assert shortcut.make(samples)(samples[0], Random(1)) is None


def test_what_has_no_such_day_is_not_shifted():
    sample_set, task = questions("time-puzzles", 36, 3, present=True)
    with pytest.raises(CannotShift, match="too near an end"):
        task.on_day(sample_set.samples[0], date(1805, 1, 1))
    (plain,) = questions("time-puzzles", 1, 3)[0].samples
    assert task.on_day(plain, date(2000, 1, 1)) == {}
    with pytest.raises(ConfigError, match="present"):
        FAMILY.read_options(["present=sometimes"])
    sample_set, task = questions("time-puzzles", 12, 3, present=True, years="1600-2050")
    about = next(each for each in sample_set.samples if each.facts[0].unit == "president")
    with pytest.raises(CannotShift, match="there was no such president on 1700-01-01"):
        task.on_day(about, date(1700, 1, 1))


@pytest.mark.parametrize(
    ("condition", "is_said", "share"),
    [("base", True, 1), ("base", False, 0), ("python", False, 1), ("cal", False, 1),
     ("web+python", False, 1), ("web", True, 1), ("explicit", True, 1)],
)  # fmt: skip
def test_the_reference_counts_from_the_day_that_it_is_told_or_asks_for(
    condition, is_said, share, tmp_path
):
    run = finished(
        tmp_path / "run", limit=6, options=("present=true",), conditions=(condition,),
        features={"clock": ClockOptions(("2012-03-31",), is_said)},
    )  # fmt: skip
    assert [score.metrics["exact_match"] for _, score in run.scored(print)] == [share] * 6
