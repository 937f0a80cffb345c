"""Which constraint a missing date points to, rule by rule.

The condition `facts`: the dates of every look-up, beside the puzzle_of_known_facts as it is.
"""

import re

import pytest

from agent_env.errors import ConfigError
from agent_env.families.time_puzzles import facts as ft
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
from tests.questions import questions

TABLES = shipped_tables()
FIND = PuzzleFaults(TABLES)


def puzzle(gold, *facts, texts=None):
    texts = texts or tuple(fact.type for fact in facts)
    return TimePuzzle.model_validate({
        "id": "p", "gold": gold.split(), "constraints": texts, "explicit_constraints": texts,
        "facts": facts, "solution_count": len(gold.split()), "fact_count": len(facts),
    })  # fmt: skip


MAYS = puzzle(" ".join(f"{year}-05-01" for year in range(1990, 2000)), ft.Decade(decade=1990),
              ft.Month(month=5), ft.DayOfMonthSpecific(day=1))  # fmt: skip


def rules(found):
    return {(m.misread.type if m.misread else "", m.rule) for m in found.missed}


def test_readings_blame_and_groups():
    found = FIND(MAYS, (*MAYS.gold[1:], "2000-05-01"))
    assert [ref.type for ref in found.wrong[0].violates] == ["decade"]
    violated = {("decade", "the wrong dates violate it")}
    assert rules(found) == rules(FIND(MAYS, ("2000-06-01", "2001-05-01"))) == violated
    several = {("", "each wrong date violates several constraints")}
    assert rules(FIND(MAYS, ("2000-06-01", "2001-06-01"))) == several
    # 1980s from 1981: with 1990 ruled out by another fact, 1980 alone is lost.
    found = FIND(
        puzzle("1980-02-29 1984-02-29 1988-02-29", ft.Decade(decade=1980), ft.Month(month=2),
               ft.DayOfMonthSpecific(day=29)),
        ("1984-02-29", "1988-02-29"),
    )  # fmt: skip
    assert rules(found) == {("decade", "other reading: decade from 1")}
    both = ft.MultiWeekday(value=("Monday", "Tuesday"))
    found = FIND(puzzle("2001-01-01 2001-01-02", both, ft.Month(month=1)), ("2001-01-01",))
    assert rules(found) == {("multi weekday", "its value excludes the date")}
    found = FIND(puzzle("2001-01-01", ft.OnWeekday(weekday="Monday")), ("2060-01-05",))
    assert [ref.index for ref in found.wrong[0].violates] == [-1]
    unknown = ft.KbEvent(event="my own party", aspect="multi_year", level="year")
    found = FIND(puzzle("2001-01-01", unknown, ft.Month(month=1)), ("2002-01-01",))
    assert found.wrong[0].violates == ()
    for made in generate(TABLES, 40, 11):
        assert FIND(made, made.gold) == Faults()
        (wrong,) = FIND(made, (*made.gold, "1801-03-04")).wrong
        assert wrong.violates
    made = generate(TABLES, 1, 3)[0]
    assert groups(made)["solutions"] == (str(made.solution_count),)
    assert "kb_event" in groups(made)["fact type"]
    assert cluster(made) == made.event
    assert groups(Sample(id="x", task="other", gold=())) == {}


def test_facts_are_the_wording_that_sentences_answer():
    """The proofs come from the pages of the sealed web, by another road."""
    puzzles = questions("time-puzzles", 12)[0].samples
    for each in puzzles:
        sentences = known_facts(each, TABLES)
        lookups = [f for f in each.facts if f.type in ("kb_event", "person_alive", "us_president")]
        assert len(sentences) >= len(each.proofs) == len(lookups)
        for proof, fact in zip(each.proofs, lookups, strict=True):
            is_years = fact.type == "kb_event" and fact.aspect == "multi_year"
            ends = [day[:4] for day in (proof.dates[0], proof.dates[-1])]
            dates = ends if is_years else proof.dates
            assert any(all(day in text for day in dates) for text in sentences), (proof, sentences)
    task, each = make_task(), puzzles[3]
    (base,) = task.prompt(each, parse_condition("base"))
    (facts,) = task.prompt(each, parse_condition("facts"))
    listed = "\n".join(f"- {text}" for text in known_facts(each, TABLES))
    assert facts.content.replace(f"\n\n{ft.HEAD}\n{listed}", "") == base.content
    assert re.search(r"\d{4}", listed)
    for each in puzzles:
        text, calls = next_step(Turn(task.prompt(each, parse_condition("facts")), (), True))
        assert (calls, text) == ([], f"MY ANSWER: {', '.join(each.gold)}")
    text = "The date is in the same year as the first day of the fall of Nowhere."
    lookup, fact = read_constraint(text), f"Where it says “{text}”: "
    for year, clause in (("1900", ["years", [1900]]), ("unknown", None)):
        state = context_fact(lookup, History(f"{ft.HEAD}\n- {fact}The year is {year}."))
        assert (state and state.clause) == clause
    assert wording_of("facts+python") == "facts"
    other = puzzles[0].model_copy(update={"explicit_gold": ("1900-01-01",)})
    assert other.worded("facts").gold == puzzles[0].gold
    assert other.worded("explicit").gold == ("1900-01-01",)
    with pytest.raises(ConfigError, match="facts and explicit exclude each other"):
        parse_condition("explicit+facts")


def test_a_sentence_says_what_the_table_has_or_what_the_explicit_wording_says():
    obama = puzzle("", ft.UsPresident(person="Barack Obama"), texts=("Obama was President.",))
    assert known_facts(obama, TABLES) == (
        "Barack Obama was President of the United States from 2009-01-20 to 2017-01-20.",
    )
    fall = ft.KbEvent(event="the fall of Nowhere", aspect="start", level="year", value=1900)
    text = "The year is that of the first day of the fall of Nowhere."
    unknown = puzzle("", fall, texts=(text,)).model_copy(
        update={"explicit_constraints": ("The year is 1900.",)}
    )
    assert known_facts(unknown, TABLES) == (f"Where it says “{text}”: The year is 1900.",)
