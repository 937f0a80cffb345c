"""The prompt and the scorer of Time Puzzles.

The worked examples are right: every day was looked at.
"""

from datetime import date, timedelta

from agent_env.families.time_puzzles.facts import DayOfMonthSpecific, LunarMonth
from agent_env.families.time_puzzles.task import WORKED, make_task, score
from agent_env.tasks.conditions import parse_condition
from agent_env.testing import puzzle
from tests.ended import ended

from .by_hand import FRANZ_JOSEPH, by_hand


def episode(answer, status="finished"):
    return ended(answer, "tp-0-00001", "web", status=status)


def prompt(name, condition="base"):
    (message,) = make_task(name).prompt(puzzle(), parse_condition(condition))
    return message.content


def test_prompts_answers_and_special_days():
    lunar = by_hand("lunar", FRANZ_JOSEPH, LunarMonth(month=6), DayOfMonthSpecific(day=20))
    (message,) = make_task().prompt(lunar, parse_condition("explicit-paper"))
    assert (
        "- The year is 1848.\n- In the Chinese calendar, the date falls in lunar month 6 "
        "(leap month 6 counts too).\n- The day of the month is 20."
    ) in message.content
    assert "1982-04-02" not in prompt("default") + prompt("default", "explicit")
    sample = puzzle(gold=["1982-04-02", "1982-04-09"])
    assert score(sample, episode("MY ANSWER: 1982-04-02, 1982-04-09")).metrics == {
        "exact_match": 1.0, "strict_match": 1.0, "f1": 1.0, "jaccard": 1.0, "days_off": 0.0,
    }  # fmt: skip
    assert score(sample, episode("MY ANSWER: 1982-04-02")).metrics == {
        "exact_match": 0.0, "strict_match": 0.0, "f1": 2 / 3, "jaccard": 0.5, "days_off": 182.5,
    }  # fmt: skip
    found = score(puzzle(gold=["1982-04-02"]), episode("**MY ANSWER:** April 2, 1982"))
    assert (found.metrics["exact_match"], found.metrics["strict_match"]) == (1.0, 0.0)
    cut = episode("\\boxed{1982-04-02}").model_copy(update={"stop_reason": "truncated"})
    assert score(puzzle(), cut).outcome == "unreadable"
    assert score(puzzle(), episode("\\boxed{1982-04-02}")).outcome == "read"
    sample = puzzle(gold=["1982-04-02"])
    assert score(sample, episode("MY ANSWER: 1982-04-05")).metrics["days_off"] == 3.0
    assert "days_off" not in score(sample, episode("MY ANSWER: None")).metrics
    assert "days_off" not in score(sample, episode("It is in April.")).metrics
    assert score(puzzle(gold=[]), episode("MY ANSWER: None")).metrics["days_off"] == 0.0
    unreadable = score(puzzle(), episode("It is in April."))
    assert (unreadable.outcome, unreadable.metrics["exact_match"]) == ("unreadable", 0.0)
    assert score(puzzle(), episode(None)).outcome == "unreadable"
    failed = score(puzzle(), episode(None, "failed"))
    assert (failed.outcome, failed.metrics) == ("failed", {})
    assert score(puzzle(), episode(None, "unfinished")).outcome == "unfinished"
    sample = puzzle().model_copy(update={"explicit_gold": ("1983-04-02",)})
    explicit = episode("MY ANSWER: 1983-04-02").model_copy(
        update={"condition": "explicit+python~auto"}
    )
    task = make_task()
    assert task.score(sample, explicit).metrics["exact_match"] == 1.0
    assert task.score(sample, episode("MY ANSWER: 1983-04-02")).metrics["exact_match"] == 0.0
    assert task.score(sample, episode("MY ANSWER: 1982-04-02")).metrics["exact_match"] == 1.0
    plain = puzzle()
    assert plain.worded("explicit") is plain
    assert "explicit_gold" not in plain.model_dump_json()
    assert tuple(WORKED[0]["answer"]) == days(
        lambda d: 1996 <= d.year <= 2003 and (d.month, d.day, d.weekday()) == (2, 29, 1)
    )
    assert tuple(WORKED[1]["answer"]) == days(
        lambda d: (d.year, d.day, d.weekday()) == (2015, 13, 4) and d.month in (12, 1, 2, 3, 4, 5)
    )


def days(fits):
    all_days = (date(1800, 1, 1) + timedelta(days=n) for n in range(91_676))
    return tuple(day.isoformat() for day in all_days if fits(day))
