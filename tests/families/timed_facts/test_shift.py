"""Shifted worlds of TempReason's open web: two facts exchange their spans on all of their pages."""

from dataclasses import replace
from datetime import date
from random import Random

import pytest

from agent_env.families.timed_facts.sample import TimedQuestion, timed
from agent_env.families.timed_facts.shift import shifted_world, world_of
from agent_env.features.extraction.solver import Fact
from agent_env.features.facts.site.render import render_all
from agent_env.features.facts.tables.tables import FactTables, IntervalRow, LifeRow
from agent_env.tasks.task import CannotShift
from tests.questions import questions

from .oracle import brute_force

ALDA = LifeRow("Alda Venn", "runner", date(1900, 1, 1), date(1970, 1, 1), "")
SPELLS = tuple(
    IntervalRow("Alda Venn", "plays_for", club, date(year, 1, 1), date(year + 1, 12, 31))
    for club, year in (("Quarrow Rovers", 1921), ("A.S. Tollmere", 1924), ("Orrin F.C.", 1927))
)
SMALL = FactTables((), (), (ALDA,), SPELLS, invented=True)


def asked(**changes):
    facts = tuple(
        Fact(topic=row.subject, kind="team", value=row.object, start=f"{row.start.year}-01",
             end=f"{row.start.year + 1}-12")
        for row in SPELLS
    )  # fmt: skip
    question = TimedQuestion(
        id="a", task="tempreason", gold=("A.S. Tollmere",), level="L2", cell="L2-single",
        question="Which team did Alda Venn play for in Mar, 1925?", kind="team", topic="Alda Venn",
        relation="in", reference="1925-03", boundary="inside", facts=facts,
        negatives=("Quarrow Rovers", "Orrin F.C."),
    )  # fmt: skip
    return question.model_copy(update=changes)


def texts_of(world):
    return {sheet.url: sheet.text for sheet in render_all(world)}


def twin_of(question, world):
    return TimedQuestion.model_validate(question.model_dump(mode="json") | world.sample)


def test_exchanged_clubs_and_what_keeps_them_apart():
    shifted = shifted_world(asked(), SMALL, "all", Random(1), texts_of(SMALL).get)
    twin = twin_of(asked(), shifted)
    assert (asked().gold, twin.gold) == (("A.S. Tollmere",), ("Quarrow Rovers",))
    assert twin.negatives == ("A.S. Tollmere", "Orrin F.C.")
    assert [(f.value, f.start) for f in twin.facts] == [
        ("Quarrow Rovers", "1924-01"), ("A.S. Tollmere", "1921-01"), ("Orrin F.C.", "1927-01"),
    ]  # fmt: skip
    pages = {page.title: page.text for page in shifted.pages}
    assert set(pages) == {"Alda Venn", "A.S. Tollmere", "Quarrow Rovers"}
    lines = [line for line in pages["Alda Venn"].splitlines() if line.startswith("Played for")]
    assert [line.split(" <")[0] for line in lines] == [
        "Played for: A.S. Tollmere", "Played for: Quarrow Rovers", "Played for: Orrin F.C.",
    ]  # fmt: skip
    assert [year in pages["A.S. Tollmere"] for year in ("1921", "1924")] == [True, False]
    child, born = (
        replace(SMALL, people=(replace(ALDA, start=date(year, 1, 1)),)) for year in (1905, 1908)
    )
    shifted = shifted_world(asked(), child, "all", Random(1), texts_of(child).get)
    assert shifted.sample["gold"] == ["Orrin F.C."]  # nothing moves to 1921
    with pytest.raises(CannotShift, match="no exchange of two spans"):
        shifted_world(asked(), born, "all", Random(1), texts_of(born).get)
    with pytest.raises(CannotShift, match="the run's web has other pages of their topic"):
        shifted_world(asked(), SMALL, "all", Random(1), lambda url: "other")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"gold": ()}, "their prompt tells that there may be no answer"),
        ({"kind": "position"}, "pages on elections and tenures"),
        ({"facts": ()}, "the table of the run's web has other facts of their topic"),
    ],
)
def test_a_question_whose_twin_would_differ_elsewhere_is_not_shifted(changes, reason):
    with pytest.raises(CannotShift, match=reason):
        shifted_world(asked(**changes), SMALL, "all", Random(1), texts_of(SMALL).get)


def exchanged(question, twin, world):
    """The world's rows with the days that the months of the twin's facts stand for."""

    def months(row):
        return str(row.start)[:7], str(row.end)[:7]

    own = [row for row in world.intervals if question.topic in (row.subject, row.object)]
    spans = {months(row): (row.start, row.end) for row in own}
    moved = {
        (fact.value, str(fact.start), str(fact.end)): spans[months(new)]
        for fact, new in zip(question.own_facts, twin.own_facts, strict=True)
    }
    for row in world.intervals:
        value = row.subject if row.object == question.topic else row.object
        start, end = moved.get((value, *months(row)), (row.start, row.end))
        yield replace(row, start=start, end=end) if row in own else row


def test_in_an_invented_world_months_give_the_twins_gold_and_no_other_page_would_change(intervals):
    made, task = questions("tempreason", 12, 2, setting="open-web", intervals=intervals)
    world = world_of(intervals)
    plain, moved = texts_of(world), 0
    for sample in made.samples:
        question = timed(sample)
        try:
            shifted = task.shift(sample, Random(1), plain.get)
        except CannotShift:
            continue
        twin, query = twin_of(question, shifted), question.query()
        assert brute_force(twin.own_facts, query) == set(twin.gold) != set(question.gold)
        assert twin.query() == query
        changed = {page.url: page.text for page in shifted.pages}
        if moved < 2:
            after = texts_of(replace(world, intervals=tuple(exchanged(question, twin, world))))
            assert {url: text for url, text in after.items() if plain[url] != text} == changed
        moved += 1
    assert moved > 4
