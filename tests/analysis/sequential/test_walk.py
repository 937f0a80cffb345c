"""Samples are looked at in a fixed order, cluster by cluster, whatever order they end in.

The estimate after a test that stopped early.
"""

import random

import numpy as np
import pytest

from agent_env.analysis.contrasts import PlannedContrast
from agent_env.analysis.sequential.betting import Capital, Horizon, Look, plain
from agent_env.analysis.sequential.expected import ends
from agent_env.analysis.sequential.rule import SequentialTest, StoppingRule
from agent_env.analysis.sequential.walk import (
    Draw,
    Guess,
    Predictor,
    Walk,
    interleaved_order,
    look_order,
    mean_after_stopping,
    order_of,
    set_order,
)
from agent_env.errors import ConfigError
from agent_env.records.manifest import StoppingSettings
from agent_env.records.schema import Sample


def contrast(after, before):
    return PlannedContrast(f"{after} − {before}", after, before, ((after, 1.0), (before, -1.0)))


ORDER = look_order([f"q{n}" for n in range(40)], seed=1)


def scores(arm, row):
    return {"base": 0.0, "web": 1.0, "python": float(row % 2)}[arm]


def test_the_order_is_that_of_the_seed_and_keeps_clusters_whole():
    clusters = ["a", "a", "b", "c", "c", "c", "d"]
    order = look_order(clusters, seed=3)
    assert sorted(order.looks) == [(0, 1), (2,), (3, 4, 5), (6,)]
    assert order == look_order(clusters, seed=3)
    assert look_order([f"q{n}" for n in range(40)], seed=2) != ORDER


# One sample of each cluster first --------------------------------------------------------------

IDS = [f"q{n}" for n in range(7)]
SHARED = ["a", "a", "b", "c", "c", "c", "d"]


def test_one_sample_of_each_cluster_is_asked_first_then_the_rest_cluster_by_cluster():
    order = interleaved_order(IDS, SHARED, seed=3)
    assert order.first == 4
    assert {SHARED[row] for (row,) in order.looks[:4]} == set("abcd")
    assert sorted(order.looks[4:]) == [(0, 1), (2,), (3, 4, 5), (6,)]
    assert sorted(order.rows) == list(range(7))
    assert {SHARED[row] for row in order.rows[:4]} == set("abcd")


def test_at_most_so_many_samples_are_asked_and_none_of_them_is_left_unread():
    order = interleaved_order(IDS, SHARED, seed=3, most=5)
    assert len(order.rows) == 5
    assert sorted(row for rows in order.looks[4:] for row in rows) == sorted(order.rows)
    assert interleaved_order(IDS, SHARED, seed=3, most=2).first is None


def test_a_run_from_before_keeps_its_whole_clusters():
    samples = [Sample(id=name, task="t", gold=()) for name in IDS]
    stored = StoppingSettings.model_validate({"contrasts": ["web:base"], "seed": 3})
    assert order_of(samples, SHARED, stored) == look_order(SHARED, seed=3)
    now = stored.model_copy(update={"interleaved": True})
    assert order_of(samples, SHARED, now) == interleaved_order(IDS, SHARED, seed=3)


def test_whole_clusters_decide_what_single_samples_could_not():
    """Of three samples of each cluster two are gained and one is lost."""
    clusters = [f"e{n // 3}" for n in range(150)]
    names = [f"q{n}" for n in range(150)]
    walk = Walk((contrast("web", "base"),), interleaved_order(names, clusters, 2),
                StoppingRule())  # fmt: skip
    for row in range(150):
        walk.note("base", row, float(row % 3 == 0))
        walk.note("web", row, float(row % 3 > 0))
    walk.advance()
    (result,) = walk.results()
    assert (result.decision, result.looked, result.clusters) == ("difference", 98, 24)
    assert result.plain_mean == pytest.approx(1 / 3)
    assert result.estimate.low > 0


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_clusters_that_agree_within_themselves_raise_no_more_false_alarms(shared):
    """Nothing differs in the mean; `shared` of the samples do as their cluster does. A test that
    took three samples of one mind for three would cry out in a third of the runs."""
    rng = np.random.default_rng(4)
    clusters = [f"e{n // 3}" for n in range(180)]
    order = interleaved_order([f"q{n}" for n in range(180)], clusters, 1)
    own = rng.choice([-1.0, 0.0, 1.0], size=(1000, 180), p=[0.2, 0.6, 0.2])
    of_cluster = rng.choice([-1.0, 0.0, 1.0], size=(1000, 60), p=[0.2, 0.6, 0.2]).repeat(3, axis=1)
    values = np.where(rng.random((1000, 180)) < shared, of_cluster, own)
    alarms = sum(end <= 180 for end in ends(values, order, alpha=0.05))
    assert alarms <= 50


