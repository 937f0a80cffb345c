"""What a user gets wrong on the command line is told in one line, with exit 2."""

import os
import shlex

import pytest

from agent_env.testing import puzzle
from tests import TESTS
from tests.commands import agent_env


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            "run puzzles",
            "unknown task 'puzzles'; did you mean time-puzzles? known: qa, tdbench, temp-answers, "
            "tempreason, time-puzzles, timeqa, traveler",
        ),
        (
            "run time-puzzles --model gpt",
            "unknown model 'gpt'; known: reference, reference-static, believer, checker, "
            "giver-up, guesser, rememberer, openai/NAME, google/NAME, compatible/NAME",
        ),
        ("run time-puzzles --condition net", "unknown condition 'net': no part 'net';"),
        (
            "run time-puzzles --model openai/gpt-5",
            "model openai/gpt-5 needs a key: set OPENAI_API_KEY",
        ),
        ("run time-puzzles --model compatible/x", "model compatible/x needs --base-url"),
        ("run time-puzzles --dataset none.jsonl", "cannot read none.jsonl"),
        ("run time-puzzles --where size=1", "--where: no field 'size'"),
        ("run time-puzzles --out /proc/run", "cannot write to /proc/run"),
        ("run time-puzzles --prompt x", "unknown prompt 'x'"),
        ("run time-puzzles --model reference --chat-template x",
         "--chat-template is for --model local; give it to the server of reference"),
        ("run time-puzzles --tool-limit x=1", "--tool-limit: no tool 'x'; known: calen"),
        (f"show {os.devnull}", "/dev/null is not a run, a study, a folder of runs or an episode"),
        (
            f"questions generate time-puzzles --option facts_table={os.devnull} --out p",
            "/dev/null: holds no event; agent-env docs facts",
        ),
        (
            "questions generate time-puzzles --facts 5-6 --out p",
            "--facts is an option of time-puzzles: write --option facts=VALUE",
        ),
        (
            "run tdbench --tables-seed 5",
            "--tables-seed is an option of tdbench: write --option tables_seed=VALUE",
        ),
        ("show nowhere", "nowhere is not a run, a study, a folder of runs or an episode"),
        ("score runs/a", "no command 'score'; did you mean agent-env "),
        ("diagnose runs/a", "no command 'diagnose'; known: run, resume, study, show, compare, "),
        (
            "generate qa --count 3",
            "no command 'generate'; type: agent-env questions generate qa --count 3",
        ),
        ("study resume s", "no command 'resume'; type: agent-env resume s"),
        ("pages list runs/a", "no command 'pages'; type: agent-env web pages list runs/a"),
        ("import a.eval", "no command 'import'; type: agent-env episodes import a.eval"),
        ("mcp qa", "no command 'mcp'; type: agent-env serve mcp qa"),
        ("serve --port 0 qa", "No such option: --port"),
        ("episodes runs/a", "no command 'runs/a'; known: list, fork, "),
        ("episodes frok a", "no command 'frok'; did you mean agent-env episodes fork"),
        ("docter", "no command 'docter'; did you mean agent-env doctor"),
        ("web zzz", "no command 'zzz'; known: build, context, facts, pages"),
        ("resume nowhere", "nowhere is not a run"),
        ("run time-puzzles --colour red", "No such option: --colour"),
        ("run time-puzzles --cost-usd 1", "a cost limit needs the prices of reference"),
        ("run time-puzzles --tool-limit python", "--tool-limit"),
        ("run time-puzzles --retries -1", "--retries -1: write at least 0"),
        (
            "run time-puzzles --model reference --model reference-static --where nothing",
            "--where 'nothing' is not FIELD=A,B",
        ),
    ],
)  # fmt: skip
def test_a_mistake_of_the_user_is_one_line_and_exit_2(words, line, tmp_path):
    done = agent_env(*shlex.split(words), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"agent-env: {line}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "run time-puzzles --condition base web",
            "(web); --condition is repeated: --condition base",
        ),
        (
            "run time-puzzles --condition base,web",
            "name each by itself: --condition base --condition web",
        ),
        ("show runs/puzzle/base/x.1", "nearest: runs/puzzle/base/tp-3-00001.1"),
    ],
)  # fmt: skip
def test_a_near_miss_is_told_what_was_meant(words, says):
    done = agent_env(*words.split(), cwd=TESTS / "data")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert says in done.stderr


def test_bad_golds_passwords_and_sandboxes_that_are_not_there_are_said(tmp_path):
    file = tmp_path / "own.jsonl"
    file.write_text(puzzle().model_dump_json().replace("1982-04-02", "1982-02-30") + "\n")
    done = agent_env("run", "time-puzzles", "--dataset", str(file))
    assert done.returncode == 2
    assert f"{file}:1: gold: day " in done.stderr
    url = "http://user:secret@127.0.0.1:9/v1"
    done = agent_env(
        "run", "time-puzzles", "--out", str(tmp_path / "run"), "--model", "compatible/x",
        "--base-url", url,
    )  # fmt: skip
    assert (done.returncode, "secret" in done.stderr) == (2, False)
    assert not (tmp_path / "run").exists()
    done = agent_env(
        "run", "time-puzzles", "--condition", "python", "--sandbox", "docker", "--out",
        str(tmp_path / "run"), env={"DOCKER_HOST": "unix:///nonexistent/docker.sock"},
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "unix:///nonexistent/docker.sock" in done.stderr


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
