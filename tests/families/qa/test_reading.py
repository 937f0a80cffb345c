"""Files of questions: every format, columns named by options, all defects at once."""

import json

import pyarrow
import pytest
from pyarrow import parquet

from agent_env.errors import ConfigError, DatasetErrors
from agent_env.families.qa.reading import read_questions
from agent_env.families.qa.sample import QaOptions

ROWS = [
    {"id": "leap", "question": "How many days has a leap year?", "answer": 366, "topic": "years"},
    {"id": "wall", "question": "When did the wall fall?", "answer": ["1989", "89"], "topic": "h"},
]
LINES = "\n".join(map(json.dumps, ROWS))


def read(file, **options):
    made = read_questions(file, QaOptions.model_validate(options))
    if defects := [each for own in made.defects.values() for each in own]:
        raise DatasetErrors(file, defects)
    return list(made.samples)


def written(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def test_json_lines_and_arrays_csv_and_parquet_give_the_same_questions(tmp_path):
    table = (
        "id,question,answer,topic\nleap,How many days has a leap year?,366,years\n"
        "wall,When did the wall fall?,1989|89,h"
    )
    expected = read(written(tmp_path, "q.jsonl", LINES))
    assert [(q.id, q.gold, q.columns) for q in expected] == [
        ("leap", ("366",), {"topic": "years"}),
        ("wall", ("1989", "89"), {"topic": "h"}),
    ]
    assert read(written(tmp_path, "q.json", json.dumps(ROWS))) == expected
    assert read(written(tmp_path, "q.csv", table)) == expected
    rows = [ROWS[0] | {"answer": ["366"]}, ROWS[1]]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "q.parquet")
    assert read(tmp_path / "q.parquet") == expected


def test_columns_are_named_by_options_and_rows_without_id_are_numbered(tmp_path):
    file = written(tmp_path, "q.tsv", "prompt\ttarget\nWhat is 1 + 1?\t2\n")
    (question,) = read(file, question="prompt", answer="target", scorer="number")
    assert (question.id, question.question, question.gold) == ("qa-00001", "What is 1 + 1?", ("2",))


@pytest.mark.parametrize(
    ("head", "taken"),
    [
        ("question,answer", []),
        ("prompt,label", ["'prompt' is taken as the question", "'label' is taken as the answer"]),
        ("Query,Gold", ["'Query' is taken as the question", "'Gold' is taken as the answer"]),
        ("question,target", ["'target' is taken as the answer"]),
    ],
)
def test_usual_names_of_columns_are_recognised_and_told(tmp_path, head, taken):
    made = read_questions(written(tmp_path, "q.csv", f"{head}\nWhen?,in 1815\n"), QaOptions())
    assert (made.samples[0].question, made.samples[0].gold) == ("When?", ("in 1815",))
    assert list(made.notes) == [f"q.csv: the column {each}" for each in taken]


@pytest.mark.parametrize(
    ("answers", "note"),
    [
        ([366, "1,000"], "numbers: --option scorer=number compares them as numbers"),
        (["1989-11-09", "May 1990"], "dates: --option scorer=date compares them as dates"),
        (["B", "Rome"], "choices: --option scorer=choice takes a letter or its text"),
        ([366, "Ada"], None),
    ],
)
def test_a_note_names_the_scorer_that_fits_all_answers(tmp_path, answers, note):
    rows = ({"question": "?", "answer": each, "choices": ["Rome", "Oslo"]} for each in answers)
    file = written(tmp_path, "q.jsonl", "\n".join(map(json.dumps, rows)))
    expected = (f"q.jsonl: all answers are {note}",) if note else ()
    assert read_questions(file, QaOptions()).notes == expected
    assert read_questions(file, QaOptions(scorer="normalised")).notes == ()


def test_all_defects_are_told_by_line_and_field(tmp_path):
    file = written(tmp_path, "q.csv", "id,question,answer\na,One?,two\na,,3\nb c,Why?,\n")
    with pytest.raises(DatasetErrors) as caught:
        read(file, scorer="number")
    assert caught.value.lines == (
        f"{file}:2: field 'answer': 'two' is not a number",
        f"{file}:3: field 'id': 'a' is also on line 2",
        f"{file}:3: field 'question' is empty",
        f"{file}:4: field 'id': 'b c' is not an id; use letters, digits, . _ -",
    )


def test_problems_belong_to_their_questions_and_dates_are_asked_for(tmp_path):
    file = written(tmp_path, "q.jsonl", LINES)
    made = read_questions(file, QaOptions(scorer="number"))
    assert [sample.id for sample in made.samples] == ["leap", "wall"]
    assert made.defects == {}
    made = read_questions(file, QaOptions(scorer="dates"))
    assert made.defects["leap"] == ((1, "field 'answer': '366' is not a day; write YYYY-MM-DD"),)
    text = "question;answer\nWhen?;4 February 1953|05/02/1953\nAnd then?;{}\n"
    file = written(tmp_path, "q.csv", text.format("31/12/1953"))
    golds = [q.gold for q in read(file, scorer="dates")]
    assert golds == [("1953-02-04", "1953-02-05"), ("1953-12-31",)]
    file = written(tmp_path, "q.csv", text.format("1953-12-31"))
    with pytest.raises(ConfigError, match="whether '05/02/1953' has the day or the month first"):
        read(file, scorer="dates")
    golds = [q.gold for q in read(file, scorer="dates", date_format="month-first")]
    assert golds[0] == ("1953-02-04", "1953-05-02")
