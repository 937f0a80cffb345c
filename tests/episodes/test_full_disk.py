"""A disk that fills up while a run is going on, on a real small disk."""

import asyncio
import os
import subprocess

import pytest

from agent_env.episodes.results import episodes_of
from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ConfigError, StorageError
from agent_env.records.trace_events import ModelCalled
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from tests.episodes.runs import WEB, make_run, scripted_runner

SAMPLES = [puzzle(f"a{number}") for number in range(40)]


@pytest.fixture(params=["3m"])
def disk(tmp_path, request):
    """A small disk of its own."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("disk", ["1m"], indirect=True)
def test_it_is_said_before_the_first_episode(disk):
    manifest = make_run(disk.parent / "other", []).manifest
    with pytest.raises(ConfigError, match=r"cannot write to .*: No space left on device"):
        RunFolder(disk / "run").create(manifest, b"")


def test_the_run_stops_with_every_reply_kept_and_goes_on_when_there_is_room(disk):
    filler = disk / "filler"
    filler.write_bytes(bytes(1024 * 1024))
    asked = 0

    class Counted(ScriptedModel):
        async def generate(self, messages, tools, options=None):
            nonlocal asked
            asked += 1
            await asyncio.sleep(0.001)  # others come between
            return await super().generate(messages, tools)

    def opened(sample):
        long = "word " * 4000
        model = Counted([calls(("web_search", "{}")), answer(f"{long}\nMY ANSWER: None")])
        return model, FakeTool("web_search", lambda arguments: f"{sample.id} {long}")

    runner = scripted_runner(disk / "run", opened)

    def run():
        (disk / "run").mkdir(exist_ok=True)
        asyncio.run(runner.run(SAMPLES, [WEB], 1, lambda key, ending: None))

    with pytest.raises(StorageError, match=r"cannot continue: .* kB left on the disk"):
        run()
    traces = [read_trace(file) for file in runner.folder.traces()]
    replies = sum(isinstance(e, ModelCalled) and e.reply is not None for t in traces for e in t)
    in_flight = asked - replies
    assert 0 < len(traces) < 40
    assert in_flight <= 3  # the calls of the other three, cancelled
    filler.unlink()
    run()
    statuses = [e.status for e in episodes_of(runner.folder, pytest.fail)]
    assert statuses == ["finished"] * 40
    assert asked == 80 + in_flight
