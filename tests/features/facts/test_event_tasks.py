"""Screening and checking as tasks: what the prompts say, and what scores."""

from datetime import date
from functools import partial

import pytest

from agent_env.errors import ConfigError
from agent_env.features.facts import event_facts
from agent_env.features.facts.tables.tables import EventRow, shipped_tables
from agent_env.records.schema import Condition, PageRef
from agent_env.temporal.days import PartialDate
from agent_env.testing import puzzle
from tests.ended import ended

NOW = date(2031, 7, 9)
SCREEN_TASK, CHECK_TASK = (
    f.make_task("default", f.options(), {}) for f in (event_facts.SCREEN, event_facts.CHECK)
)
PAGE = "https://encyclopedia.example/article/Siege_(second)"


def sample_of(make, start="", end="", years=()):
    bounds = (PartialDate.parse(text) if text else None for text in (start, end))
    (sample,) = make([EventRow("the Siege", "siege", "", "", *bounds, years, "")], NOW)
    return sample


screened = partial(sample_of, event_facts.screen_samples)
checked = partial(sample_of, event_facts.check_samples)


def prompt(task, sample):
    return task.prompt(sample, Condition(name="base"))[0].content


def episode(answer, status="finished", opened=()):
    pages = [PageRef(url=url, how="opened") for url in opened]
    return ended(answer, "event-1", status=status, pages=pages)


DAYS, YEARS = ("1805-10-21", "1806-01"), ("", "", (1908, 1948, 1949))


@pytest.mark.parametrize(
    ("row", "answer", "expected"),
    [
        (DAYS, "FIRST: 1805-10-21\nLAST: 1806-01", ("read", 1.0)),
        (DAYS, "FIRST: 21 October 1805\nLAST: 1806-01-31", ("read", 1.0)),
        (DAYS, "FIRST: 1805-10-21\nLAST: 1806-02", ("read", 0.0)),
        (DAYS, "FIRST: 1805-10-22\nLAST: 1806-01", ("read", 0.0)),
        (["1999-12-31"], "FIRST: 1999-12-31\nLAST: ongoing", ("read", 1.0)),
        (["1999-12-31"], "FIRST: 1999-12-31\nLAST: 2020-01-01", ("read", 0.0)),
        (YEARS, "YEARS: 1908, 1948-1949", ("read", 1.0)),
        (YEARS, "YEARS: 1908, 1948", ("read", 0.0)),
        (DAYS, "FIRST: UNKNOWN\nLAST: UNKNOWN", ("read", 0.0)),
        (DAYS, "FIRST: 1805", ("unreadable", 0.0)),
        (DAYS, "It was in 1805.", ("unreadable", 0.0)),
    ],
)
def test_a_row_is_known_by_all_its_dates(row, answer, expected):
    found = event_facts.score_screen(screened(*row), episode(answer))
    assert (found.outcome, found.metrics["known"]) == expected


def test_prompts_state_what_is_asked_and_a_check_needs_its_page():
    samples = event_facts.screen_samples(shipped_tables().events, NOW)
    assert len(samples) == 269
    for sample in samples:
        text = prompt(SCREEN_TASK, sample).replace(sample.event, "")
        years = {gold[:4] for gold in sample.gold}
        assert not any(part in text for part in years | set(sample.gold)), sample.event
    text = prompt(SCREEN_TASK, screened("1805-10", "1806"))
    assert "FIRST: when it began, the month as YYYY-MM\n" in text
    assert "LAST: when it ended, the year as YYYY, or ONGOING if it still lasted on 2031-0" in text
    assert "YEARS" not in text
    assert "FIRST" not in prompt(SCREEN_TASK, screened(years=(1908, 1948)))
    text = prompt(CHECK_TASK, checked("1805-10", "", ()))
    assert "Began: 1805-10 (stated to the month)" in text
    assert "Ended: not yet; it still lasted on 2031-07-09" in text
    text = prompt(CHECK_TASK, checked(*YEARS))
    assert "Years in which it took place, all of them: 1908, 1948~1949" in text
    answer = (
        f"VERDICT: **Not correct**\nWHY: It began\nin May.\nPAGES:\n- {PAGE}.\n- https://b.example"
    )
    found = event_facts.judgement(episode(answer, opened=(PAGE,)))
    assert (found.verdict, found.why, found.pages) == ("not correct", "It began in May.", (PAGE,))
    score = event_facts.score_check(checked("1805", "1805"), episode(answer, opened=(PAGE,)))
    assert score.answer == ("not correct",)
    assert score.metrics == {"correct": 0.0, "not_correct": 1.0, "unclear": 0.0}
    found = event_facts.judgement(episode(f"VERDICT: correct\nWHY: I know.\nPAGES: {PAGE}"))
    assert (found.verdict, found.rule) == ("unclear", "'correct' without a page that was opened")
    assert screened("1999-12-31").gold == ("1999-12-31", "ongoing")
    quake = EventRow("the Quake", "earthquake", "", "", PartialDate(1755), None, (), "")
    assert event_facts.screen_samples([quake], NOW)[0].gold == ("1755",)
    assert "Ended" not in prompt(CHECK_TASK, *event_facts.check_samples([quake], NOW))
    assert event_facts.score_screen(screened(*DAYS), episode(None, "failed")).outcome == "failed"
    assert screened("1805", "1805").id == checked(years=(1908,)).id == "event-354edda191dc2ad7"
    with pytest.raises(ConfigError, match="sample 'tp-0-00001' is not a row of an event table"):
        SCREEN_TASK.prompt(puzzle(), Condition(name="base"))
    for family in (event_facts.SCREEN, event_facts.CHECK):
        with pytest.raises(ConfigError, match="unknown prompt 'x'; known: default"):
            family.make_task("x", family.options(), {})


@pytest.mark.parametrize("answer", ["", "The row is correct.", "VERDICT: correct or unclear"])
def test_an_answer_without_one_verdict_is_unreadable(answer):
    score = event_facts.score_check(checked("1805", "1805"), episode(answer, opened=(PAGE,)))
    assert (score.outcome, score.answer) == ("unreadable", None)
