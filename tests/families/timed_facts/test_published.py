"""The published formats of TempReason and TimeQA: questions, contexts, wrong answers, and what
cannot be read."""

import gzip
import json
from pathlib import Path

import pytest

from agent_env.errors import DatasetError
from agent_env.families.timed_facts.published import read_foreign, solver_agrees
from agent_env.families.timed_facts.sample import timed
from agent_env.features.extraction.solver import TIES

RECORDS = json.loads((Path(__file__).parent / "data" / "published.json").read_text("utf-8"))
ABRAHAMS, TIMEBENCH, LINE, ANNOTATED = RECORDS.values()


def lines(*items):
    return "\n".join(map(json.dumps, items))


def read(tmp_path, *items):
    return read_file(tmp_path / "test.json", lines(*items), "tempreason")


def read_file(file, text, family="timeqa"):
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [timed(sample) for sample in read_foreign(family, file).samples]


def test_questions_facts_and_levels_are_read(tmp_path):
    (asked,) = read(tmp_path, ABRAHAMS)
    assert asked.id == "tempreason-000001-L2_Q7149150_P54_3"
    assert (asked.cell, asked.kind, asked.topic) == ("L2-multi", "team", "Paul Abrahams")
    assert (asked.relation, asked.reference) == ("in", "2001-01")
    assert asked.gold == ("Canvey Island F.C.", "Heybridge Swifts F.C.")
    assert asked.negatives == ("Wivenhoe Town F.C.",)
    assert asked.context("reasonqa") == ABRAHAMS["fact_context"]
    assert asked.context("open-book") == "A page of text."
    assert solver_agrees(asked) is True
    assert len(asked.facts) == 2
    assert asked.unread == (
        "3: 'Nowhere' ends 2001-01, before its start 2009-01: "
        "Paul Abrahams plays for Nowhere from Jan, 2009 to Jan, 2001.",
    )
    sums = "What is the time 5 year and 4 month after Nov, 1992?"
    neighbour = "Who was the owner of Westfield Montgomery before Westfield Group?"
    plain = {**ABRAHAMS, "id": ""}
    found = read(tmp_path, plain, plain | {"question": sums}, plain | {"question": neighbour})
    assert [asked.level for asked in found] == ["L2", "L1", "L3"]


LORN = (
    "Ada Lorn plays for Vell Rovers from Jan, 890 to Jan, 893. \n"
    "Ada Lorn plays for Ostrel F.C. from Mar, 893 to Jan, 895. \n"
    "Ada Lorn plays for Marn United from Mar, 893 to Jan, 899. \n"
    "Ada Lorn plays for Quay Town from Feb, 900 to Dec, 905."
)


def timebench(question, answer, context=LORN):
    """A record of TimeBench, which has no id."""
    return {"question": question, "answer": [answer], "context": "", "fact_context": context}


def test_timebench_records_have_short_years_and_may_be_unanswerable(tmp_path):
    shift, month, value, leading = read(
        tmp_path,
        timebench("What is the time 4 year and 12 month before Aug, 1003", "Aug, 998", ""),
        timebench("Which team did Ada Lorn play for in Jan, 892?", "Vell Rovers"),
        timebench("Which team did Ada Lorn play for before Ostrel F.C.?", "Vell Rovers"),
        timebench("After Jan 899, which team did Ada Lorn play for?", "Quay Town"),
    )  # fmt: skip
    assert shift.id == "tempreason-000001"
    assert [q.cell for q in (shift, month, value)] == ["L1-single", "L2-single", "L3-single"]
    assert (value.relation, value.reference) == ("before", "Ostrel F.C.")
    assert (leading.relation, leading.reference) == ("after", "0899-01")
    bounds = [(fact.start, fact.end) for fact in month.facts]
    assert bounds[:2] == [("0890-01", "0893-01"), ("0893-03", "0895-01")]
    assert [solver_agrees(q) for q in (shift, month, value, leading)] == [True] * 4
    none = {**TIMEBENCH, "answer": ["unanswerable"]}
    easy = {**TIMEBENCH, "question_type": "in_explicit"}
    records = read_file(tmp_path / "t.jsonl", lines(TIMEBENCH, none, easy))
    assert [question.cell for question in records] == ["hard-single", "hard-none", "easy-single"]
    assert (records[0].id, records[1].gold) == ("timeqa-000001-wiki-Karvel-P6-0", ())
    assert records[0].context("open-book") == "Bo Lind led Karvel from May 890 to 895 ."


