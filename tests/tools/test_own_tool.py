"""A tool of the user's own: one file, named by MODULE:NAME in --condition, and nothing else."""

import json

import pytest

from agent_env.testing import ScriptedModel, answer, calls
from agent_env.wiring.registry import scripts
from tests.commands import agent_env
from tests.plugged_in import make_foreign

TOOL = '''
from agent_env.protocols import ToolDeclaration
from agent_env.records.schema import ToolResult, ToolSpec
from agent_env.records.tool_traits import ToolTraits


class Tally:
    """Counts its calls."""

    spec = ToolSpec(name="tally", description="Counts.", parameters={"type": "object"})

    def __init__(self):
        self.count = 0

    async def run(self, arguments):
        self.count += 1
        return ToolResult(output=f"{self.count} so far")


TOOL = ToolDeclaration(
    ToolTraits(name="tally", keeps_state=True), open=lambda supplies: Tally()
)
'''
CONDITION = "tally_of_mine:TOOL"


def counts_twice(steps):
    first, second = calls(("tally", "{}")), calls(("tally", "{}"), first_id=2)
    model = ScriptedModel([first, second, answer("MY ANSWER: None")])
    model.name = "counts-twice"
    return model


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "tally_of_mine.py").write_text(TOOL)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(scripts(), "counts-twice", f"{__name__}:counts_twice")
    return tmp_path


def run(home):
    done = agent_env(
        "run", "time-puzzles", "--model", "counts-twice", "--condition", CONDITION,
        "--limit", "1", "--out", "run", cwd=home,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return next((home / "run/episodes/tally").glob("*.jsonl"))


def outputs(trace):
    events = map(json.loads, trace.read_text().splitlines())
    return [e["result"]["output"] for e in events if e["kind"] == "tool_called"]


def test_it_runs_and_replays_with_live_tools_too(home):
    assert outputs(run(home)) == ["1 so far", "2 so far"]
    for more in ((), ("--tools", "live")):
        done = agent_env("replay", "run", "--json", *more, cwd=home)
        assert (done.returncode, json.loads(done.stdout)["same"]) == (0, 1), done.stderr


def test_its_state_is_made_again_where_an_episode_goes_on(home):
    trace = run(home)
    lines = trace.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if b'"tool_called"' in line)
    trace.write_bytes(b"".join(lines[: cut + 1]))
    done = agent_env("resume", "run", cwd=home)
    assert done.returncode == 0, done.stderr
    assert outputs(trace) == ["1 so far", "2 so far"]


def test_a_later_reader_needs_no_code_of_it(home):
    trace = run(home)
    (home / "tally_of_mine.py").unlink()
    start = json.loads(trace.read_text().splitlines()[0])
    (stored,) = start["condition"]["own_tools"]
    assert (stored["name"], stored["path"], stored["keeps_state"]) == ("tally", CONDITION, True)
    for command in (("show",), ("replay",), ("show", "--why")):
        assert agent_env(*command, "run", cwd=home).returncode == 0


def test_its_code_is_not_run_for_a_folder_from_elsewhere(home):
    run(home).unlink()
    make_foreign(home / "run")
    done = agent_env("resume", "run", cwd=home)
    assert done.returncode == 2
    assert "tool tally_of_mine:TOOL (its code runs here)" in done.stderr


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("not_there:TOOL", "cannot be imported: No module named 'not_there'"),
        ("tally_of_mine:Tally", "is a type, not a ToolDeclaration"),
    ],
)
def test_a_wrong_path_is_one_line(home, name, reason):
    done = agent_env("run", "time-puzzles", "--condition", name, "--limit", "1", cwd=home)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"tool '{name}' {reason}" in done.stderr
