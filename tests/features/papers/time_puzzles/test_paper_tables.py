"""The macro-averages of the paper's Table 1, and its values in each version of the paper."""

import pytest

from agent_env.families.time_puzzles.task import HOOKS
from agent_env.features.papers.time_puzzles.paper_tables import implicit_explicit, macro_mean
from agent_env.features.papers.time_puzzles.reproduction import PAPER
from agent_env.testing import puzzle
from tests.analysis.studies import study_of
from tests.ended import scored

GOLD = ("2001-02-03",)


def compared(sizes, wrong):
    """Puzzles by number of solutions; explicit answers all right, of the implicit ones the first
    `wrong` are not."""
    counts = [count for count, number in sizes.items() for _ in range(number)]
    puzzles = [
        puzzle(f"p-{n}", GOLD).model_copy(update={"solution_count": count})
        for n, count in enumerate(counts)
    ]
    pairs = [
        scored({"exact_match": float(condition == "explicit" or n >= wrong)}, f"p-{n}", condition)
        for condition in ("base", "explicit")
        for n in range(len(counts))
    ]
    return study_of(pairs, ("base", "explicit"), ("exact_match",), puzzles, HOOKS)


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
    assert macro_mean(comparison, comparison.study.arms[0], "exact_match").value == 0.5


def test_gpt_5_has_one_value_without_tools_in_each_version_of_the_paper():
    experiments = {each.name: each for each in PAPER.experiments}
    first, third = experiments["table1"], experiments["version3"]
    assert first.published["GPT-5"][0] == 49.3
    assert "versions 1 and 2 of the paper (2026-01). GPT-5 had 49.3 %" in first.notes[0]
    assert third.published == {"GPT-5": (55.3,)}
    assert third.title.startswith("Version 3 of the paper (2026-03)")
    assert [each.name for each in third.quantities] == ["EM implicit"]
    assert third.setups == first.setups
