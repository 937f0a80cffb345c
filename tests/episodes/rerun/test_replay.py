"""Replays of recorded runs: no key, no network, and each difference named by step."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent_env.episodes.rerun.replay import Replayer, ReplayResult, ToolResultsByCall
from agent_env.episodes.rerun.resume import Tape
from agent_env.episodes.trace.fold import Recording
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ConfigError, ReplayError
from agent_env.families.time_puzzles.task import make_task
from agent_env.graph.loop import AgentLoop
from agent_env.graph.strategies import make_strategy
from agent_env.protocols import Limits
from agent_env.records.schema import ToolCall
from agent_env.runs.options.run_options import ReplayOptions
from agent_env.runs.replay import replay
from agent_env.runs.run import Run
from agent_env.testing import puzzle
from tests import TESTS
from tests.episodes.rerun.test_resume import World, cut, run, trace_of

RUNS = TESTS / "data/runs"


@pytest.mark.parametrize("name", sorted(path.name for path in RUNS.iterdir()))
def test_every_recorded_run_replays_strictly(name):
    results = asyncio.run(replay(Run(RUNS / name), ReplayOptions(), print))
    assert results
    assert {(r.verdict, r.drift) for r in results} == {("same", ())}


def played(path, strict=True, prompt="default"):
    recording = Recording.of(read_trace(trace_of(path)))
    replayer = Replayer(
        lambda _, c: make_strategy(c, make_task(prompt).prompt), Limits(), strict=strict
    )
    return asyncio.run(replayer.play(recording, puzzle("a"), AgentLoop()))


def test_an_episode_that_failed_or_was_cut_off_is_replayed_as_far_as_it_goes(tmp_path):
    run(World(broken=True), tmp_path)
    assert played(tmp_path) == ReplayResult("web+python/a.1", "same", 1)
    run(World(), tmp_path / "cut")
    cut(tmp_path / "cut", 5)
    assert played(tmp_path / "cut") == ReplayResult("web+python/a.1", "same", 2)


def test_a_replay_tells_the_first_difference_or_leniently_all(tmp_path):
    run(World(), tmp_path)
    result = played(tmp_path, prompt="paper")
    assert (result.verdict, result.steps) == ("drift", 1)
    (drift,) = result.drift
    assert (drift.step, drift.what) == (1, "request")
    assert "-Read the constraints like this:" in drift.diff.splitlines()
    result = played(tmp_path, strict=False, prompt="paper")
    assert [(d.step, d.what) for d in result.drift] == [(n, "request") for n in (1, 2, 3)]
    assert result.steps == 3


REPLAYER = Replayer(lambda _, c: make_strategy(c, make_task().prompt), Limits())


def ended_so(events, **changes):
    """What a replay says to these events with another end."""
    *before, end = events
    recording = Recording.of([*before, end.model_copy(update=changes)])
    return asyncio.run(REPLAYER.play(recording, puzzle("a"), AgentLoop()))


def test_another_end_is_a_difference(tmp_path):
    events, _ = run(World(), tmp_path)
    (drift,) = ended_so(events, answer="MY ANSWER: None").drift
    assert (drift.what, drift.diff.splitlines()[-2:]) == (
        "end", ["-MY ANSWER: None", "+MY ANSWER: 1982-04-02"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "kept"), [("time", {1: 0, 2: 1, 4: 1, 6: 2}), ("context", {1: 0, 4: 1, 6: 2})]
)
def test_an_end_by_time_or_by_an_overflow_is_one_again(tmp_path, reason, kept):
    events, _ = run(World(), tmp_path)
    for count, steps in kept.items():
        result = ended_so([*events[:count], events[-1]], stop_reason=reason, answer=None)
        assert (result.verdict, result.steps) == ("same", steps), (count, result.drift)


def test_live_tools_are_held_against_the_recording(tmp_path):
    run(World(), tmp_path)
    recording = Recording.of(read_trace(trace_of(tmp_path)))

    def with_tools(world):
        @asynccontextmanager
        async def open_tools(sample, recording):
            async with world.open_seams(sample, recording.start.condition) as seams:
                yield seams.toolbox

        live = replace(REPLAYER, open_tools=open_tools)
        return asyncio.run(live.play(recording, puzzle("a"), AgentLoop()))

    assert with_tools(World()).verdict == "same"
    (drift,) = with_tools(World(noise="!")).drift
    assert (drift.step, drift.what, drift.diff.splitlines()[-2:]) == (1, "python", ["-1", "+1!"])


def test_a_live_model_gets_results_by_call_and_never_invented_ones(tmp_path):
    events, _ = run(World(), tmp_path)
    toolbox = ToolResultsByCall(Tape(Recording.of(events), strict=True))
    same = ToolCall(id="other", name="python", arguments='{"code": "x += 1; x"}')
    assert asyncio.run(toolbox.run(same, frozenset())).output == "2"
    with pytest.raises(ReplayError):
        asyncio.run(toolbox.run(same.model_copy(update={"arguments": "{}"}), frozenset()))


def test_a_live_model_is_recorded_in_a_run_of_its_own(recorded, tmp_path):
    out = tmp_path / "out"
    options = ReplayOptions(strict=False, model_live=True, out=out)
    results = asyncio.run(replay(Run(recorded), options, print))
    assert (results[0].episode, results[0].verdict) == ("base/tp-3-00001.1", "same")
    again = asyncio.run(replay(Run(out), ReplayOptions(), print))
    assert {r.verdict for r in again} == {"same"}
    first = read_trace(next(Run(out).traces()))[0]
    assert json.loads(first.model_dump_json())["parent"]["step"] == 0


def test_nothing_is_replayed_where_all_is_live(tmp_path):
    options = ReplayOptions(tools_live=True, model_live=True)
    with pytest.raises(ConfigError, match="start a new run"):
        asyncio.run(replay(Run(tmp_path), options, print))
