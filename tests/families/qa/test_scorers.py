"""Each scorer: the right answer scores 1, a near miss less, what cannot be parsed is said."""

import pytest

from agent_env.families.qa import scorers
from agent_env.families.qa.family import FAMILY, prompt_fields, score_answer
from agent_env.families.qa.sample import NAME, QaOptions, QaSample
from agent_env.records.schema import Verdict
from tests.ended import ended


def score(options, gold, reply, **more):
    chosen = FAMILY.read_options(options)
    question = QaSample.model_validate(
        {"id": "q", "task": NAME, "question": "Which?", "gold": gold} | more
    )
    return score_answer(question, episode(reply), chosen)


def episode(reply, judged=()):
    return ended(reply, "q", judged=judged)


@pytest.mark.parametrize(
    ("options", "gold", "reply", "metrics"),
    [
        (["scorer=exact"], ["Oslo"], "So:\nMY ANSWER: Oslo", {"exact_match": 1.0}),
        (["scorer=exact"], ["Oslo"], "MY ANSWER: oslo", {"exact_match": 0.0}),
        ([], ["The Beatles", "Fab Four"], "MY ANSWER: fab  four.",
         {"exact_match": 1.0, "token_f1": 1.0}),
        ([], ["New York City"], "MY ANSWER: New York",
         {"exact_match": 0.0, "token_f1": pytest.approx(0.8)}),
        (["scorer=number"], ["1250.5"], "MY ANSWER: about 1,250.50 km",
         {"exact_match": 1.0, "absolute_error": 0.0}),
        (["scorer=number"], ["-3"], "MY ANSWER: −4 °C",
         {"exact_match": 0.0, "absolute_error": 1.0}),
        (["scorer=number", "tolerance=1"], ["-3"], "MY ANSWER: -4",
         {"exact_match": 1.0, "absolute_error": 1.0}),
        (["scorer=number", "relative_tolerance=0.01"], ["200", "500"], "MY ANSWER: 504",
         {"exact_match": 1.0, "absolute_error": 4.0}),
        (["scorer=date"], ["1989-11"], "MY ANSWER: 9 November 1989", {"exact_match": 1.0}),
        (["scorer=date"], ["1989-11-09"], "MY ANSWER: November 1989", {"exact_match": 0.0}),
        (["scorer=dates"], ["2020-01-01", "2020-01-02"], "MY ANSWER: 2020-01-02, 2020-01-01",
         {"exact_match": 1.0, "f1": 1.0}),
        (["scorer=dates"], ["2020-01-01", "2020-01-02"], "MY ANSWER: 2020-01-02",
         {"exact_match": 0.0, "f1": pytest.approx(2 / 3)}),
        (["scorer=set"], ["Ann", "Bob"], "MY ANSWER: bob; ann", {"exact_match": 1.0, "f1": 1.0}),
        (["scorer=set"], [], "MY ANSWER: None", {"exact_match": 1.0, "f1": 1.0}),
        (["scorer=set"], ["Ann"], "MY ANSWER: None", {"exact_match": 0.0, "f1": 0.0}),
        (["scorer=regex"], [r"\b19\d9\b"], "MY ANSWER: in 1989", {"exact_match": 1.0}),
        (["scorer=regex"], [r"^\d+$"], "MY ANSWER: in 1989", {"exact_match": 0.0}),
    ],
)  # fmt: skip
def test_answers_are_scored(options, gold, reply, metrics):
    result = score(options, gold, reply)
    assert (result.outcome, result.metrics) == ("read", metrics)


@pytest.mark.parametrize(
    ("reply", "right"),
    [("B", 1.0), ("(b)", 1.0), ("B) Oslo", 1.0), ("Oslo", 1.0), ("A. Rome", 0.0), ("Rome", 0.0)],
)
def test_a_choice_is_a_letter_or_its_text(reply, right):
    result = score(["scorer=choice"], ["B"], f"MY ANSWER: {reply}", choices=["Rome", "Oslo"])
    assert (result.outcome, result.metrics["exact_match"]) == ("read", right)


@pytest.mark.parametrize(
    ("options", "reply", "rule"),
    [
        (["scorer=number"], "MY ANSWER: 3 or 4", "2 different numbers, after MY ANSWER:"),
        (["scorer=number"], "MY ANSWER: many", "no number, after MY ANSWER:"),
        (["scorer=date"], "MY ANSWER: 1989 or 1990", "2 different dates, after MY ANSWER:"),
        (["scorer=choice"], "MY ANSWER: D", "no choice, after MY ANSWER:"),
        (["scorer=choice"], "MY ANSWER: A) Oslo",
         "letter and text of two choices, after MY ANSWER:"),
        ([], "thinking " * 400, "no line that begins with MY ANSWER:"),
    ],
)  # fmt: skip
def test_what_cannot_be_parsed_scores_0_and_says_why(options, reply, rule):
    gold = {"scorer=number": ["3"], "scorer=date": ["1989"], "scorer=choice": ["A"]}
    result = score(options, gold.get("".join(options), ["x"]), reply, choices=["Rome", "Oslo"])
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
