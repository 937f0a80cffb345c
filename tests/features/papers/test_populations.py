"""Every table of every paper says over which questions it was computed."""

import pytest

from agent_env.families.time_puzzles.task import HOOKS
from agent_env.features.papers.engine import load_reproduction
from agent_env.features.papers.time_puzzles.reproduction import PAPER as PUZZLES
from agent_env.registry import ours
from agent_env.testing import puzzle

PAPERS = sorted(ours("reproductions"))


def test_five_papers_have_counts_of_their_parts():
    assert sorted(PAPERS) == ["tdbench", "temp-answers", "tempreason", "time-puzzles", "traveler"]
    (population,) = (s.population for s in PUZZLES.setups if s.name == "no-tools")
    puzzles = [
        puzzle(f"p-{n}", ()).model_copy(update={"solution_count": n % 7}) for n in range(700)
    ]
    assert population.mismatch(puzzles, HOOKS.groups) == (
        "700 questions, the paper's are 600 puzzles, 100 for each number of solutions from 1 to 6"
    )
    solvable = [each for each in puzzles if each.solution_count]
    assert population.mismatch(solvable, HOOKS.groups) == ""
    fewer = ({"solution_count": max(1, each.solution_count - 1)} for each in solvable)
    shifted = [p.model_copy(update=less) for p, less in zip(solvable, fewer, strict=True)]
    assert population.mismatch(shifted, HOOKS.groups).startswith("200 questions with solutions 1,")


@pytest.mark.parametrize("paper", sorted({*PAPERS} - {"temp-answers"}))  # it compares answers
def test_a_table_with_values_declares_its_population(paper):
    own = load_reproduction(paper)
    setups = {setup.name: setup for setup in own.setups}
    for experiment in own.experiments:
        if experiment.measure is None or not experiment.published:
            continue
        assert experiment.setups, experiment.name
        for population in (setups[name].population for name in experiment.setups):
            assert population.count > 0, experiment.name
            assert all(sum(g.values()) == population.count for g in population.groups.values())
