"""A run whose model repeats itself: what its trace, its score and its replay say."""

import json

import agent_env as ae
from tests.fake_server import FakeServer, ScriptedAnswer

TEXT = "MY ANSWER: 1999-01-01\n" + "I go through the constraints one by one again. " * 400


async def loops(turns, offers):
    return ScriptedAnswer(TEXT)


async def test_a_run_says_how_replies_were_cut_and_what_that_saved(tmp_path):
    async with FakeServer(loops, piece_delay_s=0.0005) as server:
        run = await ae.run(
            "time-puzzles", model="compatible/fake", base_url=server.url, limit=1, stream=True,
            conditions=["base"], max_output_tokens=5_000, out=tmp_path / "run", progress=False,
        )  # fmt: skip
    (trace,) = (run.path / "episodes" / "base").glob("*.jsonl")
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    reply, end = events[1]["reply"], events[-1]
    assert (reply["finish_reason"], reply["repetition"]["was_cut"]) == ("repetition", True)
    assert end["stop_reason"] == "repetition"
    saved = reply["repetition"]["saved_tokens"]
    assert 4_000 < saved < 5_000
    assert [result.verdict for result in run.replay()] == ["same"]
    (note,) = [note for note in run.scores()[0].notes if "repeated themselves" in note]
    assert note == (
        f"Replies that repeated themselves were cut, which saved about {saved} tokens (estimate)"
    )
