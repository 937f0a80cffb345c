"""`new`: its packages conform and run as they are written; names that would clash are refused."""

import subprocess
import sys
import tomllib
from importlib import import_module
from inspect import signature

import pytest

import agent_env as ae
from agent_env.runs.skeletons.skeleton import KINDS
from tests.commands import agent_env


def written(kind, name, home, monkeypatch):
    done = agent_env("new", kind, name, cwd=home)
    assert done.returncode == 0, done.stderr
    monkeypatch.syspath_prepend(str(home / name))
    monkeypatch.syspath_prepend(str(home / name / "tests"))
    return home / name


def passes_its_test(package, home):
    """Runs the package's own test."""
    try:
        tests = vars(import_module(f"test_{package}"))
        (test,) = (each for name, each in tests.items() if name.startswith("test_"))
        test(*(home for _ in signature(test).parameters))  # at most tmp_path
    finally:
        for module in [name for name in sys.modules if name.partition(".")[0].endswith(package)]:
            del sys.modules[module]


@pytest.mark.parametrize("kind", KINDS)
def test_it_conforms_passes_the_usual_lint_and_is_an_entry_point(kind, tmp_path, monkeypatch):
    folder = written(kind, "days-after", tmp_path, monkeypatch)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    target = f"days_after.{kind}:{'FAMILY' if kind == 'family' else 'days_after'}"
    name = "days_after" if kind in ("tool", "metric") else "days-after"
    group = "families" if kind == "family" else f"{kind}s"
    assert project["entry-points"] == {f"agent_env.{group}": {name: target}}
    passes_its_test("days_after", tmp_path)
    lint = ("ruff", "check", "--isolated", "--select", "E4,E7,E9,F,I,B,UP,SIM,RUF", ".")
    done = subprocess.run(lint, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "All checks passed!\n")


def test_a_family_runs_without_a_key(tmp_path, monkeypatch):
    written("family", "days-after", tmp_path, monkeypatch)
    own = "days-after/days_after/family.py:FAMILY"
    done = agent_env("run", own, "--limit", "2", "--out", "run", cwd=tmp_path)
    assert (done.returncode, " 1.000 [" in done.stdout) == (0, True), done.stderr


def test_a_model_a_scorer_and_a_metric_of_ones_own_make_a_run(tmp_path, monkeypatch):
    for kind in ("model", "scorer", "metric"):
        written(kind, f"own-{kind}", tmp_path, monkeypatch)
    kinds = ("model", "scorer", "metric")
    own = " ".join(f"--{kind} own-{kind}/own_{kind}/{kind}.py:own_{kind}" for kind in kinds)
    command = f"run time-puzzles --limit 2 --condition web --json {own} --out run"
    done = agent_env(*command.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    scores = [episode.score for episode in ae.open(tmp_path / "run").episodes()]
    assert [set(score) for score in scores] == [{"all_named", "share_named", "own_metric"}] * 2
    assert [score["own_metric"] for score in scores] == [3.0, 3.0]
