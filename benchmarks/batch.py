"""A run by batch against the fake server: waves, equality with the live run, and kills.

    python benchmarks/batch.py [EPISODES [KILLS [chat|messages|gemini]]]

The server stands in this process, keeps every call that it did, and moves its batches a step at
each look. The run is killed with -9 at random moments, between and in waves, and resumed each time.
"""

import asyncio
import json
import os
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the tests' fake server

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.lines import read_trace
from agent_env.records.trace_events import ModelCalled
from tests.episodes.killing import _run
from tests.fake_server import ScriptedAnswer, tool_call
from tests.features.batch.batch_server import BatchServer
from tests.features.batch.gemini_batches import GeminiBatchServer
from tests.features.batch.message_batches import MessageBatchServer

STEPS = 5
APIS = {
    "chat": (BatchServer, "compatible/x"),
    "messages": (MessageBatchServer, "anthropic/claude-opus-5"),
    "gemini": (GeminiBatchServer, "google/gemini-3-pro-preview"),
}


async def policy(turns, offers):
    """Looks up four times, then answers; what it says depends on what it was asked."""
    step = sum(turn.role == "assistant" for turn in turns) + 1
    if step < STEPS:
        query = json.dumps({"query": f"step {step} of {hash_of(turns)}"})
        return ScriptedAnswer(calls=(tool_call("web_search", query),))
    return ScriptedAnswer(text=f"MY ANSWER: 19{hash_of(turns) % 90 + 10}-01-01")


def hash_of(turns):
    return sum(map(ord, turns[0].content)) + sum(map(len, (turn.content for turn in turns[1:])))


def said(folder):
    """Each episode's texts and calls, without the server's ids, and its answer."""
    told, batched = {}, 0
    for file in RunFolder(folder).traces():
        events = read_trace(file)
        calls = [event for event in events if isinstance(event, ModelCalled)]
        batched += len(calls)
        messages = [call.reply.message for call in calls if call.reply is not None]
        texts = [(m.content, [(c.name, c.arguments) for c in m.tool_calls]) for m in messages]
        told[file.stem] = [type(each).__name__ for each in events], texts, events[-1].answer
    return told, batched


def at(server, model):
    """The model's name; the processes of the runs find the server by the environment."""
    root = server.url.removesuffix("/v1")
    os.environ |= {"ANTHROPIC_BASE_URL": root, "GEMINI_BASE_URL": f"{root}/v1beta"}
    os.environ |= {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
    return f"{model}@{server.url}" if model.startswith("compatible/") else model


async def main(episodes="200", kills="20", api="chat", seed=1):
    rng, (kind, model) = random.Random(seed), APIS[api]
    episodes, kills = int(episodes), int(kills)
    with TemporaryDirectory() as name:
        where = Path(name)
        async with kind(policy) as server:
            new = [
                "run", "time-puzzles", "--limit", str(episodes), "--condition", "web",
                "--model", at(server, model), "--no-preflight",
            ]  # fmt: skip
            live = await timed([*new, "--out", str(where / "live")])
            batch = await timed([*new, "--batch", "--out", str(where / "batch")])
            waves, calm = len(server.batches), Counter(server.asked)
            server.batches.clear()
            server.asked.clear()
            command, killed = [*new, "--batch", "--out", str(where / "killed")], 0
            while killed < kills:
                seen = sum(server.counts.values()) if killed else 0
                started = (where / "killed/run.json").exists
                working = (
                    (lambda: sum(server.counts.values()) > seen) if started() else started  # noqa: B023
                )
                if await _run(command, working, rng.uniform(0.0, 1.2)):
                    break
                killed += 1
                if started():
                    command = ["resume", str(where / "killed")]
            await _run(["resume", str(where / "killed")])
            asked = Counter(server.asked)
            made = server.batches.values()
            batches = Counter(ours(batch) for batch in made if ours(batch))
        told = {each: said(where / each) for each in ("live", "batch", "killed")}
        scores = {each: (where / each / "scores.jsonl").read_bytes() for each in told}

        def equality(way):
            texts, scored = told[way][0] == told["live"][0], scores[way] == scores["live"]
            return f"  texts equal: {texts}, scores equal: {scored}"

        print(f"{episodes} episodes, {told['live'][1]} calls live in {live}")
        print(f"by batch: {waves} batches in {batch}; calls done twice: {twice(calm)}")
        print(equality("batch"))
        print(
            f"killed {killed} times: {len(server.batches)} batches; "
            f"calls done twice: {twice(asked)}; batches handed in twice: {twice(batches)}; "
            f"calls: {len(asked)}"
        )
        print(equality("killed"))


async def timed(arguments):
    """Runs the command; its seconds, and those of the CPU."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "agent_env", *arguments]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{time.monotonic() - began:.0f} s ({cpu_s:.1f} CPU-s)"


def ours(batch):
    """Our id of a batch; Anthropic's have none: their calls tell whether one is there twice."""
    return (batch.get("metadata") or {}).get("agent_env_batch") or batch.get("display")


def twice(counts):
    return sum(number - 1 for number in counts.values())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
