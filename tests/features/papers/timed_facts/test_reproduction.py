"""`agent-env study reproduce tempreason`: the paper's tables beside runs, files and responses."""

import json

import pytest

from agent_env.families.timed_facts.published import solver_agrees
from agent_env.families.timed_facts.sample import timed
from agent_env.features.papers.timed_facts import reproduction as printed
from tests.features.papers.reproducing import reproduce, values, write_lines

FACTS = (
    "Ada Lorn plays for Vell Rovers from Jan, 1990 to Jan, 1992. \n"
    "Ada Lorn plays for Ostrel F.C. from Jun, 1992 to Jan, 1998."
)
QUESTIONS = {
    "Which team did Ada Lorn play for in Mar, 1992?": [],
    "Which team did Ada Lorn play for in May, 1991?": ["Vell Rovers"],
    "Which team did Ada Lorn play for in Jul, 1992?": ["Ostrel F.C."],
}
"""By hand, in TimeBench's format."""
EXTRACTION = {
    "facts": [
        {"object": "Vell Rovers", "start": "1990-01", "end": "1992-01"},
        {"object": "Ostrel F.C.", "start": "1992-06", "end": "1998-01"},
    ],
    "relation": "in",
}


def test_tables_have_the_papers_methods_and_questions(tmp_path):
    found = values(reproduce(tmp_path, "tempreason --json --only table7 --limit 2"), "table7")
    assert found["Extraction + Code", "L2-multi SEM"] == (76.4, 100.0, 1)
    assert {row for row, _ in found} == {
        "Standard", "Extraction + Code", "Extraction + Code, not executed", "shortcut constant",
        "shortcut majority", "shortcut latest-row", "shortcut random-row", "shortcut ignore-time",
        "shortcut oracle",
    }  # fmt: skip
    assert found["Standard", "L2-single SEM"][0] == 72.6
    assert "text-davinci-003" in (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "printed").mkdir()
    done = reproduce(tmp_path / "printed", "tempreason --json --only table6")
    assert values(done, "table6") == {
        ("Standard", "right"): (100.0, 100.0, 1),
        ("CoT (C+Q+A+R)", "right"): (0.0, 100.0, 1),
        ("Extraction + Code", "right"): (100.0, 100.0, 1),
    }


@pytest.mark.parametrize("table", printed.PRINTED)
def test_the_solver_gives_the_papers_answer_to_its_printed_questions(table):
    (question,) = map(timed, printed.printed(table).samples)
    assert solver_agrees(question) is True
    assert len(question.facts) == len(question.gold) + len(question.negatives)


def test_responses_are_scored_beside_the_paper_and_extractions_are_solved(tmp_path):
    record = {"context": "", "fact_context": FACTS}
    asked = [{"question": text, "answer": gold, **record} for text, gold in QUESTIONS.items()]
    said = [
        ("l2-standard", 2, "Answer: Vell Rovers"),
        ("l2-standard", 3, "Answer: Vell Rovers"),
        ("l2-extract-run", 2, json.dumps({**EXTRACTION, "reference": "1991-05"})),
        ("l2-extract-run", 3, "I do not know."),
    ]
    responses = [
        {"setup": setup, "model": "m", "sample": f"tempreason-00000{number}", "response": text}
        for setup, number, text in said
    ]
    write_lines(tmp_path / "l2_timebench.jsonl", *asked)
    write_lines(tmp_path / "responses.jsonl", *responses)
    given = "--responses responses.jsonl --dataset l2=l2_timebench.jsonl"
    found = values(reproduce(tmp_path, f"tempreason --json {given} --only table7"), "table7")
    assert found["Standard", "L2-single SEM"] == (72.6, 50.0, 2)
    assert found["Extraction + Code", "L2-single SEM"] == (93.8, 50.0, 2)
    assert found["shortcut latest-row", "L2-single SEM"] == (None, 50.0, 2)
    assert ("Standard", "L2-multi SEM") not in found


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "responses.jsonl:1: is not JSON"),
        ('{"setup": "l2-standard", "model": "m", "response": "x"}',
         "responses.jsonl:1: sample is missing or no text"),
        ('{"setup": "l9", "model": "m", "sample": "s", "response": null}',
         "responses.jsonl:1: setup 'l9' is unknown; known: l2-standard, "),
        ("", "responses.jsonl: holds no response"),
    ],
)  # fmt: skip
def test_a_broken_response_file_is_named(tmp_path, line, reason):
    (tmp_path / "responses.jsonl").write_text(line)
    done = reproduce(tmp_path, "tempreason --json --responses responses.jsonl")
    assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
