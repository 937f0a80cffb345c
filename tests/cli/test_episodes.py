"""replay, episodes and score as a user types them."""

import json
import shutil

from tests import TESTS
from tests.commands import agent_env

RUN = TESTS / "data/runs/puzzle"


def test_a_replay_exits_0_where_all_is_the_same_and_1_where_it_is_not(tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    same = agent_env("replay", "run", "--json", cwd=tmp_path)
    assert (same.returncode, json.loads(same.stdout)["same"]) == (0, 5)
    one = agent_env("replay", "run/base/tp-3-00001.1", "--json", cwd=tmp_path)
    assert [each["episode"] for each in json.loads(one.stdout)["episodes"]] == ["base/tp-3-00001.1"]
    manifest = tmp_path / "run/run.json"
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(told | {"prompt": "paper"}))
    drift = agent_env("replay", "run", cwd=tmp_path)
    assert drift.returncode == 1
    assert "base/tp-3-00001.1: step 1: request" in drift.stdout
    assert "-Read the constraints like this:" in drift.stdout


def test_episodes_are_listed_with_sums(tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    listed = agent_env(
        "episodes", "list", "run", "--where", "exact_match=1", "--json", cwd=tmp_path
    )
    told = json.loads(listed.stdout)
    assert (told["totals"]["episodes"], len(told["episodes"])) == (3, 3)
    assert (
        agent_env("episodes", "list", "run", "--where", "status=failed", cwd=tmp_path).returncode
        == 0
    )


def test_a_stopped_run_is_listed_with_the_metrics_of_its_finished_episodes(tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    (tmp_path / "run/scores.jsonl").unlink()
    done = agent_env("episodes", "list", "run", "--where", "exact_match=1", "--json", cwd=tmp_path)
    listed = json.loads(done.stdout)
    assert [each["metrics"]["exact_match"] for each in listed["episodes"]] == [1.0] * 3
    assert listed["totals"]["metrics"]["web"]["exact_match"] == 1.0
    scores = (tmp_path / "run/scores.jsonl").read_text()
    assert len(scores.splitlines()) == 5


def test_a_stopped_run_of_an_unknown_task_is_listed_without_metrics(tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    (tmp_path / "run/scores.jsonl").unlink()
    manifest = tmp_path / "run/run.json"
    manifest.write_text(manifest.read_text().replace('"time-puzzles"', '"gone"', 1))
    done = agent_env("episodes", "list", "run", "--json", cwd=tmp_path)
    assert [each["metrics"] for each in json.loads(done.stdout)["episodes"]] == [{}] * 5
    assert done.stderr.startswith("no metrics of run: unknown task 'gone'; known: ")


def test_a_figure_without_end_in_stored_scores_is_shown_and_no_traceback(tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    scores = tmp_path / "run/scores.jsonl"
    scores.write_text(scores.read_text().replace('"exact_match":1.0', '"exact_match":1e999'))
    assert agent_env("episodes", "list", "run", cwd=tmp_path).returncode == 0


def test_a_changed_verdict_can_fail_a_check(tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    scores = tmp_path / "run/scores.jsonl"
    scores.write_text(scores.read_text().replace('"exact_match":1.0', '"exact_match":0.0', 1))
    done = agent_env("show", "run", "--fail-on-change", cwd=tmp_path)
    assert done.returncode == 1
    assert "1 of 5 earlier verdicts changed; scorer unknown → agent_env.families" in done.stderr


def test_a_fork_leaves_its_scores_in_its_folder(tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    trace = "run/episodes/base/tp-3-00001.1.jsonl"
    done = agent_env("episodes", "fork", trace, "--at", "0", "--out", "forked", cwd=tmp_path)
    assert done.returncode == 0
    (line,) = (tmp_path / "forked/scores.jsonl").read_text().splitlines()
    assert set(json.loads(line)["metrics"]) == {
        "exact_match", "strict_match", "f1", "jaccard", "days_off",
    }  # fmt: skip
