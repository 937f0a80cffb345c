"""Which constraint a missing date points to, rule by rule.

The condition `facts`: the dates of every look-up, beside the puzzle_of_known_facts as it is.
"""

import re

import pytest

from agent_env.errors import ConfigError
from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.facts import (
    HEAD,
    DayOfMonthSpecific,
    Decade,
    KbEvent,
    Month,
    MultiWeekday,
    OnWeekday,
)
from agent_env.families.time_puzzles.family import FAMILY, PuzzleOptions
from agent_env.families.time_puzzles.hooks import PuzzleFaults, cluster, groups, known_facts
from agent_env.families.time_puzzles.reference import next_step
from agent_env.families.time_puzzles.reference_lookups import context_fact, read_constraint
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.task import make_task
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.features.reference.turns import History, Turn
from agent_env.records.schema import Sample
from agent_env.tasks.conditions import parse_condition, wording_of
from agent_env.tasks.faults import Faults
from tests.families.time_puzzles.sets import generate

FIND = PuzzleFaults(shipped_tables())


def puzzle(gold, *facts, **fields):
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


def rules(found):
    return {(m.misread.type if m.misread else "", m.rule) for m in found.missed}


def test_readings_blame_and_groups():
    given = (*MAYS.gold[1:], "2000-05-01")
    found = FIND(MAYS, given)
    assert [ref.type for ref in found.wrong[0].violates] == ["decade"]
    assert rules(found) == {("decade", "the wrong dates violate it")}
    missed_constraints = rules(FIND(MAYS, ("2000-06-01", "2001-06-01")))
    assert missed_constraints == {("", "each wrong date violates several constraints")}
    assert rules(FIND(MAYS, ("2000-06-01", "2001-05-01"))) == {
        ("decade", "the wrong dates violate it")
    }
    # 1980s from 1981: with 1990 ruled out by another fact, 1980 alone is lost.
    found = FIND(
        puzzle("1980-02-29 1984-02-29 1988-02-29", Decade(decade=1980), Month(month=2),
               DayOfMonthSpecific(day=29)),
        ("1984-02-29", "1988-02-29"),
    )  # fmt: skip
    assert rules(found) == {("decade", "other reading: decade from 1")}
    both = MultiWeekday(value=("Monday", "Tuesday"))
    found = FIND(puzzle("2001-01-01 2001-01-02", both, Month(month=1)), ("2001-01-01",))
    assert rules(found) == {("multi weekday", "its value excludes the date")}
    found = FIND(puzzle("2001-01-01", OnWeekday(weekday="Monday")), ("2060-01-05",))
    assert [ref.index for ref in found.wrong[0].violates] == [-1]
    unknown = KbEvent(event="my own party", aspect="multi_year", level="year")
    found = FIND(puzzle("2001-01-01", unknown, Month(month=1)), ("2002-01-01",))
    assert found.wrong[0].violates == ()
    for made in generate(shipped_tables(), 40, 11):
        assert FIND(made, made.gold) == Faults()
        (wrong,) = FIND(made, (*made.gold, "1801-03-04")).wrong
        assert wrong.violates
    made = generate(shipped_tables(), 1, 3)[0]
    assert groups(made)["solutions"] == (str(made.solution_count),)
    assert "kb_event" in groups(made)["fact type"]
    assert cluster(made) == made.event
    assert groups(Sample(id="x", task="other", gold=())) == {}


@pytest.fixture(scope="module")
def puzzles():
    return FAMILY.make_samples(12, 1, PuzzleOptions()).samples


def puzzle_of_known_facts(*facts, texts):
    explicit = ("The year is 1900.",) * len(texts)
    return TimePuzzle(
        id="p", gold=(), constraints=texts, explicit_constraints=explicit,
        facts=facts, solution_count=0, fact_count=len(facts),
    )  # fmt: skip


def test_facts_are_the_wording_that_sentences_answer(puzzles):
    """The proofs come from the pages of the sealed web, by another road."""
    for each in puzzles:
        sentences = known_facts(each, shipped_tables())
        lookups = [f for f in each.facts if f.type in ("kb_event", "person_alive", "us_president")]
        assert len(sentences) >= len(each.proofs) == len(lookups)
        for proof, fact in zip(each.proofs, lookups, strict=True):
            is_years = fact.type == "kb_event" and fact.aspect == "multi_year"
            dates = (
                [day[:4] for day in (proof.dates[0], proof.dates[-1])] if is_years else proof.dates
            )
            assert any(all(day in text for day in dates) for text in sentences), (proof, sentences)
    task, each = make_task(), puzzles[3]
    (base,) = task.prompt(each, parse_condition("base"))
    (facts,) = task.prompt(each, parse_condition("facts"))
    listed = "\n".join(f"- {text}" for text in known_facts(each, shipped_tables()))
    assert facts.content.replace(f"\n\n{HEAD}\n{listed}", "") == base.content
    assert re.search(r"\d{4}", listed)
    task = make_task()
    for each in puzzles:
        text, calls = next_step(Turn(task.prompt(each, parse_condition("facts")), (), True))
        assert (calls, text) == ([], f"MY ANSWER: {', '.join(each.gold)}")
    text = "The date is in the same year as the first day of the fall of Nowhere."
    lookup, fact = read_constraint(text), f"Where it says “{text}”: "
    for year, clause in (("1900", ["years", [1900]]), ("unknown", None)):
        state = context_fact(lookup, History(f"{HEAD}\n- {fact}The year is {year}."))
        assert (state and state.clause) == clause
    assert wording_of("facts+python") == "facts"
    other = puzzles[0].model_copy(update={"explicit_gold": ("1900-01-01",)})
    assert other.worded("facts").gold == puzzles[0].gold
    assert other.worded("explicit").gold == ("1900-01-01",)
    with pytest.raises(ConfigError, match="facts and explicit exclude each other"):
        parse_condition("explicit+facts")


@pytest.mark.parametrize(
    ("fact", "text", "sentence"),
    [
        (
            ft.UsPresident(person="Barack Obama"),
            "Barack Obama was President of the United States.",
            "Barack Obama was President of the United States from 2009-01-20 to 2017-01-20.",
        ),
        (
            ft.KbEvent(event="the fall of Nowhere", aspect="start", level="year", value=1900),
            "The year is that of the first day of the fall of Nowhere.",
            "Where it says “The year is that of the first day of the fall of Nowhere.”: "
            "The year is 1900.",
        ),
    ],
)
def test_a_sentence_says_what_the_table_has_or_what_the_explicit_wording_says(fact, text, sentence):
    assert known_facts(puzzle_of_known_facts(fact, texts=(text,)), shipped_tables()) == (sentence,)
