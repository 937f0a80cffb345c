"""A disk that fills up while a run is going on, on a real small disk."""

import asyncio

import pytest

from agent_env.episodes.results import episodes_of
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import StorageError
from agent_env.records.trace_events import ModelCalled
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from tests.episodes.runs import WEB, scripted_runner
from tests.episodes.test_run_folder import disk_of

SAMPLES = [puzzle(f"a{number}") for number in range(40)]


@pytest.fixture
def disk(tmp_path):
    yield from disk_of(tmp_path, "3m")


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
    episodes = list(episodes_of(runner.folder, pytest.fail))
    assert len(episodes) == 40
    assert {e.status for e in episodes} == {"finished"}
    assert asked == 80 + in_flight
