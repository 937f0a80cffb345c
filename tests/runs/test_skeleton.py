"""`new`: its packages conform and run as they are written; names that would clash are refused."""

import subprocess
import sys
import tomllib
from importlib import import_module

import pytest

from tests.commands import agent_env


def written(kind, name, home, monkeypatch):
    done = agent_env("new", kind, name, cwd=home)
    assert done.returncode == 0, done.stderr
    monkeypatch.syspath_prepend(str(home / name))
    monkeypatch.syspath_prepend(str(home / name / "tests"))
    return home / name


def passes_its_test(package):
    """Runs the package's own test."""
    try:
        tests = vars(import_module(f"test_{package}"))
        (test,) = (each for name, each in tests.items() if name.startswith("test_"))
        test()
    finally:
        for module in [name for name in sys.modules if name.partition(".")[0].endswith(package)]:
            del sys.modules[module]


def entry_points(folder):
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    return project["project"]["entry-points"]


def test_a_family_conforms_and_runs_without_a_key(tmp_path, monkeypatch):
    folder = written("family", "days-after", tmp_path, monkeypatch)
    assert entry_points(folder) == {
        "agent_env.families": {"days-after": "days_after.family:FAMILY"}
    }
    passes_its_test("days_after")
    own = "days-after/days_after/family.py:FAMILY"
    done = agent_env("run", own, "--limit", "2", "--out", "run", cwd=tmp_path)
    assert (done.returncode, "right 1.000" in done.stderr) == (0, True), done.stderr


def test_a_tool_conforms(tmp_path, monkeypatch):
    folder = written("tool", "days-between", tmp_path, monkeypatch)
    assert entry_points(folder) == {
        "agent_env.tools": {"days_between": "days_between.tool:days_between"}
    }
    passes_its_test("days_between")


@pytest.mark.parametrize("kind", ["family", "tool"])
def test_it_passes_the_usual_lint(kind, tmp_path, monkeypatch):
    folder = written(kind, "days-after", tmp_path, monkeypatch)
    lint = ("ruff", "check", "--isolated", "--select", "E4,E7,E9,F,I,B,UP,SIM,RUF", ".")
    done = subprocess.run(lint, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "All checks passed!\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("model", "x"), "no skeleton of a 'model'; write family or tool"),
        (("tool", "json"), "'json' is a module of Python or of an installed package already"),
        (("tool", "class"), "'class' is a module of Python"),
        (("tool", "../x"), "'../x' is no name for a package; write up to 40 small letters"),
        (("family", "time-puzzles"), "family 'time-puzzles' is there: agent-env"),
        (("tool", "web-search"), "tool 'web_search' is there: agent-env"),
        (("tool", "days-between", "--out", "."), ". is there and not empty; name another folder"),
    ],
)
def test_what_cannot_be_written_is_told(tmp_path, arguments, reason):
    (tmp_path / "mine.txt").touch()
    done = agent_env("new", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"agent-env: {reason}")
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
