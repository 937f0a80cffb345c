"""The record of what a user let a run do: kept with the user, and trusted only where it is whole
and nobody else could have written it."""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError
from agent_env.records.manifest import Manifest
from agent_env.runs.options import RunOptions
from agent_env.runs.prepare import prepare_run
from agent_env.runs.run import Run
from agent_env.wiring.trust import check_trust, outside_settings, record_run, state_folder


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run that this user made, with code outside a sandbox and a reply cache."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    options = RunOptions("time-puzzles", conditions=("ci",), limit=1, out=tmp_path / "run",
                         sandbox="unsafe-subprocess")  # fmt: skip
    return asyncio.run(prepare_run(options, lambda text: None, AsyncExitStack()))


def _asks(folder: RunFolder) -> bool:
    """Whether the user is asked before the run is gone on with."""
    try:
        check_trust(folder, folder.manifest(), lambda text: None)
    except ConfigError:
        return True
    return False


def test_the_user_is_not_asked_about_runs_made_here(own: RunFolder) -> None:
    assert [str(each) for each in outside_settings(own.path, own.manifest())] == [
        "sandbox unsafe-subprocess (runs code on this machine)"
    ]
    assert not _asks(own)


def test_a_run_that_was_moved_is_still_ones_own(own: RunFolder, tmp_path: Path) -> None:
    assert not _asks(Run(own.path.rename(tmp_path / "moved")))


def test_a_copy_is_trusted_with_servers_but_not_with_code(own: RunFolder, tmp_path: Path) -> None:
    copy = Run(shutil.copytree(own.path, tmp_path / "copy"))
    assert _asks(copy)
    own.change(sandbox=None, reply_cache="/x/y")
    record_run(own, lambda text: None)
    assert not _asks(Run(shutil.copytree(own.path, tmp_path / "other")))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\x00", b'{"run": "0"}'])
def test_a_broken_record_trusts_nothing_and_can_be_made_again(own: RunFolder, data: bytes) -> None:
    folder = state_folder("runs")
    assert folder is not None
    (file,) = folder.iterdir()
    file.write_bytes(data)
    assert _asks(own)
    check_trust(own, own.manifest(), lambda text: None, confirmed=True)
    assert not _asks(own)
    assert oct(file.stat().st_mode)[-3:] == "600"
    assert oct(folder.stat().st_mode)[-3:] == "700"


def test_a_lost_record_trusts_nothing(own: RunFolder) -> None:
    folder = state_folder("runs")
    assert folder is not None
    shutil.rmtree(folder)
    assert _asks(own)


@pytest.mark.parametrize("how", ["writable by others", "a link", "of another run"])
def test_a_record_that_others_could_have_written_trusts_nothing(own: RunFolder, how: str) -> None:
    folder = state_folder("runs")
    assert folder is not None
    (file,) = folder.iterdir()
    if how == "writable by others":
        file.chmod(0o666)
    elif how == "a link":
        file.symlink_to(file.rename(folder.parent / "elsewhere"))
    else:
        file.write_text(json.dumps(json.loads(file.read_text()) | {"run": "0" * 40}))
    assert _asks(own)


def test_without_a_home_nothing_is_recorded_and_nothing_fails(
    own: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "nowhere")
    assert state_folder("runs") is None
    notes: list[str] = []
    record_run(own, notes.append)
    assert len(notes) == 1
    assert _asks(own)


def test_other_samples_make_another_run(own: RunFolder) -> None:
    own.change(samples_digest="0" * 64)
    assert _asks(own)


def test_files_in_the_folder_reach_nowhere(own: RunFolder, tmp_path: Path) -> None:
    def names(**update: object) -> list[str]:
        manifest: Manifest = own.manifest().model_copy(update={"sandbox": None, **update})
        return [each.name for each in outside_settings(own.path, manifest)]

    assert names(reply_cache=str(own.path / "replies.db")) == []
    assert names(reply_cache=str(own.path / ".." / "replies.db")) == ["reply cache"]
    assert names(reply_cache="replies.db") == ["reply cache"]
    (own.path / "replies.db").symlink_to(tmp_path / "outside")
    assert names(reply_cache=str(own.path / "replies.db")) == ["reply cache"]
