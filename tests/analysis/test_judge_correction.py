"""A judge's shares corrected: figures of an independent program, and coverage counted exactly."""

from math import comb, factorial

import pytest

from agent_env.analysis.judge_correction import (
    JudgedAnswer,
    Share,
    corrected_shares,
    prediction_powered,
    rogan_gladen,
)


def binomial(n, p):
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def test_ppi_python_gives_the_same_figure():
    """ppi-python 0.2.3: ppi_mean_pointestimate of these 40 labelled and 200 other answers, which
    divides by n - 1 where we divide by n; its interval is [0.4393, 0.6876]."""
    estimate = prediction_powered((18, 3, 4, 15), Share(0.55, 200))
    assert estimate.value == pytest.approx(0.5634949, abs=1e-4)
    assert (estimate.low, estimate.high) == pytest.approx((0.4393, 0.6876), abs=0.01)


def test_a_judge_of_known_errors_gives_the_true_share_back():
    sure, p, se, sp = 1e9, 0.37, 0.9, 0.75
    seen = p * se + (1 - p) * (1 - sp)
    estimate = rogan_gladen(Share(seen, sure), Share(se, sure), Share(sp, sure))
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((p, p, p), abs=1e-3)


def test_a_share_beyond_the_ends_is_clipped_and_said():
    estimate = rogan_gladen(Share(0.1, 400), Share(0.9, 50), Share(0.8, 40))
    assert (estimate.value, estimate.low) == (0.0, 0.0)
    assert estimate.method == "Lang-Reiczigel, clipped from -0.143"


def test_a_judge_no_better_than_chance_gives_nothing():
    estimate = rogan_gladen(Share(0.6, 400), Share(0.5, 50), Share(0.5, 40))
    assert (estimate.value, estimate.low, estimate.high) == (None, None, None)
    assert estimate.method == "sensitivity + specificity is at most 1"


@pytest.mark.parametrize(("p", "se", "sp"), [(0.4, 0.9, 0.8), (0.1, 0.95, 0.9)])
def test_rogan_gladen_covers_counted_over_every_outcome(p, se, sp):
    n, m = 25, 12
    seen = binomial(n, p * se + (1 - p) * (1 - sp))
    right, passed = binomial(m, se), binomial(m, sp)
    covered = total = 0.0
    for i, a in enumerate(seen):
        for j, b in enumerate(right):
            for k, c in enumerate(passed):
                estimate = rogan_gladen(Share(i / n, n), Share(j / m, m), Share(k / m, m))
                if estimate.low is not None:
                    total += a * b * c
                    covered += a * b * c * (estimate.low <= p <= estimate.high)
    assert total > 0.99
    assert 0.94 < covered / total < 1


@pytest.mark.parametrize(("p", "se", "sp"), [(0.4, 0.9, 0.8), (0.8, 0.7, 0.9)])
def test_prediction_powered_covers_counted_over_every_outcome(p, se, sp):
    n, m = 12, 25
    chances = (p * se, (1 - p) * (1 - sp), p * (1 - se), (1 - p) * sp)
    called = binomial(m, chances[0] + chances[1])
    covered = 0.0
    for a in range(n + 1):
        for b in range(n + 1 - a):
            for c in range(n + 1 - a - b):
                cells = (a, b, c, n - a - b - c)
                weight = float(factorial(n))
                for count, chance in zip(cells, chances, strict=True):
                    weight *= chance**count / factorial(count)
                for k, other in enumerate(called):
                    estimate = prediction_powered(cells, Share(k / m, m))
                    covered += weight * other * (estimate.low <= p <= estimate.high)
    assert 0.93 < covered < 1


def answers(labelled):
    """Of 100 answers of two conditions, these many have a label; each tenth verdict is wrong."""
    every = []
    for i in range(100):
        is_true = i % 4 < 2
        says = is_true if i % 10 else not is_true
        label = is_true if i < labelled else None
        every.append(JudgedAnswer(("base", "web")[i % 2], f"q{i}", says, label))
    return every


def test_each_condition_has_a_row_and_more_labels_are_told():
    rows = corrected_shares("x", answers(60), 0.2, True)
    assert [(row.condition, row.judged, row.labelled) for row in rows] == [
        ("all", 100, 60), ("base", 50, 30), ("web", 50, 30)
    ]  # fmt: skip
    assert rows[0].raw.value == 0.5
    assert 0 < rows[0].further_labels < 40
    wide, narrow = (corrected_shares("x", answers(60), width, True)[0] for width in (0.5, 0.01))
    assert (wide.further_labels, narrow.further_labels) == (0, None)


def test_what_labels_do_not_allow_has_no_figure():
    unsure = corrected_shares("x", answers(60), 0.2, False)[0]
    assert (unsure.powered.value, unsure.powered.method) == (None, "no random sample")
    assert unsure.corrected.value is not None
    few = corrected_shares("x", answers(9), 0.2, True)[0]
    assert few.powered.method == "fewer than 10 labels"
    whole = corrected_shares("x", answers(100), 0.2, True)[0]
    assert whole.powered.method == "all have labels"
    one = corrected_shares("x", answers(2), 0.2, True)[0]
    assert one.corrected.method == "labels of one class only"


def test_repeats_of_a_question_are_no_further_answers():
    once = corrected_shares("x", answers(60), 0.2, True)[0]
    twice = corrected_shares("x", [a for a in answers(60) for _ in range(2)], 0.2, True)[0]
    width = once.raw.high - once.raw.low
    assert twice.raw.high - twice.raw.low == pytest.approx(width, rel=0.02)
    assert twice.powered.high - twice.powered.low == pytest.approx(
        once.powered.high - once.powered.low, rel=0.05
    )
