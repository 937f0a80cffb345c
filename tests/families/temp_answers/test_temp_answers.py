"""The family: made from a seed, solved a second time, scored as numbers."""

import ast
import json

import pytest

from agent_env.families.temp_answers import reference_sums
from agent_env.families.temp_answers.family import keeps_format, score
from agent_env.families.temp_answers.reference import next_step
from agent_env.families.temp_answers.sample import TimeQuestion
from agent_env.families.temp_answers.tables import do, doing
from agent_env.features.reference.turns import Turn
from agent_env.records.schema import Condition
from agent_env.tasks.conditions import parse_condition
from tests.ended import ended
from tests.questions import questions
from tests.tables import tables

BASE = Condition(name="base")
TABLES = tables(__file__)
CASES = TABLES["cases"]


def made(count=240, seed=5, **options):
    return questions("temp-answers", count, seed, **options)


def episode(question, answer):
    return ended(answer, question.id, stop_reason="answered")


def written(question):
    """The right answer in the form that is asked for."""
    if not question.keys:
        return f"Step by step.\nFinal Answer: {question.gold[0]}"
    return json.dumps({"explanation": "so"} | ast.literal_eval(question.label))


def solved(found, task):
    """The second solver's answer to each question, with its metrics."""
    for question in found.samples:
        (text, _) = next_step(Turn(task.prompt(question, BASE), (), True))
        yield question, text, score(question, episode(question, text)).metrics


def test_kinds_seeds_and_answers():
    assert made(60)[0] == made(60)[0]
    assert made(60)[0].samples != made(60, seed=6)[0].samples
    found = made()[0].samples
    assert len(found) == len({(q.question, q.materials) for q in found}) == 240
    assert {q.split for q in found} == {"table", "arithmetic", "semantic"}
    assert {q.question_type for q in found} >= {
        "age", "year", "days", "months", "since", "add_subtract", "duration", "multi_op",
        "schedule", "timezone", "trick", "event_at_what_time", "relation_duration", "first_last",
        "before_after", "overlap", "date", "years",
    }  # fmt: skip
    for question in found:
        right = score(question, episode(question, written(question))).metrics
        assert (right["exact_match"], right["format_kept"]) == (1.0, 1.0)
        if question.kind == "number":
            near = str(question.amount + 1)
            text = f"Final Answer: {near}" if not question.keys else f'{{"answer": {near}}}'
            missed = score(question, episode(question, text)).metrics
            assert (missed["exact_match"], missed["off_by_one"], missed["within_1"]) == (0, 1, 1)
            assert 0 < missed["smape"] <= 100
    question = next(q for q in made(6)[0].samples if q.kind == "number")
    lost = score(question, episode(question, "I cannot determine it."))
    assert (lost.outcome, lost.metrics["exact_match"]) == ("unreadable", 0.0)
    assert lost.rule.startswith("refused")
    failed = episode(question, "").model_copy(update={"status": "failed"})
    assert score(question, failed).metrics == {}


@pytest.mark.parametrize("turns", ["chat", "one"])
@pytest.mark.parametrize("shots", [0, 2])
def test_a_second_solver_agrees_whatever_the_prompt(turns, shots):
    found, task = made(240 if not shots else 60, turns=turns, shots=shots)
    for question, _, metrics in solved(found, task):
        assert metrics["exact_match"] == 1.0, question.question


def test_easy_questions_prompts_and_begun_objects():
    found, task = made(60, level="easy", shots=2)
    sizes = {len(table.rows) for table in found.tables}
    assert sizes == {3, 4}  # facts of a graph; the person's name and the entries
    for question, _, metrics in solved(found, task):
        assert metrics["exact_match"] == 1.0, question.question
    found, task = made(60, shots=2)
    for question in found.samples:
        (*_, last) = task.prompt(question, BASE)
        assert (last.role, "Final Answer: " in last.content) == ("user", False)
        assert question.label not in last.content or question.split == "table"
    found, chat = made(9, shots=3)
    _, one = made(9, shots=3, turns="one")
    for question in found.samples:
        system, *roles, user = [message.role for message in chat.prompt(question, BASE)]
        assert (system, user) == ("system", "user")
        assert roles.count("assistant") in (1, 2, 3)
        assert [message.role for message in one.prompt(question, BASE)] == ["user"]
    by_keys = {bool(q.keys): q for q in made(6)[0].samples}
    line, whole = by_keys[False], by_keys[True]
    assert keeps_format(line, "So.\nFinal Answer: 5")
    assert not keeps_format(line, "So it is 5.")
    answer = ", ".join(f'"{key}": 1' for key in whole.keys)
    assert keeps_format(whole, f'JSON = {{"explanation": "so", {answer}}}')
    assert keeps_format(whole, f'```json\n{{"explanation": "so", {answer}}}\n```')
    assert not keeps_format(whole, f"{{'explanation': 'so', {answer}}}")
    assert not keeps_format(whole, '{"explanation": "so"}')
    found, task = made(12, prefill=True)
    for question in found.samples:
        begun = task.prompt(question, BASE)[-1].role == "assistant"
        assert begun == bool(question.keys)
        assert task.prompt(question, parse_condition("python"))[-1].role == "user"
    for question, text, metrics in solved(found, task):
        assert text.startswith(' "I') or not question.keys
        assert (metrics["exact_match"], metrics["format_kept"]) == (1.0, 1.0)


@pytest.mark.parametrize(("asked", "text", "answer"), CASES["shown"])
def test_an_answer_is_shown_as_the_gold_is_written_and_never_as_a_number_of_ours(
    asked, text, answer
):
    kind, unit, amount, gold, keys = TABLES["asked"][asked]
    question = TimeQuestion(
        id="t", task="temp-answers", gold=(gold,), split="table", question_type="", question="?",
        form="", kind=kind, unit=unit, amount=amount, label=gold, answer_format="", answer_unit="",
        keys=keys,
    )  # fmt: skip
    assert score(question, episode(question, text)).answer == (answer,)


@pytest.mark.parametrize(("entry", "infinitive", "gerund"), CASES["entries"])
def test_entries_are_asked_for_in_plain_sentences(entry, infinitive, gerund):
    assert (do(entry), doing(entry)) == (infinitive, gerund)


@pytest.mark.parametrize(("question", "answer"), CASES["solved"])
def test_the_second_solver_reads_them_as_a_plain_reader_does(question, answer):
    table = {"Born": "March 2, 1900", "Joined Ota Rovers": "March 1, 1920",
             "Left Ota Rovers": "March 2, 1921"}  # fmt: skip
    assert reference_sums.solve(question, table, [], "2026-01-01") == {"answer": answer}


def test_an_era_is_asked_for_where_one_can_be_meant_and_nobody_rules_over_themselves():
    found, _ = made(300, 1)
    eras = {"temple" in question.question for question in found.samples if "BC" in question.form}
    assert eras == {True}
    rows = [row for table in found.tables if table.name == "facts" for row in table.rows]
    assert {who != whom for who, _, whom, *_ in rows} == {True}
