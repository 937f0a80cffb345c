"""Each scorer: the right answer scores 1, a near miss less, what cannot be parsed is said."""

import pytest

from agent_env.families.qa import scorers
from agent_env.families.qa.family import FAMILY, prompt_fields, score_answer
from agent_env.families.qa.sample import NAME, QaOptions, QaSample
from agent_env.records.schema import Verdict
from tests.ended import ended
from tests.tables import each, tables

CASES = tables(__file__)


def score(options, gold, reply, **more):
    chosen = FAMILY.read_options(options)
    question = QaSample.model_validate(
        {"id": "q", "task": NAME, "question": "Which?", "gold": gold} | more
    )
    return score_answer(question, episode(reply), chosen)


def episode(reply, judged=()):
    return ended(reply, "q", judged=judged)


@pytest.mark.parametrize(("options", "gold", "reply", "metrics"), CASES["scored"])
def test_answers_are_scored(options, gold, reply, metrics):
    result = score(options.split(), gold, reply)
    exact = {name: n if n.is_integer() else pytest.approx(n) for name, n in metrics.items()}
    assert (result.outcome, result.metrics) == ("read", exact)


@pytest.mark.parametrize(("gold", "same", "other"), CASES["normalised"])
def test_punctuation_that_carries_meaning_is_compared(gold, same, other):
    scores = {
        text: score([], [gold], f"MY ANSWER: {text}").metrics["exact_match"]
        for text in (gold, *same.split("|"), *other.split("|"))
    }
    assert [text for text, match in scores.items() if match] == [gold, *same.split("|")]


@pytest.mark.parametrize(
    ("reply", "right"), each({1: CASES["sets"]["right"], 0: CASES["sets"]["other"]})
)
def test_a_set_is_read_whole_however_it_is_listed(reply, right):
    assert score(["scorer=set"], ["Alice", "Bob"], reply).metrics["exact_match"] == right
    assert score([], ["Bob"], reply).metrics["exact_match"] == (reply == "MY ANSWER:\n- Bob")


@pytest.mark.parametrize(("reply", "right"), CASES["choices"])
def test_a_choice_is_a_letter_or_its_text(reply, right):
    result = score(["scorer=choice"], ["B"], f"MY ANSWER: {reply}", choices=["Rome", "Oslo"])
    assert (result.outcome, result.metrics["exact_match"]) == ("read", right)


@pytest.mark.parametrize("reply", CASES["unchosen"])
def test_what_names_no_single_choice_is_unreadable(reply):
    result = score(["scorer=choice"], ["B"], f"MY ANSWER: {reply}", choices=["Rome", "Oslo"])
    assert (result.outcome, result.metrics) == ("unreadable", {"exact_match": 0.0})


@pytest.mark.parametrize(
    ("options", "reply", "rule"),
    [*CASES["unreadable"], ("", "thinking " * 400, "no line that begins with MY ANSWER:")],
)
def test_what_cannot_be_parsed_scores_0_and_says_why(options, reply, rule):
    gold = {"scorer=number": ["3"], "scorer=date": ["1989"], "scorer=choice": ["A"]}
    result = score(options.split(), gold.get(options, ["x"]), reply, choices=["Rome", "Oslo"])
    assert (result.outcome, result.rule) == ("unreadable", rule)
    assert result.metrics["exact_match"] == 0.0


def test_judged_answers_patterns_and_prompts(monkeypatch):
    question = QaSample(id="q", task=NAME, question="Which?", gold=("Oslo",))
    options = QaOptions(scorer="judge")
    assert score_answer(question, episode("Oslo"), options).outcome == "scorer_failed"
    verdicts = tuple(
        Verdict(judge="j", metric="judged_right", says=says) for says in ("right", "unparsable")
    )
    result = score_answer(question, episode("Oslo", verdicts), options)
    assert result.metrics == {"judged_right": 1.0}
    question = QaSample(
        id="q", task=NAME, question="Which?", gold=("B",), context="A text.",
        choices=("Rome", "Oslo"),
    )  # fmt: skip
    options = QaOptions(scorer="choice", form="Give the letter.")
    task = FAMILY.make_task("default", options, {})
    assert prompt_fields(question, options)["choices"] == "A) Rome\nB) Oslo"
    assert task.wording(prompt_fields(question, options)) == (
        "A text.\n\nWhich?\nA) Rome\nB) Oslo\n\nGive the letter."
    )
    monkeypatch.setattr(scorers, "PATTERN_TIMEOUT_S", 0.02)
    task = FAMILY.make_task("default", QaOptions(scorer="regex"), {})
    question = QaSample(id="q", task=NAME, question="Which?", gold=("(a|aa)+$",))
    result = task.score(question, episode(f"MY ANSWER: {'a' * 60}b"))
    assert result.outcome == "scorer_failed"
    assert "TimeoutError" in (result.rule or "")
