"""Forks of each step of an episode: which are made, what is asked once only, what is refused."""

import asyncio

import pytest

import agent_env as ae
from agent_env.episodes.trace.lines import read_trace
from agent_env.extensions.evidence.attribute import plan_attribution
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.records.trace_events import EpisodeStarted, ModelCalled
from agent_env.runs.options import AttributeOptions
from agent_env.runs.run import Run
from agent_env.tasks.sample_files import read_samples
from benchmarks.planted_steps import PlantedSteps
from tests import TESTS

PUZZLES = TESTS / "data/runs/version-1/samples.jsonl"


@pytest.fixture(scope="module")
def episode(tmp_path_factory):
    """Wrong, as it slipped at its second step; three steps and the answer."""
    folder = tmp_path_factory.mktemp("attribute")
    (puzzle,) = read_samples(PUZZLES, TimePuzzle)
    golds = {puzzle.constraints[0]: puzzle.gold}
    model = PlantedSteps(golds, steps=4, culprit=2, right=1.0, right_after_slip=0.0)
    run = ae.run_sync(
        ae.task("time-puzzles", dataset=PUZZLES), model=model, conditions="cal",
        out=folder / "run", concurrency=1, progress=False,
    )  # fmt: skip
    (only,) = run.episodes()
    assert only.score["exact_match"] == 0
    return only


def test_the_planted_step_is_found_and_each_step_has_its_forks(episode):
    result = asyncio.run(episode.attribute(forks=20, concurrency=1, progress=False))
    assert result.turning_point.step == 2
    assert [step.actions for step in result.steps] == ["calendars"] * 3 + ["answer"]
    assert [step.forks for step in result.steps] == [5, 5, 5, 5]
    assert [step.before for step in result.steps[2:]] == [0.0, 0.0]
    folder = episode.trace.parents[2] / "attribute" / episode.name
    events = read_trace(folder / f"episodes/cal~from2/{episode.sample.id}.5.jsonl")
    assert isinstance(events[0], EpisodeStarted)
    assert events[0].parent is not None
    assert (events[0].parent.episode, events[0].parent.step) == (episode.name, 2)
    replayed = [event.replayed for event in events if isinstance(event, ModelCalled)]
    assert replayed == [True, True, None, None]


def test_more_forks_join_those_that_are_there(episode, tmp_path, capsys):
    for forks in (4, 4, 9):
        result = asyncio.run(
            episode.attribute(forks=forks, out=tmp_path / "out", concurrency=1, progress=False)
        )
    said = [
        line
        for line in capsys.readouterr().err.splitlines()
        if "to ask" in line or "no fork" in line
    ]
    assert [line.partition(" fork")[0] for line in said] == ["4", "no", "5"]
    assert "cost unknown, about 0:00:0" in said[0]
    assert said[0].endswith("; --forks, --run-tokens and --run-cost-usd limit it")
    assert [step.forks for step in result.steps] == [3, 2, 2, 2]


def test_what_cannot_be_attributed_is_said(episode):
    with pytest.raises(ae.ConfigError, match=r"--forks 3: .* has 4 steps; one for each"):
        asyncio.run(episode.attribute(forks=3))
    run = Run(episode.trace.parents[2])
    before = run.manifest.model_parameters
    run.change(model_parameters={**before, "temperature": 0})
    with pytest.raises(ae.ConfigError, match="has temperature 0, at which forks tell nothing"):
        plan_attribution(episode.trace, AttributeOptions(), print, {})
    run.change(model_parameters=before)
    cut = episode.trace.with_name(episode.trace.name.replace(".1.", ".2."))
    lines = episode.trace.read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(ae.ConfigError, match="did not come to its end"):
        plan_attribution(cut, AttributeOptions(), print, {})
    cut.unlink()
