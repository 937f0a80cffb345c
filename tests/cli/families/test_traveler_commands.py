"""TRAVELER as a user runs it: by the tool and in the sandbox."""

import pytest

from agent_env.errors import ConfigError
from agent_env.runs.scores.score import score_folder
from tests.commands import agent_env
from tests.plans import finished


def test_the_events_stand_in_the_prompt_behind_the_tool_or_in_python(tmp_path):
    run = finished(
        tmp_path / "run", "traveler", limit=9,
        conditions=("base", "events", "python", "events+python"),
        options=("sizes=30",), sandbox="unsafe-subprocess",
    )  # fmt: skip
    scored = score_folder(run, print)
    assert run.manifest.materials_digest is not None
    assert len(scored) == 36
    assert {score.metrics["of_ceiling"] for _, score in scored} == {1.0}
    calls = {episode.condition: episode.tool_calls for episode, _ in scored}
    assert calls == {"base": 0, "events": 1, "python": 1, "events+python": 1}


def test_other_tasks_and_a_providers_interpreter_have_no_events(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="'events' needs a list of events; 'tp-1-00001' has none"):
        finished(tmp_path / "x", conditions=("events",), limit=1)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    hosted = {"model": "openai/x", "parameters": {"hosted_tools": True}}
    with pytest.raises(ConfigError, match="'python': a provider's interpreter cannot be prepared"):
        finished(tmp_path / "x", "traveler", conditions=("python",), **hosted)


def test_questions_on_one_list_are_one_cluster(tmp_path):
    """Twelve questions on eight lists, four of them vague."""
    out = tmp_path / "run"
    finished(out, "traveler", conditions=("base", "events"), limit=12, options=("sizes=5",))
    told = " ".join(agent_env("compare", str(out)).stdout.split())
    assert "n = 12 in 8 clusters" in told
    assert "Samples of one list of events are drawn together: 8 for 12 samples." in told
