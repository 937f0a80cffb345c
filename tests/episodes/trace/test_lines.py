"""Defects of a trace: each is named by file, line and reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_env.episodes.trace.lines import TraceError, is_finished, read_lines, read_trace, seal
from tests import TESTS
from tests.episodes.trace.test_writer import write_episode


@pytest.fixture
def lines(tmp_path: Path) -> list[bytes]:
    write_episode(tmp_path / "whole.jsonl")
    return (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)


def flipped(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2].replace(b"open_page", b"open_pagf"), *lines[3:]]


def of_version_9(lines: list[bytes]) -> list[bytes]:
    event = json.loads(lines[2]) | {"v": 9, "kind": "dreamed"}
    del event["crc"]
    before = int(json.loads(lines[1])["crc"], 16)
    return [*lines[:2], seal(json.dumps(event).encode(), before)[0], *lines[3:]]


def of_another_run(lines: list[bytes]) -> list[bytes]:
    event = json.loads(lines[2]) | {"duration_s": 0.7}
    del event["crc"]
    return [*lines[:2], seal(json.dumps(event).encode(), 12345)[0], *lines[3:]]


def resealed(lines: list[bytes], **changes: object) -> list[bytes]:
    """The last line as somebody else would write it, with a checksum that fits."""
    event = json.loads(lines[-1]) | changes
    del event["crc"]
    before = int(json.loads(lines[-2])["crc"], 16)
    return [*lines[:-1], seal(json.dumps(event).encode(), before)[0]]


@pytest.mark.parametrize(
    "changes", [{"at": "soon"}, {"at": "2026-01-01T00:00:00"}, {"answer": True}, {"kind": "x"}]
)
def test_a_line_that_fits_its_checksum_and_no_event_is_named(
    tmp_path: Path, lines: list[bytes], changes: dict[str, object]
) -> None:
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
        (of_another_run, r":3: its checksum does not fit"),
        (of_version_9, r":3: was written by a later agent-env \(trace version 9"),
        (
            lambda ls: [*ls[:2], ls[2].replace(b"web/a.1", b"web/b.1"), *ls[3:]],
            r":3: is a line of the episode web/b.1, not of web/a.1",
        ),
        (lambda ls: [*ls[:2], ls[2][:-19] + b"}\n", *ls[3:]], r":3: its checksum is missing"),
    ],
)
def test_a_defect_is_named_by_file_line_and_reason(
    tmp_path: Path,
    lines: list[bytes],
    harm: Callable[[list[bytes]], list[bytes]],
    reason: str,
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"".join(harm(lines)))
    with pytest.raises(TraceError, match=r"a\.jsonl" + reason) as caught:
        read_trace(file)
    assert len(caught.value.sound.events) == int(reason[1]) - 1
    assert not is_finished(file)


def test_a_line_left_out_at_the_end_is_an_episode_cut_off(
    tmp_path: Path, lines: list[bytes]
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"".join(lines[:-1]))
    assert len(read_trace(file)) == 5
    assert not is_finished(file)


def test_no_flipped_bit_goes_unnoticed(tmp_path: Path, lines: list[bytes]) -> None:
    file = tmp_path / "a.jsonl"
    whole = b"".join(lines)
    for place in range(len(whole) - 1):  # the last newline's loss is a torn line
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        with pytest.raises(TraceError):
            read_lines(file, bytes(changed))


def test_traces_of_version_1_are_read_without_checksums() -> None:
    folder = TESTS / "data/runs/version-1/episodes"
    events = [event for file in folder.glob("*/*.jsonl") for event in read_trace(file)]
    assert {event.v for event in events} == {1}
    assert len(events) == 33