def test_a_tie_is_one_answer_by_the_tie_break_that_is_chosen(tmp_path):
    before, after = read(
        tmp_path,
        timebench("Which team did Ada Lorn play for before Quay Town?", "Marn United"),
        timebench("After Vell Rovers, which team did Ada Lorn play for?", "Ostrel F.C."),
    )  # fmt: skip
    agree = {ties: (solver_agrees(before, ties), solver_agrees(after, ties)) for ties in TIES}
    assert agree == {
        "all": (False, False),
        "nearest": (True, True),
        "first-ending": (False, True),
        "last-ending": (True, False),
    }


def test_a_field_that_changes_its_name_is_named_with_its_record(tmp_path):
    renamed = {"question": "Which team did A play for?", "answers": ["B"], "context": "A."}
    with pytest.raises(DatasetError, match=r"test\.json:2: text_answers and answer are missing"):
        read(tmp_path, ABRAHAMS, renamed)


def test_lines_arrays_and_paragraphs_are_read(tmp_path):
    first, second = read_file(tmp_path / "test.hard.json", lines(LINE, {**LINE, "targets": [""]}))
    assert (first.gold, first.cell) == (("member", "MP"), "hard-multi")
    assert (second.gold, second.cell) == ((), "hard-none")
    assert first.id == "timeqa-000001-wiki-Knox-P39-2"
    assert first.context("open-book") == "Knox was a member."
    (asked,) = read_file(tmp_path / "test.json", json.dumps({**LINE, "context": None}))
    assert (asked.text, asked.level) == ("Knox was a member.", "easy")
    first, second = read_file(tmp_path / "annotated.json", json.dumps([ANNOTATED]))
    assert (first.gold, first.cell) == (("GMM Grammy",), "easy-single")
    assert (second.gold, second.cell) == ((), "hard-none")
    assert first.text == "GMMTV\nThe GMM Grammy company."
    assert first.id != second.id


def test_what_breaks_off_or_is_no_pair_is_named(tmp_path):
    no_pair = {**ANNOTATED, "questions": ["why?"]}
    no_answers = {**ANNOTATED, "questions": [["Who owned GMMTV in 1999?", ["GMM"]]]}
    whole = json.dumps([ANNOTATED])
    packed = gzip.compress(json.dumps(LINE).encode())
    for name, content, reason in (
        ("a.json", json.dumps([ANNOTATED, no_pair]), r"a\.json:2: a question is not a pair"),
        (
            "human_train.easy.json.gzip",
            packed[:-12],
            "gzip: breaks off: the gzip file is not whole",
        ),
        ("a.json", whole[:-9], r"a\.json: is not JSON"),
        ("a.json", json.dumps([no_answers]), r"a\.json:1: the answers to 'Who owned GMMTV "),
    ):
        with pytest.raises(DatasetError, match=reason):
            read_file(tmp_path / name, content)


@pytest.mark.parametrize("name", ["human_train.easy.json.gzip", "human_train.hard.json.gz"])
def test_a_gzip_file_is_read_as_what_it_packs(tmp_path, name):
    (question,) = read_file(tmp_path / name, gzip.compress(json.dumps(LINE).encode()))
    assert question.cell == f"{name.split('.')[1]}-multi"
    assert question.gold == ("member", "MP")
