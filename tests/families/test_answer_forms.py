"""Each family's answer form: strict schemas, and the gold answer by the road of a free one."""

import ast
import json

import pytest

from agent_env.families.qa.family import answer_form as qa_form
from agent_env.families.qa.sample import QaSample
from tests.ended import ended
from tests.fake_server.rules import schema_faults
from tests.questions import questions


def names(sample):
    return list(sample.gold)


def timed(sample):
    is_one = len(sample.gold) == 1 and not sample.cell.startswith(("easy", "hard"))
    return sample.gold[0] if is_one else list(sample.gold)


def traveler(sample):
    match sample.template:
        case "who":
            return list(sample.gold)
        case "how-often":
            return int(sample.gold[0])
    return sample.gold[0] if sample.gold else None


def time_answer(sample):
    if not sample.keys:
        return int(sample.label) if sample.kind == "number" else sample.label
    value = ast.literal_eval(sample.label)
    return value if len(value) > 1 else value[next(iter(sample.keys))]


def entries(sample):
    return [{"name": g.answer, "start": g.start, "end": g.end} for g in sample.golds]


@pytest.mark.parametrize(
    ("family", "options", "value"),
    [
        ("time-puzzles", {}, names),
        ("tempreason", {"levels": ["L1", "L2", "L3"]}, timed),
        ("timeqa", {}, timed),
        ("traveler", {"sizes": [5], "categories": ["explicit", "implicit"]}, traveler),
        ("temp-answers", {}, time_answer),
        ("tdbench", {"kinds": ["relation"]}, entries),
    ],
)
def test_the_gold_answer_in_its_form_scores_one(family, options, value):
    made, task = questions(family, 12, **options)
    for sample in made.samples:
        form = task.form(sample)
        assert list(schema_faults(form.schema, (), is_root=True)) == []
        assert form.note.startswith("\n\nGive the final answer, in place of any other form, as one")
        assert "anyOf" not in form.note
        text = form.read(json.dumps({"answer": value(sample)}))
        scored = task.score(sample, ended(text, sample.id, stop_reason="answered"))
        assert scored.metrics[task.right_metric] == 1, (sample.id, text)


@pytest.mark.parametrize(
    ("scorer", "value", "text"),
    [
        ("normalised", "Rome", "MY ANSWER: Rome"),
        ("number", 12.5, "MY ANSWER: 12.5"),
        ("date", "1999-03", "MY ANSWER: 1999-03"),
        ("dates", ["1999-03-01", "2001-01-01"], "MY ANSWER: 1999-03-01, 2001-01-01"),
        ("dates", [], "MY ANSWER: None"),
        ("set", ["a, b", "c"], "MY ANSWER: a, b; c"),
        ("choice", "B", "MY ANSWER: B"),
    ],
)
def test_a_users_questions_have_the_form_that_their_scorer_compares(scorer, value, text):
    question = QaSample(id="q", task="qa", gold=("B",), question="Which?", choices=("x", "y"))
    form = qa_form(question, scorer)
    assert list(schema_faults(form.schema, (), is_root=True)) == []
    assert form.read(json.dumps({"answer": value})) == text


def test_what_has_not_the_form_is_no_answer_and_it_may_stand_behind_thoughts():
    made, task = questions("time-puzzles")
    form = task.form(made.samples[0])
    for reply in ("", "Rome", '{"answer": ["1999-0', "[1]", '{"answer": 3}', "{}"):
        assert form.read(reply) is None
    in_a_step = '<think>\n{"answer": []}</think>{"step": {"answer": ["1999-03-01"]}}'
    assert form.read(in_a_step) == "MY ANSWER: 1999-03-01"
