"""A run whose real server process is killed in mid-run and comes back on the same port."""

import asyncio
import socket
from collections import Counter

from agent_env.episodes.results import episodes_of
from agent_env.features.reference.policy import Reference
from agent_env.runs.options.run_options import ReplayOptions, RunOptions
from agent_env.runs.replay import replay
from agent_env.runs.run import Run
from agent_env.runs.start import Listener, start_run
from tests.commands import running
from tests.fake_server import serve


async def test_a_server_that_is_killed_in_mid_run_and_comes_back_loses_nothing(tmp_path):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    ended, notes = Counter(), []

    def on_end(key, ending):
        ended[ending] += 1
        if ended.total() == 3:
            server.kill()

    asked = RunOptions(
        task="time-puzzles", model="compatible/x", conditions=("base", "web"), limit=8,
        out=tmp_path / "run", base_url=f"http://127.0.0.1:{port}/v1", concurrency=4,
    )  # fmt: skip

    words = ("--latency", "0.1", "--port", str(port))
    with running(*words, module="tests.fake_server") as server:
        assert server.stdout.readline().startswith("http://")
        listener = Listener(notes.append, lambda f, n: None, on_end)
        going = asyncio.ensure_future(start_run(asked, listener))
        while not any("waits for its server" in note for note in notes):
            assert not going.done(), notes
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)  # it stays away
        async with serve(Reference(), port=port):
            await going
    assert ended == {"answered": 16}
    assert [note.split(" after ")[0] for note in notes][-1] == "the server is back"
    episodes = list(episodes_of(Run(tmp_path / "run"), print))
    assert {episode.status for episode in episodes} == {"finished"}
    assert 1 <= sum(episode.failed_calls for episode in episodes) <= 4 * 3
    played = await replay(Run(tmp_path / "run"), ReplayOptions(), print)
    assert {one.verdict for one in played} == {"same"}
