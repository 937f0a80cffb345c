"""TRAVELER as a user runs it: by the tool and in the sandbox."""

import asyncio
import json
import shutil

import pytest

from agent_env.errors import ConfigError
from agent_env.runs.options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.score import score_folder
from agent_env.runs.start import Listener, start_run
from tests.commands import agent_env

QUIET = Listener(lambda text: None, lambda folder, episodes: None, lambda key, status: None)


def test_the_events_stand_in_the_prompt_behind_the_tool_or_in_python(tmp_path):
    out = tmp_path / "run"
    conditions = ("base", "events", "ci", "events+ci")
    options = RunOptions(
        "traveler", conditions=conditions, limit=9, out=out, options=("sizes=30",),
        sandbox="unsafe-subprocess",
    )  # fmt: skip
    asyncio.run(start_run(options, QUIET))
    run = Run(out)
    manifest, scored = run.manifest, score_folder(run, print)
    assert manifest.materials_digest is not None
    assert len(scored) == 36
    assert {score.metrics["of_ceiling"] for _, score in scored} == {1.0}
    calls = {episode.condition: episode.tool_calls for episode, _ in scored}
    assert calls == {"base": 0, "events": 1, "ci": 1, "events+ci": 1}


def test_other_tasks_have_no_events(tmp_path):
    options = RunOptions("time-puzzles", conditions=("events",), limit=1, out=tmp_path / "x")
    with pytest.raises(ConfigError, match="'events' needs a list of events; 'tp-1-00001' has none"):
        asyncio.run(start_run(options, QUIET))


def test_a_providers_interpreter_cannot_hold_the_events(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    options = RunOptions(
        "traveler", model="openai/x", conditions=("ci",), out=tmp_path / "x",
        parameters={"hosted_tools": True},
    )  # fmt: skip
    with pytest.raises(ConfigError, match="'ci': a provider's interpreter cannot be prepared"):
        asyncio.run(start_run(options, QUIET))


@pytest.mark.parametrize("words", [("study", "--out", "x"), ("tables", "runs/study"), ()])
def test_the_old_commands_name_what_replaces_them(words):
    told = agent_env("traveler", *words)
    assert (told.returncode, told.stdout) == (2, "")
    assert "`agent-env reproduce traveler` prints the slides' tables" in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """Twelve questions on eight lists, four of them vague."""
    out = tmp_path_factory.mktemp("small") / "run"
    options = RunOptions(
        "traveler", conditions=("base", "events"), limit=12, out=out, options=("sizes=5",)
    )
    asyncio.run(start_run(options, QUIET))
    return out


def test_questions_on_one_list_are_one_cluster(small_run):
    told = " ".join(agent_env("compare", str(small_run)).stdout.split())
    assert "12 samples in 8 clusters." in told
    assert "Samples of one list of events are drawn together: 8 for 12 samples." in told


def test_the_best_answer_to_a_vague_question_is_right(small_run):
    told = json.loads(agent_env("diagnose", str(small_run), "--json").stdout)
    assert told["run"]["kinds"] == {"base": {"right": 12}, "events": {"right": 12}}


def test_the_folder_of_a_former_study_is_compared_like_any_folder_of_runs(small_run, tmp_path):
    shutil.copytree(small_run, tmp_path / "study" / "final-reference")
    (tmp_path / "study" / "study.json").write_text(
        '{"plan": {"models": ["reference"]}, "runs": [], "kept": [], "final": null}'
    )
    told = agent_env("compare", str(tmp_path / "study"), "--by", "category")
    assert told.returncode == 0, told.stderr
    assert "accuracy by category" in told.stdout
