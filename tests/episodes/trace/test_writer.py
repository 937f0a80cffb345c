"""Traces: written line by line, read back whole, defects named."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_env.episodes.trace.fold import fold, worked_s
from agent_env.episodes.trace.lines import is_finished, read_trace, seal
from agent_env.episodes.trace.writer import Fsync, TraceWriter
from agent_env.errors import DatasetError, StorageError
from agent_env.records.schema import Message, ToolCall, ToolResult, Usage
from agent_env.records.trace_events import (
    EpisodeFinished,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    ModelCalled,
    ToolCalled,
)
from agent_env.tasks.conditions import parse_condition
from agent_env.testing import answer, calls


def clock() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


def write_episode(path: Path, usage: Usage | None = None) -> None:
    usage = usage or Usage(input_tokens=10, output_tokens=2, source="provider")
    trace = TraceWriter(path, "web/a.1", clock)
    trace.write(
        EpisodeStarted,
        sample="a",
        condition=parse_condition("web"),
        repeat=1,
        model="scripted",
        messages=(Message(role="user", content="?"),),
    )
    asked = calls(("web_search", "{}"), ("open_page", "{}"), usage=usage)
    trace.write(ModelCalled, request="r", reply=asked, latency_s=0.1)
    for name in ("open_page", "web_search"):  # they may end in any order
        call = next(c for c in asked.message.tool_calls if c.name == name)
        trace.write(ToolCalled, call=call, result=ToolResult(output=name), duration_s=0.1)
    note = Message(role="user", content="now")
    reply = answer("MY ANSWER: None", usage)
    trace.write(ModelCalled, request="r", added=(note,), reply=reply, latency_s=0.1)
    trace.write(EpisodeFinished, answer="MY ANSWER: None", stop_reason="answered")
    trace.close()


def test_the_fold_of_a_trace_is_the_episode(tmp_path: Path) -> None:
    write_episode(tmp_path / "a.jsonl")
    episode = fold(read_trace(tmp_path / "a.jsonl"))
    assert (episode.status, episode.answer, episode.steps) == ("finished", "MY ANSWER: None", 2)
    assert (episode.tool_calls, episode.input_tokens, episode.output_tokens) == (2, 20, 4)
    assert [(m.role, m.content) for m in episode.messages] == [
        ("user", "?"),
        ("assistant", ""),
        ("tool", "web_search"),
        ("tool", "open_page"),
        ("user", "now"),
        ("assistant", "MY ANSWER: None"),
    ]


def test_one_unknown_figure_makes_the_sum_unknown(tmp_path: Path) -> None:
    write_episode(tmp_path / "a.jsonl", Usage(input_tokens=10, source="provider"))
    episode = fold(read_trace(tmp_path / "a.jsonl"))
    assert (episode.input_tokens, episode.output_tokens) == (20, None)


def test_each_event_is_on_disk_before_the_next(tmp_path: Path) -> None:
    trace = TraceWriter(tmp_path / "a.jsonl", "web/a.1", clock)
    for count in range(1, 4):
        trace.write(ModelCalled, request="r", latency_s=0.1)
        assert len(read_trace(tmp_path / "a.jsonl")) == count


def test_an_existing_trace_is_never_written_over(tmp_path: Path) -> None:
    write_episode(tmp_path / "a.jsonl")
    with pytest.raises(StorageError, match=r"a\.jsonl: File exists"):
        TraceWriter(tmp_path / "a.jsonl", "web/a.1", clock)


def test_a_torn_last_line_is_ignored_and_the_episode_unfinished(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    write_episode(file)
    file.write_bytes(file.read_bytes()[:-20])
    assert len(read_trace(file)) == 5
    assert not is_finished(file)
    assert fold(read_trace(file)).status == "unfinished"


def test_a_broken_line_is_named_by_file_line_and_reason(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    write_episode(file)
    lines = file.read_text().splitlines()
    lines[2] = '{"kind": "tool_called"'
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(DatasetError, match=r"a\.jsonl:3: not a trace event: .*Invalid JSON"):
        read_trace(file)


def test_a_missing_line_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    write_episode(file)
    lines = file.read_text().splitlines()
    del lines[2]
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(DatasetError, match=r"a\.jsonl:3: event 3 stands where 2 should"):
        read_trace(file)


def test_fields_of_a_later_version_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    write_episode(file)
    lines = file.read_text().splitlines()
    event = json.loads(lines[0])
    event["mood"] = "fine"
    del event["crc"]
    sealed, _ = seal(json.dumps(event).encode(), 0)
    file.write_bytes(sealed)
    first: Event = read_trace(file)[0]
    assert json.loads(first.model_dump_json())["mood"] == "fine"


def test_a_call_without_arguments_is_kept_as_the_model_wrote_it(tmp_path: Path) -> None:
    trace = TraceWriter(tmp_path / "a.jsonl", "web/a.1", clock)
    call = ToolCall(id="x", name="web_search", arguments="{broken")
    trace.write(ToolCalled, call=call, result=ToolResult(output="Error"), duration_s=0.0)
    (event,) = read_trace(tmp_path / "a.jsonl")
    assert isinstance(event, ToolCalled)
    assert event.call == call


def test_a_trace_goes_on_below_its_last_whole_line(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    write_episode(file)
    file.write_bytes(file.read_bytes()[:-20])
    trace, events = TraceWriter.reopen(file, clock)
    assert len(events) == 5
    trace.write(EpisodeFinished, stop_reason="answered")
    trace.close()
    assert len(read_trace(file)) == 6
    assert is_finished(file)


def test_zeros_that_a_power_loss_left_are_cut_like_a_torn_line(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    write_episode(file)
    file.write_bytes(file.read_bytes() + bytes(4096))
    assert is_finished(file)
    TraceWriter.reopen(file, clock)[0].close()
    assert file.read_bytes().endswith(b"}\n")


def test_two_processes_cannot_write_one_episode(tmp_path: Path) -> None:
    trace = TraceWriter(tmp_path / "a.jsonl", "web/a.1", clock)
    with pytest.raises(StorageError, match="is being written by another process"):
        TraceWriter.reopen(tmp_path / "a.jsonl", clock)
    trace.close()
    TraceWriter.reopen(tmp_path / "a.jsonl", clock)[0].close()


def test_a_pause_is_no_work(tmp_path: Path) -> None:
    times = iter([0, 10, 3610, 3615])
    trace = TraceWriter(
        tmp_path / "a.jsonl", "web/a.1", lambda: clock() + timedelta(seconds=next(times))
    )
    trace.write(ModelCalled, request="r", latency_s=0.1)
    trace.write(ModelCalled, request="r", latency_s=0.1)
    trace.write(EpisodeResumed, steps=0)
    trace.write(EpisodeFinished, stop_reason="answered")
    trace.close()
    assert worked_s(read_trace(tmp_path / "a.jsonl")) == 15.0


@pytest.mark.parametrize(("fsync", "synced"), [("replies", 2), ("all", 2), ("none", 0)])
def test_a_paid_reply_is_forced_to_the_disk_before_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fsync: Fsync, synced: int
) -> None:
    files: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: files.append(os.readlink(f"/proc/self/fd/{fd}")))
    file = tmp_path / "episodes/web/a.1.jsonl"

    async def go() -> None:
        trace = TraceWriter(file, "web/a.1", clock, fsync=fsync)
        trace.write(ModelCalled, request="r", reply=answer("x"), latency_s=0.1)
        await trace.settle()
        trace.write(ModelCalled, request="r", reply=answer("y"), latency_s=0.1)
        await trace.settle()
        await trace.settle()  # nothing is due
        trace.close()

    asyncio.run(go())
    assert files.count(str(file)) == synced
    assert (str(file.parent) in files) == (synced > 0)  # its name too, once


def test_an_event_that_cost_nothing_waits_for_the_next_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)

    async def go() -> None:
        trace = TraceWriter(tmp_path / "a.jsonl", "web/a.1", clock, fsync="replies")
        await trace.settle()
        before = len(synced)
        trace.write(ModelCalled, request="r", error="busy", latency_s=0.1)
        await trace.settle()
        assert len(synced) == before
        trace.close()

    asyncio.run(go())