def test_the_simulation_of_a_run_and_the_test_itself_agree():
    rng = np.random.default_rng(5)
    clusters = [f"e{n // 3}" for n in range(90)]
    order = interleaved_order([f"q{n}" for n in range(90)], clusters, 1)
    values = rng.choice([-1.0, 0.0, 1.0], size=(20, 90), p=[0.1, 0.6, 0.3])
    for row_values, end in zip(values, ends(values, order, alpha=0.05), strict=True):
        walk = Walk((contrast("web", "base"),), order, StoppingRule())
        asked = 0
        while asked < 90 and not walk.is_over:
            row = order.rows[asked]
            walk.note("base", row, max(0.0, -row_values[row]))
            walk.note("web", row, max(0.0, row_values[row]))
            walk.advance()
            asked += 1
        assert (asked if walk.is_over else 91) == end


def test_the_result_does_not_depend_on_the_order_of_arrival():
    entries = [(arm, row) for arm in ("base", "web", "python") for row in range(40)]
    results = []
    for seed in (1, 2):
        random.Random(seed).shuffle(entries)
        walk = Walk((contrast("web", "base"), contrast("python", "base")), ORDER, StoppingRule())
        for arm, row in entries:
            walk.note(arm, row, scores(arm, row))
            walk.advance()
        results.append(walk.results())
    assert results[0] == results[1]
    assert [(each.decision, each.looked) for each in results[0]] == [
        ("difference", 8),
        ("difference", 12),
    ]


def test_a_decided_contrast_needs_nothing_more_and_others_go_on():
    walk = Walk((contrast("web", "base"), contrast("python", "base")), ORDER, StoppingRule())
    row = 0
    for (row,) in ORDER.looks[:10]:
        for arm in ("base", "web", "python"):
            walk.note(arm, row, 1.0 if arm == "web" else 0.0)
    assert walk.advance() == [0]
    (later,) = ORDER.looks[20]
    assert not walk.is_needed("web", later)
    assert walk.is_needed("python", later)
    assert walk.is_needed("base", later)
    assert walk.is_needed("of no contrast", later)
    assert not walk.is_needed("python", row)
    assert not walk.is_needed("python", 99)


def test_a_sample_that_failed_is_left_out_and_holds_nothing_up():
    walk = Walk((contrast("web", "base"),), ORDER, StoppingRule())
    for (row,) in ORDER.looks:
        walk.note("base", row, 0.0)
        walk.note("web", row, None if row == ORDER.looks[0][0] else 1.0)
    assert walk.advance() == [0]
    assert walk.results()[0].looked == 7


def test_a_score_beyond_one_cannot_be_tested():
    walk = Walk((contrast("web", "base"),), ORDER, StoppingRule())
    with pytest.raises(ConfigError, match=r"a score of 3: .* a metric in \[0, 1\]"):
        walk.note("web", 0, 3.0)


# Claims on these samples alone ------------------------------------------------------------------

DIFFERENCES = [(1.0, 0.5, -1.0)[n % 3] if n % 4 else 0.0 for n in range(30)]


