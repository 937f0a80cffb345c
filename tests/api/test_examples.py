"""Every example in the docstrings of the public names, run in one folder, without a key."""

import doctest
from importlib import import_module

import pytest

import agent_env as ae

MODULES = [
    "agent_env.api.comparisons",
    "agent_env.features.studies.api",
    "agent_env.api.run",
    "agent_env.api.runs",
    "agent_env.runs.planning.objects",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("examples")
    task = ae.task("time-puzzles", limit=2)
    conditions = ["base", "explicit"]
    ae.run_sync(task, conditions=conditions, out=made / "runs/first", progress=False)
    return made


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_the_docstrings_are_true(module, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = doctest.testmod(import_module(module))
    assert result.attempted > 0
    assert result.failed == 0
