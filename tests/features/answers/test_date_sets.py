"""Exact match, F1 and Jaccard with the paper's conventions for empty sets; sets matched in days."""

from datetime import date
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.features.answers.date_sets import Matching, exact_match, f1, jaccard, match_dates

DATES = st.sets(st.dates(date(2000, 1, 1), date(2000, 3, 1)).map(str), max_size=5)
SETS = st.frozensets(st.sampled_from("abcdef"))


@pytest.mark.parametrize(
    ("gold", "predicted", "values"),
    [
        ("", "", (1, 1, 1)),
        ("a", "", (0, 0, 0)),
        ("", "a", (0, 0, 0)),
        ("ab", "ab", (1, 1, 1)),
        ("ab", "ac", (0, 1 / 2, 1 / 3)),
        ("abc", "a", (0, 1 / 2, 1 / 3)),
        ("a", "abcd", (0, 2 / 5, 1 / 4)),
    ],
)
def test_the_metrics_have_these_values(gold, predicted, values):
    pair = set(gold), set(predicted)
    assert (exact_match(*pair), f1(*pair), jaccard(*pair)) == pytest.approx(values)


@given(SETS, SETS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(gold, predicted):
    if both := len(gold & predicted):
        precision, recall = both / len(predicted), both / len(gold)
        assert f1(gold, predicted) == pytest.approx(2 * precision * recall / (precision + recall))


@given(SETS, SETS)
def test_jaccard_never_exceeds_f1_and_all_are_1_only_together(gold, predicted):
    assert exact_match(gold, predicted) <= jaccard(gold, predicted) <= f1(gold, predicted) <= 1
    assert (f1(gold, predicted) == 1) == (gold == predicted)


def test_near_misses_and_dates_too_many_cost_days():
    gold, near, far = {"2001-03-01"}, {"2001-03-02"}, {"2031-03-01"}
    assert jaccard(gold, near) == jaccard(gold, far) == 0.0
    assert [match_dates(gold, other).mean_days for other in (near, far)] == [1.0, 10957.0]
    assert match_dates(gold, {"2001-03-01", "2001-03-11"}) == Matching(182.5, 1, 0, 1)
    assert match_dates([], []) == Matching(0.0, 0, 0, 0)
    assert match_dates([], ["2001-03-01"]).mean_days == 365.0


@given(DATES, DATES)
def test_no_matching_is_shorter(gold, other):
    few, many = sorted((gold, other), key=len)
    totals = [
        sum(abs((date.fromisoformat(a) - date.fromisoformat(b)).days)
            for a, b in zip(sorted(few), chosen, strict=True))
        for chosen in permutations(many, len(few))
    ]  # fmt: skip
    assert match_dates(gold, other).matched_days == min(totals)


@given(DATES, DATES)
def test_it_is_symmetric_and_0_only_for_equals(a, b):
    assert match_dates(a, b) == match_dates(b, a)
    assert (match_dates(a, b).mean_days == 0) == (a == b)
    assert match_dates(a, a).mean_days == pytest.approx(0)
