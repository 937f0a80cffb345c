"""Several models by one command: each has its turn, and its outcome is told."""

import json
import re

from tests.commands import agent_env

ASK = ("run", "time-puzzles", "--condition", "base", "--limit", "3")
NOBODY = "http://127.0.0.1:9/v1"


def finished(run):
    return sum('"episode_finished"' in file.read_text() for file in run.glob("episodes/*/*.jsonl"))


def test_a_model_that_fails_does_not_keep_the_next_from_its_turn_and_each_is_told(tmp_path):
    words = f"--model compatible/x --model reference --base-url {NOBODY} --retry-time-s 0.5".split()
    done = agent_env(*ASK, *words, "--out", "both", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert finished(tmp_path / "both/x") == 0
    assert finished(tmp_path / "both/reference") == 3
    *_, first, second, again, compare = done.stderr.splitlines()
    assert re.match(r"x: stopped: the model's server was away for \d+ s", first)
    assert second == "reference: done"
    assert again == "agent-env resume both continues all of them."
    assert compare == "agent-env compare both compares the models."
    refused = agent_env("resume", "both", "--model", "reference", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "agent-env: both holds several models; change one of them: agent-env resume both/reference"
    ]


def test_resume_of_the_parent_goes_on_with_all_also_with_those_that_never_began(tmp_path):
    """What a kill in the first model's turn leaves: two folders, and no trace in the second."""
    names = ("reference", "reference-static")
    words = [word for name in names for word in ("--model", name)]
    done = agent_env(*ASK, *words, "--out", "two", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in names:
        for file in (tmp_path / "two" / name / "episodes/base").glob("*"):
            if "static" in name or file.name > "tp-1-00002":
                file.unlink()
    resumed = agent_env("resume", "two", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert [finished(tmp_path / "two" / name) for name in names] == [3, 3]
    assert "reference-static: done" in resumed.stderr
    told = agent_env("compare", "two", "--json", cwd=tmp_path)
    assert (told.returncode, bool(json.loads(told.stdout))) == (0, True)
