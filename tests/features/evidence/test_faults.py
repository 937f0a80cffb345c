"""Faults of tools: which calls get them, what they make of a result, what the trace keeps."""

from random import Random

import pytest

from agent_env.errors import ToolError
from agent_env.features.evidence import faults
from agent_env.features.evidence.faults import FaultDraws, FaultyTool, drawn_kind
from agent_env.records.disturbance import Disturbance, Fault
from agent_env.records.schema import ExecResult, PageRef, ToolResult, ToolSpec
from agent_env.testing import FakeSandbox, FakeTool
from agent_env.tools.builtin.python import Interpreter


@pytest.fixture(autouse=True)
def many_in_a_row(monkeypatch):
    monkeypatch.setattr(faults, "MOST_IN_A_ROW", 9)


def disturbed(kind, rate=1.0, tool="t"):
    return Disturbance(suffix="faults", faults=(Fault(tool=tool, kind=kind, rate=rate),))


def drawing(kind, tool="t"):
    """Draws of an episode that has begun."""
    draws = FaultDraws(disturbed(kind, tool=tool))
    draws.begin("1/a/1")
    return draws


async def ask(kind, *outputs):
    """The results of one call for each output, all of which get the fault."""
    left = list(outputs)
    tool = FaultyTool(FakeTool("t", lambda arguments: left.pop(0)), drawing(kind))
    return [await tool.run({}) for _ in outputs]


@pytest.mark.parametrize(
    ("kind", "output", "error"),
    [
        ("error", "Error: HTTP 503: the service is not available", True),
        ("timeout", "Error: no response within 30 s", True),
        ("rate-limit", "Error: HTTP 429: too many requests", True),
        ("truncated", "Born i\n[end of data before the end of the response]", False),
        ("malformed", faults.garbled("Born in 1950, a Monday."), False),
        ("empty", "", False),
        ("wrong", "Born in 1950, a Sunday.", False),
    ],
)
async def test_each_kind_hides_the_result_and_the_trace_keeps_it(kind, output, error):
    (result,) = await ask(kind, "Born in 1950, a Monday.")
    assert (result.output, result.error is not None) == (output, error)
    assert (result.fault.kind, result.fault.draw) == (kind, "1/a/1/t/1")
    assert result.fault.true_output == "Born in 1950, a Monday."


async def test_a_stale_result_is_that_of_the_call_before_and_the_first_call_has_none():
    results = await ask("stale", "one", "two", "two")
    assert [each.output for each in results] == ["one", "one", "one"]
    assert [each.fault is not None and each.fault.landed for each in results] == [False, True, True]


async def test_a_call_that_fails_by_itself_keeps_its_own_error():
    def refuse(arguments):
        raise ToolError("no such page")

    draws = FaultDraws(disturbed("timeout"))
    tool = FaultyTool(FakeTool("t", refuse), draws)
    with pytest.raises(ToolError, match="no such page"):
        await tool.run({})  # nothing is drawn before the episode began
    draws.begin("1/a/1")
    result = await tool.run({})
    assert (result.output, result.error) == ("Error: no such page", "no such page")
    assert not result.fault.landed


class Opener:
    """Opens what it is asked for."""

    spec = ToolSpec(name="t", description="", parameters={})

    async def run(self, arguments):
        url = str(arguments["url"])
        return ToolResult(output=f"page {url}", pages=(PageRef(url=url, how="opened"),))


async def test_another_page_is_one_that_the_episode_has_seen():
    tool = FaultyTool(Opener(), drawing("other"))
    first, second = [await tool.run({"url": url}) for url in "AB"]
    assert (first.output, second.output) == ("page A", "page A")
    assert (second.pages[0].url, second.fault and second.fault.true_output) == ("A", "page B")


async def test_a_crash_takes_the_variables_of_the_session():
    sandbox = FakeSandbox([ExecResult(stdout="7\n"), ExecResult(status="crashed")])
    tool = FaultyTool(Interpreter(sandbox, (), 5), drawing("crash", tool="python"))
    result = await tool.run({"code": "print(7)"})
    assert sandbox.code == ["print(7)", "import os\nos._exit(1)"]
    assert result.error == "crashed: the process ended"
    assert result.output.endswith("[All variables are lost. The next call starts a new session.]")
    assert result.fault.true_output == "7"


def test_draws_depend_on_seed_sample_repeat_tool_and_number_alone(monkeypatch):
    monkeypatch.undo()
    its = disturbed("error", 0.3)
    samples = [
        [drawn_kind(its, f"1/{name}/1/t", "t", number) is not None for number in range(1, 21)]
        for name in ("a", *range(49))
    ]
    assert 0.24 < sum(map(sum, samples)) / 1000 < 0.31  # two in a row, and none after them
    assert not any(all(drawn[at : at + 3]) for drawn in samples for at in range(18))
    assert drawn_kind(its, "1/a/1/u", "u", 1) is None
    draws = FaultDraws(its)
    draws.begin("1/a/1", [("t", ToolResult(output="x"))] * 7)  # an episode that goes on
    assert (draws.draw("t") is not None) is samples[0][7]


def test_a_higher_rate_adds_faults_and_takes_none_away():
    low, high = (disturbed("error", rate) for rate in (0.1, 0.4))
    for number in range(1, 60):
        if drawn_kind(low, "1/a/1/t", "t", number):
            assert drawn_kind(high, "1/a/1/t", "t", number) == "error"


@pytest.mark.parametrize(
    ("text", "known", "result"),
    [
        ("2001-03-05 (Monday)", "", "2001-03-04 (Sunday)"),
        ("2001-03-05 is a Monday, day 64", "2001-03-05", "2001-03-05 is a Sunday, day 64"),
        ("1 May 1999 or March 1, 2000", "", "30 April 1999 or February 29, 2000"),
        ("14 days from 2001-03-05", "2001-03-05", "13 days from 2001-03-05"),
        ("[1] Title\nhttps://a.example/1999/x", "", "[1] Title\nhttps://a.example/1999/x"),
        ("0001-01-01 and 2001-02-30", "", "0001-01-01 and 2001-02-30"),
    ],
)  # fmt: skip
def test_a_wrong_result_is_one_day_or_one_off(text, known, result):
    assert Random(1).choice((-1, 1)) == -1
    assert faults.shifted(text, known, Random(1)) == result


def test_a_text_that_broke_off_has_less_than_the_whole():
    for seed in range(20):
        assert 20 <= len(faults.cut("x" * 100, Random(seed)).partition("\n")[0]) <= 60
