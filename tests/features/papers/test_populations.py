"""Every table of every paper says over which questions it was computed."""

import pytest

from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.task import HOOKS
from agent_env.features.papers.engine import load_reproduction
from agent_env.features.papers.time_puzzles.reproduction import PAPER as PUZZLES
from agent_env.registry import ours

PAPERS = sorted(ours("reproductions"))


def test_five_papers_have_counts_of_their_parts():
    assert sorted(PAPERS) == ["tdbench", "temp-answers", "tempreason", "time-puzzles", "traveler"]
    (population,) = (s.population for s in PUZZLES.setups if s.name == "no-tools")
    puzzles = [
        TimePuzzle(
            id=f"p-{n}", gold=(), constraints=("c",), explicit_constraints=("c",),
            solution_count=n % 7, fact_count=1,
        )
        for n in range(700)
    ]  # fmt: skip
    assert population.mismatch(puzzles, HOOKS.groups) == (
        "700 questions, the paper's are 600 puzzles, 100 for each number of solutions from 1 to 6"
    )
    solvable = [puzzle for puzzle in puzzles if puzzle.solution_count]
    assert population.mismatch(solvable, HOOKS.groups) == ""
    shifted = [
        p.model_copy(update={"solution_count": max(1, p.solution_count - 1)}) for p in solvable
    ]
    assert population.mismatch(shifted, HOOKS.groups).startswith("200 questions with solutions 1,")


@pytest.mark.parametrize("paper", PAPERS)
def test_a_table_with_values_declares_its_population(paper):
    own = load_reproduction(paper)
    setups = {setup.name: setup for setup in own.setups}
    for experiment in own.experiments:
        if experiment.measure is None or not experiment.published:
            continue
        if paper == "temp-answers":  # its measures compare the answers with the paper's
            continue
        assert experiment.setups, f"{paper} {experiment.name}"
        for population in (setups[name].population for name in experiment.setups):
            assert population is not None, f"{paper} {experiment.name}"
            assert population.count > 0
            assert all(sum(g.values()) == population.count for g in population.groups.values())