def test_what_is_looked_at_estimates_the_mean_of_the_set():
    names, estimates = [f"q{n}" for n in range(30)], []
    for seed in range(1000):
        order = set_order(names, seed, 6)
        values = [DIFFERENCES[row] for (row,) in order.looks]
        sums = [sum(values[:n]) for n in range(6)]
        looks = [draw.look(*each) for draw, *each in zip(order.draws or (), sums, values)]  # noqa: B905
        estimates.append(np.mean([look.value for look in looks]))
    error = np.std(estimates) / 1000**0.5
    assert abs(np.mean(estimates) - np.mean(DIFFERENCES)) < 4 * error < 0.06


@pytest.mark.parametrize("past", [(), (1,), (0, 3)])
@pytest.mark.parametrize("predicted", [False, True])
def test_nobody_can_expect_to_win_against_the_true_mean_by_the_next_draw(past, predicted):
    """What makes the test of a set valid: exact, over every sample that may be next."""
    values = np.array([1.0, -1.0, 0.5, 0.0, 0.25])
    left, draw = [n for n in range(5) if n not in past], Draw(5 - len(past), count=5)
    guesses = np.array([0.4, -0.3, 0.1, 0.0, -0.2]) * predicted
    looks = []
    for n in left:
        guess = Guess(guesses[n], guesses[left].sum(), guesses.min(), guesses.max())
        looks.append(draw.look(values[list(past)].sum(), values[n], guess))
    mean = float(values.mean())
    assert np.mean([look.value for look in looks]) == pytest.approx(mean)
    assert all(look.low <= look.value <= look.high for look in looks)
    capital = Capital(np.full(len(left), mean), 20.0, Horizon((1 / draw.weight**2,)))
    capital.add(np.array([look.value for look in looks]), looks[0].low, looks[0].high)
    assert capital.sides.mean(axis=1) * 20 == pytest.approx([0.5, 0.5])


def test_a_prediction_rests_on_the_samples_before_and_finds_what_earlier_runs_found():
    known = np.array([[1.0], [0.0], [-1.0]] * 30)
    predictor = Predictor(known)
    assert predictor.guess(0) == Guess()
    for row in range(60):
        predictor.add(row, known[row, 0])
    guess = predictor.guess(60)
    assert 0.4 < guess.own <= 0.5
    assert guess.left == pytest.approx(0)
    assert predictor.guess(62).own == pytest.approx(-guess.own)


def test_a_set_knows_the_sign_before_its_last_samples():
    """Whatever the last ones are, the mean of all is above 0."""
    walk = Walk((contrast("web", "base"),), set_order([f"q{n}" for n in range(30)], 5),
                StoppingRule())  # fmt: skip
    for row, difference in enumerate(DIFFERENCES):
        walk.note("web", row, max(0.0, difference))
        walk.note("base", row, max(0.0, -difference))
    walk.advance()
    (result,) = walk.results()
    assert (result.looked, result.decision) == (27, "difference")
    assert result.plain_mean == pytest.approx(float(np.mean(DIFFERENCES)), abs=0.15)


def test_it_is_the_mean_of_the_first_looks_over_the_orders_that_do_not_stop_before():
    """Without a loss the test had stopped; so the loss is in none of the last places."""
    looks = [Look(1.0)] * 5 + [Look(-1.0)] + [Look(1.0)] * 5
    estimate = mean_after_stopping(looks, None, 20.0, plain(60))
    assert estimate == pytest.approx(0.75, abs=0.05)


def test_a_lucky_start_does_not_raise_it():
    """The bias of 60 runs with a true difference of 0.3; the plain mean is 0.05 too high."""
    rng = np.random.default_rng(5)
    estimates, uncorrected = [], []
    for _ in range(60):
        test = SequentialTest(StoppingRule(), [plain(100)])
        for value in rng.choice([1.0, 0.0, -1.0], size=100, p=[0.4, 0.5, 0.1]):
            if not test.is_decided(0):
                test.look(0, Look(float(value)))
        looks = test.evidence[0].looks
        uncorrected.append(np.mean([look.value for look in looks]))
        estimates.append(mean_after_stopping(looks, None, 20.0, plain(100), orders=100))
    assert np.mean(uncorrected) - 0.3 > 0.03
    assert abs(np.mean(estimates) - 0.3) < 0.03
