"""Sentences made by rule: each with its interval and its n, none that the tests do not carry."""

import re
from dataclasses import replace
from functools import cache

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.statistics.conclusions import conclusions
from tests.analysis.simulated import Plant, study

EFFECTS = {"base": 0.0, "web": 0.2, "python": 0.0}


@cache
def planted():
    return study(Plant(samples=200, base=0.45), EFFECTS, ("lab/A", "lab/B"), seed=5)


def compared(made, *contrasts, **options):
    return Comparison(made, Options(contrasts=contrasts, **options))


def changed(comparison, **fields):
    """The sentences, were the figures of the first contrast these."""
    first, *rest = comparison.contrasts
    comparison.__dict__["contrasts"] = (replace(first, **fields), *rest)
    return conclusions(comparison)


def test_a_difference_is_claimed_where_it_is_shown():
    (sentence, _) = conclusions(compared(planted(), "web:base", planned=("web:base",)))
    assert re.fullmatch(
        r"lab/A web is better than lab/A base: exact match 1?\d\d of 200 against \d\d of 200, "
        r"\+0\.\d\d \[\+0\.\d\d, \+0\.\d\d\], n = 200\.",
        sentence,
    )
    (sentence, _) = conclusions(compared(planted(), "python:base"))
    assert "lab/A python cannot be told apart from lab/A base: exact match " in sentence
    assert "a difference below 0.13 can be missed" in sentence
    wide, narrow = (compared(planted(), "python:base", margin=margin) for margin in (0.25, 0.02))
    assert "; smaller than the margin 0.25" in conclusions(wide)[0]
    assert "margin" not in conclusions(narrow)[0]
    sentence = changed(compared(planted(), "web:base"), p_value=0.03, p_holm=0.09)[0]
    assert "lab/A web cannot be told apart from lab/A base: exact match " in sentence
    assert "p = 0.030, after Holm's correction 0.090" in sentence
    texts = ("web@A:base@B", "(web:base)@A:(web:base)@B")
    models, gains = conclusions(compared(planted(), *texts))
    assert "lab/A web is better than lab/B base: exact match " in models
    gain = "(lab/A web − lab/A base) − (lab/B web − lab/B base)"
    assert gains.startswith(f"Exploratory: {gain} is below 0: exact match -0.20 [")


def test_where_nothing_can_be_said_the_sentence_says_why():
    problems = {"web": "no call was parsed"}
    arms = (replace(a, problem=problems.get(a.condition.name)) for a in planted().arms)
    (sentence, _) = conclusions(compared(replace(planted(), arms=tuple(arms)), "web:base"))
    assert sentence == (
        "Exploratory: lab/A web − lab/A base: no conclusion, as lab/A web failed: "
        "no call was parsed."
    )
    comparison = compared(planted(), "web:base")
    first = comparison.contrasts[0]
    none = replace(first.difference, value=None, low=None, high=None)
    sentence, *_ = changed(comparison, difference=none)
    assert "no sample has a value of exact match in all its conditions" in sentence
    bare = replace(none, value=1.0, method="one sample")
    sentence, *_ = changed(comparison, difference=bare)
    assert "+1.00, n = 200; no interval: one sample" in sentence


@pytest.mark.parametrize("margin", [None, 0.05, 0.3])
def test_every_sentence_with_a_figure_has_an_interval_and_an_n(margin):
    for sentence in conclusions(compared(planted(), margin=margin)):
        assert re.search(r"\d \[[-+]?\d\.\d\d, [-+]?\d\.\d\d\].*n = 200\b", sentence)


@pytest.mark.parametrize(
    ("base", "level"), [(-9.0, "0 of 80 .* ask easier"), (9.0, "80 of 80 .* ask harder")]
)
def test_where_all_is_wrong_or_all_is_right_the_questions_are_said_to_show_nothing(base, level):
    made = study(Plant(samples=40, base=base), {"base": 0.0, "web": 0.0}, ("lab/A",), seed=5)
    first, second = conclusions(compared(made, "web:base"))
    assert re.match(level, first)
    assert "web cannot be told apart from base: exact match " in second
    assert "+0.00 [-0.09, +0.09]" in second
