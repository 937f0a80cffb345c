"""What a run says last: how many conclusions it left out, which command says more, and by its exit
code whether every condition has a result."""

import pytest

from agent_env.runs.run import Run
from tests.commands import agent_env, run_puzzles


def last_line(run):
    return agent_env("show", str(run)).stdout.splitlines()[-1]


def test_one_condition_is_not_compared_and_a_run_with_gaps_goes_on_first(copied):
    everything = f"compare {copied} (--all: every test) · show {copied} --why"
    assert last_line(copied) == f"Next: agent-env {everything}"
    Run(copied).traces().__next__().unlink()
    assert last_line(copied) == f"Next: agent-env resume {copied} · {everything}"
    one = run_puzzles(copied.parent / "one")
    assert last_line(one) == f"Next: agent-env show {one} --why"


def test_conclusions_that_are_left_out_are_counted(tmp_path):
    conditions = ("base", "explicit", "web", "python", "web+python")
    run = run_puzzles(tmp_path / "run", conditions=conditions)
    lines = agent_env("show", str(run)).stdout.splitlines()
    assert [line[:2] for line in lines[1:6]] == ["- "] * 4 + ["  "]
    assert lines[5] == f"  4 more conclusions: agent-env compare {run}"


@pytest.mark.parametrize(("condition", "code"), [("base", 0), ("boom.py:BOOM", 1)])
def test_a_condition_without_any_result_ends_the_run_with_exit_code_1(tmp_path, condition, code):
    (tmp_path / "boom.py").write_text(
        "def BOOM(day: str) -> str:\n    'Says what day it is.'\n    raise ValueError(day)\n"
    )
    (tmp_path / "model.py").write_text(
        "from agent_env.testing import answer as says, calls\n\n\n"
        "def answer(messages, tools):\n"
        '    asked = [(tool.name, \'{"day": "x"}\') for tool in tools]\n'
        "    return calls(*asked) if asked else says('MY ANSWER: None')\n"
    )
    words = ("--limit", "1", "--condition", "explicit", "--condition", condition, "--out", "run")
    done = agent_env("run", "time-puzzles", "--model", "model.py:answer", *words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
