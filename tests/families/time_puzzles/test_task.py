"""The prompt and the scorer of Time Puzzles; the worked examples are right, day by day."""

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
    sample = puzzle(gold=["1982-04-02"])
    found = score(sample, episode("**MY ANSWER:** April 2, 1982"))
    assert (found.metrics["exact_match"], found.metrics["strict_match"]) == (1.0, 0.0)
    assert score(sample, episode("MY ANSWER: 1982-04-05")).metrics["days_off"] == 3.0
    for text in ("MY ANSWER: None", "It is in April."):
        assert "days_off" not in score(sample, episode(text)).metrics
    assert score(puzzle(gold=[]), episode("MY ANSWER: None")).metrics["days_off"] == 0.0
    assert score(puzzle(), episode("It is in April.")).metrics["exact_match"] == 0.0
    boxed = episode("\\boxed{1982-04-02}")
    for ending, outcome in (
        (boxed, "read"),
        (boxed.model_copy(update={"stop_reason": "truncated"}), "unreadable"),
        (episode("It is in April."), "unreadable"),
        (episode(None), "unreadable"),
        (episode(None, "failed"), "failed"),
        (episode(None, "unfinished"), "unfinished"),
    ):
        assert score(puzzle(), ending).outcome == outcome
    assert score(puzzle(), episode(None, "failed")).metrics == {}
    sample = puzzle().model_copy(update={"explicit_gold": ("1983-04-02",)})
    for condition, year, right in (
        ("explicit+python~auto", 1983, 1.0),
        ("web", 1983, 0.0),
        ("web", 1982, 1.0),
    ):
        said = ended(f"MY ANSWER: {year}-04-02", "tp-0-00001", condition)
        assert make_task().score(sample, said).metrics["exact_match"] == right
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
