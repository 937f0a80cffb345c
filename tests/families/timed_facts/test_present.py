"""Questions about the present on many days: their gold against SQLite over the written facts, and
against those of the shipped presidents' table."""

import sqlite3
from contextlib import suppress
from datetime import date
from itertools import product

import pytest

from agent_env.families.timed_facts.generating import PRESENT
from agent_env.tasks.task import CannotShift
from agent_env.temporal.months import write_month
from tests.questions import questions

DAYS = [date(year, number, day) for year in range(1935, 2026, 3)
        for number, day in ((1, 1), (2, 28), (6, 15), (12, 31))]  # fmt: skip


@pytest.fixture(scope="module")
def solve_by_sqlite():
    """By a question's facts and a month, the values that hold then, as text alone compares."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE facts (value TEXT, first TEXT, last TEXT)")

    def values(question, month):
        connection.execute("DELETE FROM facts")
        rows = [(f.value, f.start, f.end) for f in question.facts
                if (f.topic, f.kind) == (question.topic, question.kind)]  # fmt: skip
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", rows)
        found = connection.execute(
            "SELECT DISTINCT value FROM facts WHERE coalesce(first, '0000') <= ?1"
            " AND CASE length(last) WHEN 7 THEN last WHEN 4 THEN last || '-12' ELSE '9' END >= ?1",
            (month,),
        )
        return {value for (value,) in found}

    yield values
    connection.close()


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("tempreason", {"setting": "closed-book"}),
        ("tempreason", {"setting": "open-web"}),
        ("timeqa", {"setting": "closed-book", "years": 0}),
    ],
)
def test_the_gold_of_each_day_is_what_sqlite_finds_in_the_facts(
    family, options, solve_by_sqlite, intervals
):
    own = {"intervals": intervals} if options["setting"] == "open-web" else {}
    made, task = questions(family, 30, 5, present=True, **options, **own)
    asked = 0
    for sample, day in product(made.samples, DAYS):
        with suppress(CannotShift):
            fields = task.on_day(sample, day)
            asked += 1
            assert set(fields["gold"]) == solve_by_sqlite(sample, f"{day:%Y-%m}"), (sample.id, day)
    assert asked > 20


def test_the_days_of_change_have_every_answer_that_a_question_ever_had():
    made, task = questions("tempreason", present=True, setting="closed-book")
    (sample, *_) = made.samples
    golds = set()
    for day in task.changes(sample):
        with suppress(CannotShift):
            golds |= set(task.on_day(sample, day)["gold"])
    assert golds == {fact.value for fact in sample.own_facts}
    assert write_month(PRESENT) == "December 2025"
