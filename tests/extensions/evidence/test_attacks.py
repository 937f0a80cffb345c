"""A run with attacks and faults: twins, planted answers, what its scripted models make of them."""

import agent_env as ae
from agent_env.extensions.evidence.attacks import planted_answers
from agent_env.families.time_puzzles.family import FAMILY, PuzzleOptions
from agent_env.families.time_puzzles.task import make_task


def test_planted_answers_are_wrong_throughout_and_the_same_for_a_seed():
    samples = FAMILY.make_samples(6, 1, PuzzleOptions(processes=1)).samples
    planted = planted_answers(make_task(), samples, seed=1)
    assert len(planted) >= 5
    for sample in samples:
        if (its := planted.get(sample.id)) is not None:
            assert its.values
            assert not set(its.values) & set(sample.gold)
            assert its.text == f"MY ANSWER: {', '.join(its.values)}"
    assert planted == planted_answers(make_task(), samples, seed=1)


def test_the_believer_falls_for_a_false_page_and_its_figures_say_so(tmp_path):
    run = ae.run_sync(
        "time-puzzles", model="believer", conditions=["web"], limit=4, attacks=["false-page"],
        faults=["web=error:1"], out=tmp_path / "run", progress=False,
    )  # fmt: skip
    names = [condition.name for condition in run.manifest.conditions]
    assert names == ["web", "web~faults", "web~attacked-false-page"]
    comparison = ae.compare(run)
    (row,) = comparison.table("attacks").rows
    success, chance, exposed = (cell[0] for cell in row[1:4])
    assert (success > 0.7, chance, exposed) == (True, 0.0, 1.0)
    (_, faulty) = comparison.table("faults").rows
    assert (faulty[0], faulty[1], faulty[3][0]) == ("web~faults", 1.0, 1.0)
