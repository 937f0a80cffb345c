"""replay, episodes and score as a user types them."""

import json

import pytest

from tests.commands import agent_env


@pytest.fixture(autouse=True)
def run(recorded, monkeypatch):
    """In `run` below the folder in which the commands are typed."""
    monkeypatch.chdir(recorded.parent)
    return recorded


def changed(file, old, new, count=-1):
    file.write_text(file.read_text().replace(old, new, count))


def test_a_replay_exits_0_where_all_is_the_same_and_1_where_it_is_not(run):
    same = agent_env("replay", "run", "--json")
    assert (same.returncode, json.loads(same.stdout)["same"]) == (0, 5)
    one = agent_env("replay", "run/base/tp-3-00001.1", "--json")
    assert [each["episode"] for each in json.loads(one.stdout)["episodes"]] == ["base/tp-3-00001.1"]
    told = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(told | {"prompt": "paper"}))
    drift = agent_env("replay", "run")
    assert drift.returncode == 1
    assert "base/tp-3-00001.1: step 1: request" in drift.stdout
    assert "-Read the constraints like this:" in drift.stdout


def test_episodes_are_listed_with_sums_also_those_of_a_stopped_run(run):
    assert agent_env("episodes", "list", "run", "--where", "status=failed").returncode == 0
    (run / "scores.jsonl").unlink()
    listed = agent_env("episodes", "list", "run", "--where", "exact_match=1", "--json")
    told = json.loads(listed.stdout)
    assert told["totals"]["episodes"] == 3
    assert [each["metrics"]["exact_match"] for each in told["episodes"]] == [1.0] * 3
    assert told["totals"]["metrics"]["web"]["exact_match"] == 1.0
    assert len((run / "scores.jsonl").read_text().splitlines()) == 5


def test_a_stopped_run_of_an_unknown_task_is_listed_without_metrics(run):
    (run / "scores.jsonl").unlink()
    changed(run / "run.json", '"time-puzzles"', '"gone"', 1)
    done = agent_env("episodes", "list", "run", "--json")
    assert [each["metrics"] for each in json.loads(done.stdout)["episodes"]] == [{}] * 5
    assert done.stderr.startswith("no metrics of run: unknown task 'gone'; known: ")


def test_a_figure_without_end_in_stored_scores_is_shown_and_no_traceback(run):
    changed(run / "scores.jsonl", '"exact_match":1.0', '"exact_match":1e999')
    assert agent_env("episodes", "list", "run").returncode == 0


def test_a_changed_verdict_can_fail_a_check(run):
    changed(run / "scores.jsonl", '"exact_match":1.0', '"exact_match":0.0', 1)
    done = agent_env("show", "run", "--fail-on-change")
    assert done.returncode == 1
    assert "1 of 5 earlier verdicts changed; scorer unknown → agent_env.families" in done.stderr


def test_a_fork_leaves_its_scores_in_its_folder(tmp_path):
    trace = "run/episodes/base/tp-3-00001.1.jsonl"
    assert agent_env("episodes", "fork", trace, "--at", "0", "--out", "forked").returncode == 0
    (line,) = (tmp_path / "forked/scores.jsonl").read_text().splitlines()
    metrics = {"exact_match", "strict_match", "f1", "jaccard", "days_off"}
    assert set(json.loads(line)["metrics"]) == metrics
