"""TempReason's published format: questions, contexts, wrong answers, and what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_env.errors import DatasetError
from agent_env.families.tempreason.published import read_foreign
from agent_env.families.timed_facts.published import solver_agrees
from agent_env.families.timed_facts.sample import TimedQuestion, timed

ABRAHAMS = {
    "question": "Which team did Paul Abrahams play for in Jan, 2001?",
    "date": "Jan, 2001",
    "text_answers": {"text": ["Canvey Island F.C.", "Heybridge Swifts F.C."]},
    "id": "L2_Q7149150_P54_3",
    "fact_context": (
        "Paul Abrahams plays for Heybridge Swifts F.C. from Jan, 2001 to Jan, 2004.\n"
        "Paul Abrahams plays for Canvey Island F.C. from Jan, 2000 to Jan, 2001.\n"
        "Paul Abrahams plays for Nowhere from Jan, 2009 to Jan, 2001."
    ),
    "context": "A page of text.",
    "none_context": "",
    "neg_answers": ["Wivenhoe Town F.C.", "Canvey Island F.C."],
}


def read(tmp_path: Path, *items: object) -> list[TimedQuestion]:
    file = tmp_path / "test.json"
    file.write_text("\n".join(json.dumps(item) for item in items))
    made = read_foreign(file)
    assert made is not None
    return [timed(sample) for sample in made.samples]


def test_a_question_is_read_with_its_facts_and_what_tempts(tmp_path: Path) -> None:
    (asked,) = read(tmp_path, ABRAHAMS)
    assert asked.id == "tempreason-000001-L2_Q7149150_P54_3"
    assert (asked.cell, asked.kind, asked.topic) == ("L2-multi", "team", "Paul Abrahams")
    assert (asked.relation, asked.reference) == ("in", "2001-01")
    assert asked.gold == ("Canvey Island F.C.", "Heybridge Swifts F.C.")
    assert asked.negatives == ("Wivenhoe Town F.C.",)
    assert asked.context("reasonqa") == ABRAHAMS["fact_context"]
    assert asked.context("open-book") == "A page of text."
    assert solver_agrees(asked) is True


def test_a_fact_line_that_cannot_be_read_is_listed_with_its_reason(tmp_path: Path) -> None:
    (asked,) = read(tmp_path, ABRAHAMS)
    assert len(asked.facts) == 2
    assert asked.unread == (
        "3: 'Nowhere' ends 2001-01, before its start 2009-01: "
        "Paul Abrahams plays for Nowhere from Jan, 2009 to Jan, 2001.",
    )


def test_the_level_is_known_without_an_id(tmp_path: Path) -> None:
    sums = "What is the time 5 year and 4 month after Nov, 1992?"
    neighbour = "Who was the owner of Westfield Montgomery before Westfield Group?"
    plain = {**ABRAHAMS, "id": ""}
    found = read(
        tmp_path, plain, {**plain, "question": sums}, {**plain, "question": neighbour}
    )  # fmt: skip
    assert [asked.level for asked in found] == ["L2", "L1", "L3"]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({**ABRAHAMS, "question": ""}, "question is missing"),
        ({**ABRAHAMS, "text_answers": {"text": 3}}, "text_answers.text is not a list of texts"),
        ([1], "is not a JSON object"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, item: object, reason: str) -> None:
    with pytest.raises(DatasetError, match=f"test.json:2: {reason}"):
        read(tmp_path, ABRAHAMS, item)


def test_our_own_samples_are_not_taken_for_published_ones(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(read(tmp_path, ABRAHAMS)[0].model_dump_json() + "\n")
    assert read_foreign(file) is None
