"""What a run says while it goes on."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest

from agent_env.episodes.calls.pacing import ConcurrencyLimit
from agent_env.episodes.run_folder import EpisodeKey
from agent_env.errors import RunStopped
from agent_env.runs import progress as told
from agent_env.runs.run import Run
from tests import TESTS

RUN = TESTS / "data/runs/version-1"
KEY = EpisodeKey("tp-0-1", "web", 1)


def test_the_progress_line_has_the_calls_in_flight_and_their_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(told, "PLAIN_EVERY_S", -1.0)
    pace = ConcurrencyLimit(most=8)
    with told.Progress() as progress:
        progress.listener.begin(Run(tmp_path), 2)
        progress.listener.pace(lambda: str(pace))
        pace.limited(0)
        progress.listener.end(KEY, "answered")
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == ("1 of 2 episodes done, 0 failed; 0 calls in flight of at most 4")


def test_a_stopped_run_says_what_ran(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    progress = told.Progress()
    progress.listener.begin(Run(tmp_path), 2)
    progress.listener.end(KEY, "answered")
    with pytest.raises(RunStopped), progress:
        raise RunStopped("spent", reason="tokens")
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"1 of 2 episodes done, 0 failed; traces in {tmp_path}"
    )


def test_a_complete_run_says_that_nothing_is_left(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with told.Progress() as progress:
        progress.listener.begin(Run(tmp_path), 96)
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"nothing left to do: 96 of 96 episodes are there; traces in {tmp_path}"
    )


def test_failed_episodes_are_counted_apart_and_limits_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with told.Progress() as progress:
        progress.listener.begin(Run(tmp_path), 4)
        for ending in ("answered", "failed", "tokens"):
            progress.listener.end(KEY, ending)
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"2 of 4 episodes done, 1 failed (1 answered, 1 tokens); traces in {tmp_path}"
    )


def test_the_mean_counts_what_earlier_parts_of_the_run_finished(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    last = EpisodeKey("tp-3-00001", "web-once", 1)
    trace = tmp_path / "run/episodes" / f"{last.name}.jsonl"
    trace.rename(tmp_path / "later.jsonl")
    with told.Progress() as progress:
        progress.listener.begin(Run(tmp_path / "run"), 5)
        (tmp_path / "later.jsonl").rename(trace)
        progress.listener.end(last, "answered")
    assert capsys.readouterr().err.splitlines()[-1] == (
        "5 of 5 episodes done (1 now), 0 failed, exact_match 0.600 so far; "
        f"traces in {tmp_path / 'run'}"
    )


class FakeHandle:
    """What IPython gives for one output of a cell."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []

    def display(self, data: dict[str, str], raw: bool) -> None:
        self.shown.append(("display", data["text/plain"]))

    def update(self, data: dict[str, str], raw: bool) -> None:
        self.shown.append(("update", data["text/plain"]))


def test_a_notebook_has_one_line_that_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    handle = FakeHandle()
    monkeypatch.setattr(told, "_notebook_handle", lambda: handle)
    monkeypatch.setattr(told, "LINE_EVERY_S", -1.0)
    with told.Progress() as progress:
        progress.listener.begin(Run(tmp_path), 1)
        progress.listener.end(KEY, "\x1banswered")
    assert handle.shown == [
        ("display", f"1 episodes in {tmp_path}"),
        ("update", r"1 of 1 episodes done, 0 failed (1 \u001banswered)"),
        ("update", rf"1 of 1 episodes done, 0 failed (1 \u001banswered); traces in {tmp_path}"),
    ]
    assert capsys.readouterr().err == ""


def test_a_second_run_of_the_process_has_lines_beside_the_bar_of_the_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    first, second = told.Progress(), told.Progress()
    with first, second:
        first.listener.begin(Run(tmp_path / "first"), 1)
        second.listener.begin(Run(tmp_path / "second"), 1)
        first.listener.end(KEY, "answered")
        second.listener.end(KEY, "answered")
    shown = terminal.getvalue().replace("\n", "")  # the bar's console wraps long lines
    assert f"traces in {tmp_path / 'second'}" in shown
    assert sys.stderr is terminal
