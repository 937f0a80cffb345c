"""The condition `facts`: the dates of every look-up, beside the puzzle as it is."""

from __future__ import annotations

import re

import pytest

from agent_env.errors import ConfigError
from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.family import FAMILY
from agent_env.families.time_puzzles.known_facts import HEAD, known_facts
from agent_env.families.time_puzzles.options import PuzzleOptions
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.task import make_task
from agent_env.tasks.conditions import parse_condition, wording_of
from agent_env.temporal.facts.tables import shipped_tables


@pytest.fixture(scope="module")
def puzzles():
    return FAMILY.make_samples(12, 1, PuzzleOptions()).samples


def puzzle(*facts, texts):
    explicit = ("The year is 1900.",) * len(texts)
    return TimePuzzle(
        id="p", gold=(), constraints=texts, explicit_constraints=explicit,
        facts=facts, solution_count=0, fact_count=len(facts),
    )  # fmt: skip


def test_each_proof_has_its_dates_in_a_sentence(puzzles):
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


def test_a_puzzle_without_look_ups_gets_no_sentence():
    weekday = puzzle(ft.OnWeekday(weekday="Monday"), texts=("The date is a Monday.",))
    assert known_facts(weekday, shipped_tables()) == ()


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
    assert known_facts(puzzle(fact, texts=(text,)), shipped_tables()) == (sentence,)


def test_the_prompt_has_the_implicit_puzzle_then_the_sentences(puzzles):
    task, each = make_task(), puzzles[3]
    (base,) = task.prompt(each, parse_condition("base"))
    (facts,) = task.prompt(each, parse_condition("facts"))
    listed = "\n".join(f"- {text}" for text in known_facts(each, shipped_tables()))
    assert facts.content.replace(f"\n\n{HEAD}\n{listed}", "") == base.content
    assert re.search(r"\d{4}", listed)


def test_facts_is_a_wording_with_the_implicit_gold(puzzles):
    assert wording_of("facts+ci") == "facts"
    other = puzzles[0].model_copy(update={"explicit_gold": ("1900-01-01",)})
    assert other.worded("facts").gold == puzzles[0].gold
    assert other.worded("explicit").gold == ("1900-01-01",)
    with pytest.raises(ConfigError, match="facts and explicit exclude each other"):
        parse_condition("explicit+facts")
