"""Response files in, and what questions declare."""

import json

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.features.papers.temp_answers.commands import ScoreOptions, score_answers
from agent_env.features.papers.temp_answers.declared import declared_line, declared_object
from agent_env.features.papers.temp_answers.reasoning import Steps, arithmetic_steps
from agent_env.features.papers.temp_answers.responses import NEEDED, read_mapping, read_responses
from tests.tables import tables

CASES = tables(__file__)
HEAD = "question,label,category,table_id,answer_format,answer_temporal_unit,split,table_context"
ROW = 'How old?,17,person,3,<num_years>,years,head,"Born\tMay 3, 1950"'


def written(folder, text, name="ttqa_head_Some-7B_few-shot_x.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder, rows):
    return read_responses(written(folder, f"{HEAD},response\n{rows}"))


def test_a_file_says_who_answered_and_what_lacks(tmp_path):
    found = read(tmp_path, f"{ROW},Final Answer: 17\n")
    (row,) = found.rows
    assert (found.dataset, found.model, found.prompting) == ("ttqa", "Some-7B", "few-shot")
    assert (found.splits, found.prefilled) == (("head",), False)
    assert (row.label, row.cluster, row.response) == ("17", "3", "Final Answer: 17")
    assert not row.years_only
    path = written(tmp_path, "question,label\nHow old?,17\n")
    with pytest.raises(DatasetError, match="no column answer_format, answer_temporal_unit, split"):
        read_responses(path)
    with pytest.raises(DatasetError, match="has no response"):
        read_responses(written(tmp_path, ""))
    assert read(tmp_path, f"{ROW},a\n{ROW},b\n").duplicates == (2,)
    (row,) = read(tmp_path, f"{ROW.replace('17', 'nan')},\n").rows
    assert (row.label, row.response) == (None, None)


def test_any_other_file_by_a_mapping(tmp_path):
    lines = [{"q": "How old?", "gold": 17, "out": "Final Answer: 17", "n": 5}]
    data = written(tmp_path, "\n".join(map(json.dumps, lines)), "mine.jsonl")
    mapping = {
        "question": "q", "label": "gold", "response": "out", "id": "n",
        "answer_format": {"value": "<num_years>"}, "answer_temporal_unit": {"value": "years"},
        "split": {"value": "test"}, "dataset": {"value": "ttqa"}, "model": {"value": "mine"},
    }  # fmt: skip
    file = written(tmp_path, json.dumps(mapping), "mapping.json")
    found = read_responses(data, read_mapping(file))
    assert (found.model, found.rows[0].key, found.rows[0].label) == ("mine", "5", "17")
    written(tmp_path, '{"questoin": "q"}', "mapping.json")
    with pytest.raises(ConfigError, match="unknown field 'questoin'"):
        read_mapping(file)
    with pytest.raises(DatasetError, match=r"no column .*nope \(for question\)"):
        read_responses(data, mapping | {"question": "nope"})


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (f"{ROW},a\n" + ROW[:20], "row 2 has no field 'answer_format'; the file seems to be cut"),
        (f'{ROW},a\n{ROW},"Final Ans', "a quote is not closed at the end of the file"),
        (f"{ROW},a\n{ROW},a,b\n", "row 2 has 10 fields, the header 9"),
    ],
)
def test_half_a_file_and_shifted_fields_are_named(tmp_path, rows, why):
    with pytest.raises(DatasetError, match=why):
        read(tmp_path, rows)


def test_what_cannot_be_judged_is_named(tmp_path):
    records = [dict.fromkeys(NEEDED, "1"), {name: "1" for name in NEEDED if name != "label"}]
    path = written(tmp_path, "\n".join(map(json.dumps, records)), "mine.jsonl")
    with pytest.raises(DatasetError, match="record 2 has no field 'label'"):
        read_responses(path)
    lost = written(tmp_path, f"{HEAD},response\n{ROW.replace('17', 'x')},a\n")
    good = written(tmp_path, f"{HEAD},response\n{ROW},a\n", "ttqa_head_B_few-shot_x.csv")
    scored = score_answers(ScoreOptions((lost, good), intervals=False))
    assert [file.path for file in scored.unjudged] == [lost]
    with pytest.raises(DatasetError, match=r"mine\.jsonl:2: is not JSON"):
        read_responses(written(tmp_path, '{"question": "a", "label": 1}\n{', "mine.jsonl"), {
            "answer_format": {"value": "yyyy"}, "answer_temporal_unit": {"value": "years"},
            "split": {"value": "s"}, "response": "question",
        })  # fmt: skip


@pytest.mark.parametrize(("form", "unit", "label", "kind", "gold"), CASES["lines"])
def test_declared_final_lines(form, unit, label, kind, gold):
    found = declared_line(form, unit, label)
    assert (found.spec.kind, found.gold, found.problem) == (kind, gold, None)


@pytest.mark.parametrize(("unit", "label", "kind", "gold"), CASES["objects"])
def test_declared_objects(unit, label, kind, gold):
    found = declared_object(unit, label, "X hours, Y minutes, and Z seconds", "multi_op")
    assert (found.spec.kind, found.gold) == (kind, gold)


@pytest.mark.parametrize(
    ("form", "unit", "label", "problem"),
    [
        ("<num_moons>", "moons", "3",
         "answer_format '<num_moons>' and answer_temporal_unit 'moons' are unknown"),
        ("yyyy", "date_years", None, "label is missing"),
        ("yyyy", "date_years", "long ago", "label 'long ago' is no year of years"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_says_why(form, unit, label, problem):
    assert declared_line(form, unit, label).problem == problem


def test_calculations_in_a_text():
    text = "2019 - 1984 = 35, then 3 + 4 * 2 = 11; 10 / 3 = 3.33. But 5 + 5 = 11. 12:30 - 1 = 2"
    assert arithmetic_steps(text) == Steps(right=3, wrong=1)
    shares = {"x = 3, on 2005-04-07": None, "1,000 + 95 = 1,095": 1.0, "5 / 0 = 1": None}
    assert {text: arithmetic_steps(text).share for text in shares} == shares
