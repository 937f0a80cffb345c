"""What a user gets wrong on the command line is told in one line, with exit 2."""

import pytest

from agent_env.testing import puzzle
from tests.commands import agent_env


def test_bad_golds_passwords_and_sandboxes_that_are_not_there_are_said(tmp_path):
    file = tmp_path / "own.jsonl"
    file.write_text(puzzle().model_dump_json().replace("1982-04-02", "1982-02-30") + "\n")
    done = agent_env("run", "time-puzzles", "--dataset", str(file))
    assert done.returncode == 2
    assert f"{file}:1: gold: day " in done.stderr
    url = "http://user:secret@127.0.0.1:9/v1"
    out = ("--out", str(tmp_path / "run"))
    done = agent_env("run", "time-puzzles", "--model", "compatible/x", "--base-url", url, *out)
    assert (done.returncode, "secret" in done.stderr) == (2, False)
    assert not (tmp_path / "run").exists()
    engine = "unix:///nonexistent/docker.sock"
    words = ("--condition", "python", "--sandbox", "docker", *out)
    done = agent_env("run", "time-puzzles", *words, env={"DOCKER_HOST": engine})
    assert (done.returncode, done.stderr.count("\n"), engine in done.stderr) == (2, 1, True)


@pytest.mark.parametrize("words", [(), ("episodes",), ("web", "context")])
def test_no_command_is_answered_with_help_and_exit_2(words):
    done = agent_env(*words)
    assert (done.returncode, done.stdout[:16], done.stderr) == (2, "Usage: agent-env", "")


def test_why_answers_to_ones_own_questions_are_wrong_is_not_invented(tmp_path):
    (tmp_path / "q.csv").write_text("question,answer\nWhen did it end?,1945\n")
    (tmp_path / "m.py").write_text("def answer(messages):\n    return 'MY ANSWER: 1944'\n")
    run = ("run", "q.csv", "--model", "m.py:answer", "--condition", "base", "--out", "run")
    assert agent_env(*run, cwd=tmp_path).returncode == 0
    lines = agent_env("show", "run", "--why", cwd=tmp_path).stdout.splitlines()
    assert lines[1].startswith("- 1 of 1 answers of base are wrong; why cannot be told")
    assert lines[-1] == "Look at one: agent-env show run/base/qa-00001.1"
