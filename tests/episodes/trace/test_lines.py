"""Traces as files: what is written is read, and what was changed is found."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from agent_env.episodes.trace.fold import fold, worked_s
from agent_env.episodes.trace.lines import (
    TraceError,
    TraceWriter,
    is_finished,
    read_lines,
    read_trace,
    seal,
)
from agent_env.errors import StorageError
from agent_env.records.schema import Message, ToolResult, Usage
from agent_env.records.trace_events import (
    EpisodeFinished,
    EpisodeResumed,
    EpisodeStarted,
    ModelCalled,
    ToolCalled,
)
from agent_env.tasks.conditions import parse_condition
from agent_env.testing import answer, calls


@pytest.fixture
def lines(tmp_path):
    write_episode(tmp_path / "whole.jsonl")
    return (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)


def flipped(lines):
    return [*lines[:2], lines[2].replace(b"open_page", b"open_pagf"), *lines[3:]]


def resealed(lines, number=-1, before=None, **changes):
    """A line as somebody else would write it, with a checksum that fits, or another run's."""
    event = json.loads(lines[number]) | changes
    del event["crc"]
    before = int(json.loads(lines[number - 1])["crc"], 16) if before is None else before
    return [*lines[:number], seal(json.dumps(event).encode(), before)[0], *lines[number:][1:]]


@pytest.mark.parametrize(
    "changes", [{"at": "soon"}, {"at": "2026-01-01T00:00:00"}, {"answer": True}, {"kind": "x"}]
)
def test_a_line_that_fits_its_checksum_and_no_event_is_named(tmp_path, lines, changes):
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"".join(resealed(lines, **changes)))
    with pytest.raises(TraceError, match=f":{len(lines)}: not a trace event"):
        read_trace(file)
    assert is_finished(file) == ("at" in changes)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda ls: [*ls[:2], ls[2][:40] + b"\n", *ls[3:]], r":3: not a trace event: Invalid JSON"),
        (lambda ls: [*ls[:3], ls[2], *ls[3:]], r":4: event 2 stands where 3 .*doubled or moved"),
        (lambda ls: [*ls[:2], ls[3], ls[2], *ls[4:]], r":3: event 3 stands where 2 .*missing or m"),
        (flipped, r":3: its checksum does not fit; a byte was changed, or the line is from ano"),
        (lambda ls: resealed(ls, 2, 12345, duration_s=0.7), r":3: its checksum does not fit"),
        (
            lambda ls: resealed(ls, 2, v=9, kind="dreamed"),
            r":3: is of trace version 9; this agent-env reads version 2",
        ),
        (
            lambda ls: [*ls[:2], ls[2].replace(b"web/a.1", b"web/b.1"), *ls[3:]],
            r":3: is a line of the episode web/b.1, not of web/a.1",
        ),
        (lambda ls: [*ls[:2], ls[2][:-19] + b"}\n", *ls[3:]], r":3: its checksum is missing"),
    ],
)
def test_a_defect_is_named_by_file_line_and_reason(tmp_path, lines, harm, reason):
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"".join(harm(lines)))
    with pytest.raises(TraceError, match=r"a\.jsonl" + reason) as caught:
        read_trace(file)
    assert len(caught.value.sound.events) == int(reason[1]) - 1
    assert not is_finished(file)


def test_no_flipped_bit_goes_unnoticed(tmp_path, lines):
    file = tmp_path / "a.jsonl"
    whole = b"".join(lines)
    for place in range(len(whole) - 1):  # the last newline's loss is a torn line
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        with pytest.raises(TraceError):
            read_lines(file, bytes(changed))


def clock():
    return datetime(2026, 1, 1, tzinfo=UTC)


