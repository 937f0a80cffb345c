"""Exact match, F1 and Jaccard with the paper's conventions for empty sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.scoring.date_sets import exact_match, f1, jaccard

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
def test_the_metrics_have_these_values(
    gold: str, predicted: str, values: tuple[float, float, float]
) -> None:
    pair = set(gold), set(predicted)
    assert (exact_match(*pair), f1(*pair), jaccard(*pair)) == pytest.approx(values)


@given(SETS, SETS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(
    gold: frozenset[str], predicted: frozenset[str]
) -> None:
    if gold & predicted:
        precision = len(gold & predicted) / len(predicted)
        recall = len(gold & predicted) / len(gold)
        mean = 2 * precision * recall / (precision + recall)
        assert f1(gold, predicted) == pytest.approx(mean)


@given(SETS, SETS)
def test_jaccard_never_exceeds_f1_and_all_are_1_only_together(
    gold: frozenset[str], predicted: frozenset[str]
) -> None:
    assert exact_match(gold, predicted) <= jaccard(gold, predicted) <= f1(gold, predicted) <= 1
    assert (f1(gold, predicted) == 1) == (gold == predicted)
