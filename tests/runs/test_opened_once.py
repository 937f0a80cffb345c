"""What a command over a run folder opens, it opens once."""

from collections import Counter

import pytest

from agent_env.episodes import run_folder
from agent_env.features.facts import sealed
from agent_env.records.manifest import Manifest
from agent_env.runs.planning import plan
from agent_env.sandbox import choose
from agent_env.wiring import models
from tests.commands import agent_env

PUZZLE = "run time-puzzles --limit 1 --condition web+python --sandbox namespaces".split()


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """How often each thing was opened, where no probe is on record."""
    counts = Counter()

    def counted(name, original):
        def call(*arguments, **named):
            counts[name] += 1
            return original(*arguments, **named)

        return call

    for where, name in (
        (models, "make_model"), (plan, "make_model"), (choose, "why_it_does_not_hold"),
        (sealed, "render_all"), (run_folder, "parse_samples"),
    ):  # fmt: skip
        monkeypatch.setattr(where, name, counted(name, getattr(where, name)))
    parse = Manifest.model_validate_json
    monkeypatch.setattr(Manifest, "model_validate_json", counted("manifest", parse))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return counts


def test_a_run_and_what_follows_it_open_each_thing_once(opened, tmp_path):
    sealed.shipped_image.cache_clear()
    out = str(tmp_path / "run")
    assert agent_env(*PUZZLE, "--out", out).returncode == 0
    assert opened == {
        "make_model": 1, "why_it_does_not_hold": 1, "render_all": 1, "manifest": 1,
        "parse_samples": 1,
    }  # fmt: skip
    for command in ("resume", "show", "replay"):
        opened.clear()
        assert agent_env(command, out).returncode == 0
        assert opened == {"manifest": 1, "parse_samples": 1}, command
