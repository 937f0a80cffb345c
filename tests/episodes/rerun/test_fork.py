"""Forks: what is taken over, what is asked anew, and the parent beside them."""

import asyncio
import json

import pytest

from agent_env.episodes.rerun.fork import read_edits, step_of
from agent_env.episodes.trace.fold import Recording
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ConfigError, DatasetError
from agent_env.records.trace_events import EpisodeResumed, ModelCalled, ToolCalled
from agent_env.runs.fork import fork, read_forks
from agent_env.runs.options.run_options import ForkOptions, ReplayOptions
from agent_env.runs.replay import replay
from agent_env.runs.run import Run
from tests.plans import QUIET


@pytest.fixture
def parent(recorded):
    return recorded / "episodes/web/tp-3-00001.1.jsonl"


def test_a_fork_goes_on_live_behind_step_k_and_knows_its_parent(tmp_path, parent):
    named = tmp_path / "run/web/tp-3-00001.1"
    out = asyncio.run(fork(named, ForkOptions(2, tmp_path / "out", repeats=2), QUIET))
    old = [e for e in read_trace(parent) if isinstance(e, ModelCalled)]
    for repeat in (1, 2):
        start, *events = read_trace(out.path / f"episodes/web/tp-3-00001.{repeat}.jsonl")
        assert (start.parent.episode, start.parent.step) == ("web/tp-3-00001.1", 2)
        called = [e for e in events if isinstance(e, ModelCalled)]
        assert [e.replayed for e in called[:3]] == [True, True, None]
        assert [e.request for e in called[:3]] == [e.request for e in old[:3]]
        assert [e.steps for e in events if isinstance(e, EpisodeResumed)] == [2]
    assert out.manifest.parent == start.parent
    found = read_forks(out, print).episodes
    assert [name for name, _, _ in found] == ["parent", "fork 1", "fork 2"]
    assert found[0][2].metrics["exact_match"] == 1.0
    assert {r.verdict for r in asyncio.run(replay(out, ReplayOptions(), print))} == {"same"}


def test_an_edited_result_and_other_tools_make_another_story(tmp_path, parent):
    (tmp_path / "edit.txt").write_text("No results.")
    other = {"condition": "web-once", "edit": tmp_path / "edit.txt", "model": "reference"}
    out = asyncio.run(fork(parent, ForkOptions(1, tmp_path / "out", **other), QUIET))
    events = read_trace(out.path / "episodes/web-once/tp-3-00001.1.jsonl")
    edited = next(e for e in events if isinstance(e, ToolCalled))
    assert (edited.result.output, edited.replayed) == ("No results.", True)
    assert out.manifest.conditions[0].name == "web-once"
    assert {r.verdict for r in asyncio.run(replay(out, ReplayOptions(), print))} == {"same"}
    scores = [score.metrics["exact_match"] for _, _, score in read_forks(out, print).episodes]
    assert scores == [1.0, 0.0]


def test_edits_name_calls_by_number_or_id(tmp_path, parent):
    step = step_of(Recording.of(read_trace(parent)), 1)
    (call,) = step.reply.message.tool_calls
    file = tmp_path / "edit.json"
    for name in ("1", call.id):
        file.write_text(json.dumps({name: "new"}))
        assert read_edits(file, step) == {call.id: "new"}
    file.write_text(json.dumps({"7": "new"}))
    with pytest.raises(DatasetError, match="no call '7' in that step"):
        read_edits(file, step)
    with pytest.raises(ConfigError, match="cannot read"):
        read_edits(tmp_path / "none", step)


def test_a_folder_in_use_is_not_written_over_and_other_runs_have_no_parent(tmp_path, parent):
    with pytest.raises(ConfigError, match="is not empty"):
        asyncio.run(fork(parent, ForkOptions(1, tmp_path / "run"), QUIET))
    with pytest.raises(ConfigError, match="is not a run of forks"):
        read_forks(Run(parent.parents[2]), print)
