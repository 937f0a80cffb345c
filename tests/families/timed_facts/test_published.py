"""The published formats of TempReason and TimeQA: questions, contexts, wrong answers, and what
cannot be read."""

import gzip
import json

import pytest

from agent_env.errors import DatasetError
from agent_env.families.timed_facts.published import read_foreign, solver_agrees
from agent_env.families.timed_facts.sample import timed
from agent_env.features.extraction.solver import TIES

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


def read(tmp_path, *items):
    return read_text(tmp_path / "test.json", "\n".join(map(json.dumps, items)), "tempreason")


def read_text(file, text, family="timeqa"):
    file.write_text(text)
    return questions_of(family, file)


def questions_of(family, file):
    made = read_foreign(family, file)
    return [timed(sample) for sample in made.samples]


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
    found = read(
        tmp_path, plain, {**plain, "question": sums}, {**plain, "question": neighbour}
    )  # fmt: skip
    assert [asked.level for asked in found] == ["L2", "L1", "L3"]


LORN = (
    "Ada Lorn plays for Vell Rovers from Jan, 890 to Jan, 893. \n"
    "Ada Lorn plays for Ostrel F.C. from Mar, 893 to Jan, 895. \n"
    "Ada Lorn plays for Marn United from Mar, 893 to Jan, 899. \n"
    "Ada Lorn plays for Quay Town from Feb, 900 to Dec, 905."
)


def timebench(question, *answer, **more):
    """A record of TimeBench, which has no id."""
    return {"question": question, "answer": list(answer), "context": "", **more}


def test_timebench_records_have_short_years_and_may_be_unanswerable(tmp_path):
    shift, month, value, leading = read(
        tmp_path,
        timebench("What is the time 4 year and 12 month before Aug, 1003", "Aug, 998"),
        timebench("Which team did Ada Lorn play for in Jan, 892?", "Vell Rovers",
                  fact_context=LORN),
        timebench("Which team did Ada Lorn play for before Ostrel F.C.?", "Vell Rovers",
                  fact_context=LORN),
        timebench("After Jan 899, which team did Ada Lorn play for?", "Quay Town",
                  fact_context=LORN),
    )  # fmt: skip
    assert shift.id == "tempreason-000001"
    assert [q.cell for q in (shift, month, value)] == ["L1-single", "L2-single", "L3-single"]
    assert (value.relation, value.reference) == ("before", "Ostrel F.C.")
    assert (leading.relation, leading.reference) == ("after", "0899-01")
    assert [(f.start, f.end) for f in month.facts][:2] == [
        ("0890-01", "0893-01"), ("0893-03", "0895-01"),
    ]  # fmt: skip
    assert [solver_agrees(q) for q in (shift, month, value, leading)] == [True] * 4
    none = {**TIMEBENCH, "answer": ["unanswerable"]}
    easy = {**TIMEBENCH, "question_type": "in_explicit"}
    records = read_text(tmp_path / "t.jsonl", "\n".join(map(json.dumps, (TIMEBENCH, none, easy))))
    assert [question.cell for question in records] == ["hard-single", "hard-none", "easy-single"]
    assert records[0].id == "timeqa-000001-wiki-Karvel-P6-0"
    assert records[1].gold == ()
    assert records[0].context("open-book") == "Bo Lind led Karvel from May 890 to 895 ."


def test_a_tie_is_one_answer_by_the_tie_break_that_is_chosen(tmp_path):
    before, after = read(
        tmp_path,
        timebench("Which team did Ada Lorn play for before Quay Town?", "Marn United",
                  fact_context=LORN),
        timebench("After Vell Rovers, which team did Ada Lorn play for?", "Ostrel F.C.",
                  fact_context=LORN),
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


LINE = {
    "idx": "/wiki/Knox#P39#2",
    "question": "Which position did Knox hold from Mar 1935 to 1947?",
    "context": "Knox was a member.",
    "targets": ["member", "MP"],
    "paragraphs": [{"title": "Knox", "text": "Knox was a member."}],
}
ANNOTATED = {
    "index": "/wiki/GMMTV#P749", "type": "P749", "link": "/wiki/GMMTV",
    "questions": [
        ["GMMTV had what owning it from Aug 1995 to Aug 2002?",
         [{"para": 1, "from": 4, "end": 14, "answer": "GMM Grammy"}]],
        ["GMMTV had what owning it in 1890?", [{"answer": ""}]],
    ],
    "paras": ["GMMTV", "The GMM Grammy company."],
}  # fmt: skip


def test_lines_arrays_and_paragraphs_are_read(tmp_path):
    lines = [json.dumps(LINE), json.dumps({**LINE, "targets": [""]})]
    first, second = read_text(tmp_path / "test.hard.json", "\n".join(lines))
    assert (first.gold, first.cell) == (("member", "MP"), "hard-multi")
    assert (second.gold, second.cell) == ((), "hard-none")
    assert first.id == "timeqa-000001-wiki-Knox-P39-2"
    assert first.context("open-book") == "Knox was a member."
    (asked,) = read_text(tmp_path / "test.json", json.dumps({**LINE, "context": None}))
    assert (asked.text, asked.level) == ("Knox was a member.", "easy")
    first, second = read_text(tmp_path / "annotated.json", json.dumps([ANNOTATED]))
    assert (first.gold, first.cell) == (("GMM Grammy",), "easy-single")
    assert (second.gold, second.cell) == ((), "hard-none")
    assert first.text == "GMMTV\nThe GMM Grammy company."
    assert first.id != second.id


def test_what_breaks_off_or_is_no_pair_is_named(tmp_path):
    broken = {**ANNOTATED, "questions": ["why?"]}
    with pytest.raises(DatasetError, match=r"a\.json:2: a question is not a pair"):
        read_text(tmp_path / "a.json", json.dumps([ANNOTATED, broken]))
    file = tmp_path / "human_train.easy.json.gzip"
    file.write_bytes(gzip.compress(json.dumps(LINE).encode())[:-12])
    with pytest.raises(DatasetError, match=r"gzip: breaks off: the gzip file is not whole"):
        read_foreign("timeqa", file)
    with pytest.raises(DatasetError, match=r"a\.json: is not JSON"):
        read_text(tmp_path / "a.json", json.dumps([ANNOTATED])[:-9])
    broken = {**ANNOTATED, "questions": [["Who owned GMMTV in 1999?", ["GMM"]]]}
    with pytest.raises(DatasetError, match=r"a\.json:1: the answers to 'Who owned GMMTV "):
        read_text(tmp_path / "a.json", json.dumps([broken]))


TIMEBENCH = {
    "question": "After Jan 890, who was the head of Karvel?",
    "context": "Bo Lind led Karvel from May 890 to 895 .",
    "answer": ["Bo Lind"],
    "question_type": "after_implicit",
    "idx": "/wiki/Karvel#P6#0",
}


@pytest.mark.parametrize("name", ["human_train.easy.json.gzip", "human_train.hard.json.gz"])
def test_a_gzip_file_is_read_as_what_it_packs(tmp_path, name):
    file = tmp_path / name
    file.write_bytes(gzip.compress(json.dumps(LINE).encode()))
    (question,) = questions_of("timeqa", file)
    assert question.cell == f"{name.split('.')[1]}-multi"
    assert question.gold == ("member", "MP")
