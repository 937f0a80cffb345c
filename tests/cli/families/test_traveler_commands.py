"""TRAVELER as a user runs it: by the tool, in the sandbox, as a study."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agent_env.errors import ConfigError
from agent_env.families.traveler.configurations import CONFIGURATIONS, DEFAULT
from agent_env.families.traveler.figures import Mean
from agent_env.families.traveler.study import (
    StudyPlan,
    named_configurations,
    read_study,
    result_tables,
    run_study,
)
from agent_env.runs.options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.score import score_folder
from agent_env.runs.start import Listener, start_run
from tests.commands import agent_env

QUIET = Listener(lambda text: None, lambda folder, episodes: None, lambda key, status: None)
OTHER = "zero-shot+date-extended+json"


def test_the_events_stand_in_the_prompt_behind_the_tool_or_in_python(tmp_path: Path) -> None:
    out = tmp_path / "run"
    conditions = ("base", "events", "ci", "events+ci")
    options = RunOptions(
        "traveler", conditions=conditions, limit=9, out=out, options=("sizes=30",),
        sandbox="unsafe-subprocess",
    )  # fmt: skip
    asyncio.run(start_run(options, QUIET))
    run = Run(out)
    manifest, scored = run.manifest(), score_folder(run, print)
    assert manifest.materials_digest is not None
    assert len(scored) == 36
    assert {score.metrics["of_ceiling"] for _, score in scored} == {1.0}
    calls = {episode.condition: episode.tool_calls for episode, _ in scored}
    assert calls == {"base": 0, "events": 1, "ci": 1, "events+ci": 1}


def test_other_tasks_have_no_events(tmp_path: Path) -> None:
    options = RunOptions("time-puzzles", conditions=("events",), limit=1, out=tmp_path / "x")
    with pytest.raises(ConfigError, match="'events' needs a list of events; 'tp-1-00001' has none"):
        asyncio.run(start_run(options, QUIET))


def test_a_providers_interpreter_cannot_hold_the_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    options = RunOptions(
        "traveler", model="openai/x", conditions=("ci",), out=tmp_path / "x",
        parameters={"hosted_tools": True},
    )  # fmt: skip
    with pytest.raises(ConfigError, match="'ci': a provider's interpreter cannot be prepared"):
        asyncio.run(start_run(options, QUIET))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three configurations, two policies, sets of 5 to 20 events."""
    out = tmp_path_factory.mktemp("study")
    asyncio.run(run_study(plan(), out, QUIET))
    return out


def plan(**changes: object) -> StudyPlan:
    wanted = {
        "models": ("reference", "reference-static"),
        "configurations": (OTHER, DEFAULT, "cot-step+date-only+json"),
        "keep": 2, "per_cell": 4, "sizes": (5, 10), "all_sizes": (5, 10, 20),
    }  # fmt: skip
    return StudyPlan.model_validate(wanted | changes)


def test_a_study_ranks_compares_and_asks_everything(study: Path) -> None:
    found = read_study(study)
    asked = [(run.stage, run.model, run.configuration, run.episodes) for run in found.runs]
    assert asked == [
        ("configurations", "reference", OTHER, 16),
        ("configurations", "reference", DEFAULT, 16),
        ("configurations", "reference", "cot-step+date-only+json", 16),
        ("models", "reference-static", DEFAULT, 16),
        ("models", "reference-static", OTHER, 16),
        ("final", "reference", DEFAULT, 36),
        ("final", "reference-static", DEFAULT, 36),
    ]
    assert found.kept == (DEFAULT, OTHER)  # of equals first the slides' choice, then by order
    assert found.final == DEFAULT
    means = [run.accuracy for run in found.of("models")]
    assert all(mean is not None and mean < 1.0 for mean in means)


def test_a_study_goes_on_without_asking_again(study: Path) -> None:
    traces = sorted(study.glob("*/episodes/*/*.jsonl"))
    before = [(trace, trace.stat().st_mtime_ns) for trace in traces]
    traces[0].unlink()
    asyncio.run(run_study(plan(), study, QUIET))
    again = [(trace, trace.stat().st_mtime_ns) for trace in sorted(study.glob("*/episodes/*/*"))]
    assert [trace for trace, _ in again] == traces
    assert again[1:] == before[1:]


def test_another_plan_is_refused(study: Path) -> None:
    with pytest.raises(ConfigError, match=r"study.json holds a study of another plan"):
        asyncio.run(run_study(plan(seed=2), study, QUIET))


def test_a_studys_tables_are_those_of_the_slides(study: Path) -> None:
    first, second, third, last = result_tables([study], print)
    assert [len(first.rows), len(second.rows)] == [3, 2]
    assert second.columns[4:6] == ("reference", "reference-static")
    best = dict(zip(third.columns, third.rows[0], strict=True))["reference"]
    assert isinstance(best, Mean)
    assert (best.value, best.n) == (1.0, 12)
    assert [row[:2] for row in last.rows][:3] == [
        ("explicit", "5"), ("explicit", "10"), ("explicit", "20"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"models": ("reference", "reference")}, "a model is named twice"),
        ({"models": ("gpt",)}, "unknown model 'gpt'"),
        ({"configurations": ("cot",)}, "unknown prompt 'cot'"),
        ({"final": "best"}, "unknown prompt 'best'"),
        ({"options": ("sizes=5",)}, "a study sets sizes and categories itself"),
        ({"options": ("colour=red",)}, "traveler has no option 'colour'"),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused_first(
    changes: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        asyncio.run(run_study(plan(**changes), tmp_path / "out", QUIET))
    assert not (tmp_path / "out").exists()


def test_configurations_are_named_or_all() -> None:
    assert named_configurations("all") == tuple(CONFIGURATIONS)
    assert named_configurations(f"default, {OTHER}") == (DEFAULT, OTHER)


def test_the_command_line_tells_tables_and_draws_curves(study: Path, tmp_path: Path) -> None:
    curves = tmp_path / "lengths.svg"
    told = agent_env("traveler", "tables", str(study), "--format", "json", "--curves", str(curves))
    assert told.returncode == 0, told.stderr
    assert len(json.loads(told.stdout)) == 4
    assert "<svg " in curves.read_text()
    missing = agent_env("traveler", "tables", str(tmp_path))
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "is no run" in missing.stderr


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve questions on eight lists, four of them vague."""
    out = tmp_path_factory.mktemp("small") / "run"
    options = RunOptions(
        "traveler", conditions=("base", "events"), limit=12, out=out, options=("sizes=5",)
    )
    asyncio.run(start_run(options, QUIET))
    return out


def test_questions_on_one_list_are_one_cluster(small_run: Path) -> None:
    told = " ".join(agent_env("compare", str(small_run)).stdout.split())
    assert "12 samples in 8 clusters." in told
    assert "Samples of one list of events are drawn together: 8 for 12 samples." in told


def test_the_best_answer_to_a_vague_question_is_right(small_run: Path) -> None:
    told = json.loads(agent_env("diagnose", str(small_run), "--json").stdout)
    assert told["run"]["kinds"] == {"base": {"right": 12}, "events": {"right": 12}}
