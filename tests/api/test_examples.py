"""Every example in the docstrings of the public names, run in one folder, without a key."""

import doctest
from importlib import import_module

import pytest

import agent_env as ae

MODULES = ["api.comparisons", "features.studies.api", "api.run", "api.runs",
           "runs.planning.objects"]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("examples")
    given = {"limit": 2, "conditions": ["base", "explicit"], "out": made / "runs/first"}
    ae.run_sync("time-puzzles", progress=False, **given)
    return made


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_the_docstrings_are_true(module, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = doctest.testmod(import_module(f"agent_env.{module}"))
    assert result.attempted > result.failed == 0