def write_episode(path):
    usage = Usage(input_tokens=10, output_tokens=2, source="provider")
    trace = TraceWriter(path, "web/a.1", clock)
    trace.write(
        EpisodeStarted, sample="a", condition=parse_condition("web"), repeat=1, model="scripted",
        messages=(Message(role="user", content="?"),),
    )  # fmt: skip
    asked = calls(("web_search", "{}"), ("open_page", "{}"), usage=usage)
    trace.write(ModelCalled, request="r", reply=asked, latency_s=0.1)
    for call in reversed(asked.message.tool_calls):  # they may end in any order
        trace.write(ToolCalled, call=call, result=ToolResult(output=call.name), duration_s=0.1)
    note = Message(role="user", content="now")
    reply = answer("MY ANSWER: None", usage)
    trace.write(ModelCalled, request="r", added=(note,), reply=reply, latency_s=0.1)
    trace.write(EpisodeFinished, answer="MY ANSWER: None", stop_reason="answered")
    trace.close()


def test_the_fold_of_a_trace_is_the_episode_and_it_is_never_written_over(tmp_path):
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
    with pytest.raises(StorageError, match=r"a\.jsonl: File exists"):
        TraceWriter(tmp_path / "a.jsonl", "web/a.1", clock)


def test_a_torn_last_line_or_zeros_of_a_power_loss_are_ignored_and_gone_on_below(tmp_path):
    file = tmp_path / "a.jsonl"
    write_episode(file)
    file.write_bytes(file.read_bytes() + bytes(4096))
    assert is_finished(file)
    TraceWriter.reopen(file, clock)[0].close()
    assert file.read_bytes().endswith(b"}\n")
    file.write_bytes(file.read_bytes()[:-20])
    assert len(read_trace(file)) == 5
    assert not is_finished(file)
    assert fold(read_trace(file)).status == "unfinished"
    trace, events = TraceWriter.reopen(file, clock)
    assert len(events) == 5
    trace.write(EpisodeFinished, stop_reason="answered")
    trace.close()
    assert len(read_trace(file)) == 6
    assert is_finished(file)


def test_fields_of_a_later_version_are_kept(tmp_path):
    file = tmp_path / "a.jsonl"
    write_episode(file)
    file.write_bytes(resealed(file.read_bytes().splitlines(), 0, 0, mood="fine")[0])
    first = read_trace(file)[0]
    assert json.loads(first.model_dump_json())["mood"] == "fine"


def test_two_processes_cannot_write_one_episode(tmp_path):
    trace = TraceWriter(tmp_path / "a.jsonl", "web/a.1", clock)
    with pytest.raises(StorageError, match="is being written by another process"):
        TraceWriter.reopen(tmp_path / "a.jsonl", clock)
    trace.close()
    TraceWriter.reopen(tmp_path / "a.jsonl", clock)[0].close()


def test_a_pause_is_no_work(tmp_path):
    times = (clock() + timedelta(seconds=second) for second in (0, 10, 3610, 3615))
    trace = TraceWriter(tmp_path / "a.jsonl", "web/a.1", times.__next__)
    for _ in range(2):
        trace.write(ModelCalled, request="r", latency_s=0.1)
    trace.write(EpisodeResumed, steps=0)
    trace.write(EpisodeFinished, stop_reason="answered")
    trace.close()
    assert worked_s(read_trace(tmp_path / "a.jsonl")) == 15.0


async def test_a_paid_reply_is_forced_to_the_disk_and_what_cost_nothing_is_not(
    tmp_path, monkeypatch
):
    files = []
    monkeypatch.setattr(os, "fsync", lambda fd: files.append(os.readlink(f"/proc/self/fd/{fd}")))
    file = tmp_path / "episodes/web/a.1.jsonl"
    trace = TraceWriter(file, "web/a.1", clock, sync=True)
    for text in ("x", "y"):
        trace.write(ModelCalled, request="r", reply=answer(text), latency_s=0.1)
        await trace.settle()
    await trace.settle()  # nothing is due
    forced = list(files)
    trace.write(ModelCalled, request="r", error="busy", latency_s=0.1)
    await trace.settle()
    assert files == forced
    trace.close()
    assert files.count(str(file)) == 2
    assert str(file.parent) in files  # its name too, once
