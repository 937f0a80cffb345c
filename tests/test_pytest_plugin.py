"""A run that tests decide on is asked once."""

import pytest

from agent_env.pytest_plugin import Recordings

ASKED = {"model": "reference", "limit": 5, "conditions": ["base"]}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    return Recordings(tmp_path_factory.mktemp("recordings") / "runs", "missing")


def test_the_recorded_run_is_given_again_and_what_is_missing_asked(recordings):
    run = recordings.run("tempreason", **ASKED)
    again = recordings.run("tempreason", **ASKED)
    assert (again.path, again.manifest.id) == (run.path, run.manifest.id)
    assert recordings.run("tempreason", **ASKED | {"limit": 1}).path != run.path
    next(run.path.glob("episodes/*/*.jsonl")).unlink()
    assert recordings.run("tempreason", **ASKED).is_finished


def test_a_requirement_that_is_not_met_or_not_known_fails_the_test(recordings):
    run = recordings.run("tempreason", **ASKED)
    recordings.require(run, "base >= 0.4", "failed <= 0")
    with pytest.raises(pytest.fail.Exception, match=r"not met: base < 0\.4: base 1\.000"):
        recordings.require(run, "base < 0.4")
    with pytest.raises(pytest.fail.Exception, match="not known yet: cost <= 1: cost unknown"):
        recordings.require(run, "cost <= 1")


def test_nothing_is_asked_where_that_is_forbidden_and_all_asks_each_run_once(tmp_path):
    forbidden = Recordings(tmp_path / "runs", "none")
    with pytest.raises(pytest.fail.Exception, match="--agent-env-record=missing"):
        forbidden.run("tempreason", **ASKED)
    first = Recordings(tmp_path / "runs", "missing").run("tempreason", **ASKED).manifest.id
    anew = Recordings(tmp_path / "runs", "all")
    second = anew.run("tempreason", **ASKED).manifest.id
    assert second != first
    assert anew.run("tempreason", **ASKED).manifest.id == second
