"""The macro-averages of the paper's Table 1."""

import pytest

from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.task import HOOKS
from agent_env.features.papers.time_puzzles.paper_tables import implicit_explicit, macro_mean
from agent_env.records.schema import Episode, Score
from tests.analysis.studies import study_of

GOLD = ("2001-02-03",)


def compared(sizes, wrong):
    """Puzzles by number of solutions; explicit answers all right, of the implicit ones the first
    `wrong` are not."""
    counts = [count for count, number in sizes.items() for _ in range(number)]
    puzzles = [
        TimePuzzle(
            id=f"p-{n}", gold=GOLD, constraints=("c",), explicit_constraints=("c",),
            solution_count=count, fact_count=1,
        )
        for n, count in enumerate(counts)
    ]  # fmt: skip
    scored = []
    for condition in ("base", "explicit"):
        for n, puzzle in enumerate(puzzles):
            names = {"sample": puzzle.id, "condition": condition, "repeat": 1}
            episode = Episode.model_validate(
                {**names, "model": "m", "status": "finished", "answer": "a"}
            )
            right = float(condition == "explicit" or n >= wrong)
            score = {"outcome": "read", "answer": GOLD, "metrics": {"exact_match": right}}
            scored.append((episode, Score.model_validate({**names, **score})))
    return study_of(scored, ("base", "explicit"), ("exact_match",), puzzles, HOOKS)


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [({1: 40, 6: 3}, 1), ({1: 40, 6: 3}, 40), ({1: 3, 6: 40}, 2), ({1: 30, 2: 29}, 1)],
)
def test_no_interval_leaves_0_to_100_percent(sizes, wrong):
    comparison = compared(sizes, wrong)
    for arm in comparison.study.arms:
        mean = macro_mean(comparison, arm, "exact_match")
        assert 0 <= (mean.low or 0) <= mean.value <= (1 if mean.high is None else mean.high) <= 1
    matches = [m for m in implicit_explicit(comparison) if m.quantity.startswith("EM ")]
    for each, least in zip(matches, (0, 0, -100), strict=True):
        assert all(end is None or least <= end <= 100 for end in each.estimate.cell)


def test_each_solution_count_weighs_the_same():
    comparison = compared({1: 40, 6: 4}, 40)
    mean = macro_mean(comparison, comparison.study.arms[0], "exact_match")
    assert mean.value == 0.5
