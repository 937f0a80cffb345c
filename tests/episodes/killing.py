"""A run that is killed with -9 again and again and resumed each time, and what it asked for.

The server stands in this process and keeps every request. A request is known by the puzzle's
prompt, which only one episode asks, and by how many replies it holds already; so it can be said
whether a reply that stood in a trace was asked for again.
"""

import asyncio
import json
import multiprocessing
import os
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from agent_env.cli.app import main
from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import DatasetError
from agent_env.features.reference.policy import Reference
from agent_env.records.trace_events import EpisodeStarted, ModelCalled
from tests.fake_server import serve


@dataclass(frozen=True, slots=True)
class Ordeal:
    """What came of it."""

    kills: int
    """How often the process was killed before the run was done."""
    requests: int
    repeats: int
    """Requests that were made more than once."""
    in_flight: int
    """Requests that had no answer, or one not yet written, when the process was killed; summed."""
    asked_again: int
    """Requests whose reply stood in a trace already."""
    same_scores: bool
    """Whether the scores are those of the undisturbed run, byte for byte."""
    episodes: int
    left_over: int
    """Episodes that did not end."""


async def ordeal(where, dataset, condition, kills, concurrency, latency_s, rng):
    """Run once undisturbed and once with `kills` kills at random moments."""
    async with serve(Reference(), latency_s=latency_s) as server:
        log = []
        server.recent = log  # all of them, not the latest
        new = [
            "run", "time-puzzles", "--dataset", str(dataset), "--condition", condition,
            "--model", "compatible/x", "--base-url", server.url, "--concurrency", str(concurrency),
        ]  # fmt: skip
        await _run([*new, "--out", str(where / "calm")])
        log.clear()
        killed, in_flight, again = where / "killed", 0, 0
        done = 0
        command = [*new, "--out", str(killed)]
        while done < kills:
            held, seen = held_requests(killed), len(log)
            life_s = rng.uniform(0.05, 4 * latency_s)
            ended = await _run(command, lambda: len(log) > seen, life_s)  # noqa: B023
            again += sum(request_of(body) in held for body in log[seen:])
            if ended:
                break
            done += 1
            await asyncio.sleep(latency_s)  # the server answers into closed connections
            in_flight += len(set(map(request_of, log)) - held_requests(killed))
            command = ["resume", str(killed)]
        held, seen = held_requests(killed), len(log)
        await _run(["resume", str(killed)])
        again += sum(request_of(body) in held for body in log[seen:])
    counts = Counter(map(request_of, log))
    scores = [(where / name / "scores.jsonl").read_bytes() for name in ("calm", "killed")]
    lines = [json.loads(line) for line in scores[1].splitlines()]
    return Ordeal(
        kills=done,
        requests=len(log),
        repeats=len(log) - len(counts),
        in_flight=in_flight,
        asked_again=again,
        same_scores=scores[0] == scores[1],
        episodes=len(lines),
        left_over=sum(line["outcome"] not in ("read", "unreadable") for line in lines),
    )


async def _run(arguments, working=None, life_s=0.0):
    """Run the command to its end, or kill it `life_s` after it began to work; whether it ended."""
    with TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        process = PROCESSES.Process(target=run_command, args=(arguments, said))
        process.start()
        if working is not None:
            await _until(lambda: working() or not process.is_alive())
            await asyncio.sleep(life_s)
            process.kill()
        await _until(lambda: not process.is_alive())
        process.join()
        if process.exitcode not in (0, -signal.SIGKILL):
            text = said.read_text()[-2000:]
            raise RuntimeError(f"{arguments} ended with {process.exitcode}: {text}")
        return process.exitcode == 0


async def _until(true):
    while not true():  # noqa: ASYNC110  # what is waited for is another process
        await asyncio.sleep(0.005)


def run_command(arguments, said):
    """agent-env in a process of its own; what it prints goes to a file."""
    with said.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        sys.argv = ["agent-env", *arguments]
        main()


PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([  # so that a process is there at once
    "tests.episodes.killing", "openai", "agent_env.graph.loop", "agent_env.runs.resume",
    "agent_env.analysis.summary", "agent_env.families.time_puzzles.task",
    "agent_env.models.client", "agent_env.models.apis.compatible", "agent_env.episodes.runner",
    "agent_env.features.facts.sealed",
])  # fmt: skip


def request_of(body):
    messages = body["messages"]
    return messages[0]["content"], sum(message["role"] == "assistant" for message in messages)


def held_requests(run):
    """What the traces hold replies to."""
    held = set()
    for file in RunFolder(run).traces():
        try:
            events = read_trace(file)
        except DatasetError as exc:
            raise AssertionError("a killed process left a broken trace") from exc
        start = events[0] if events else None
        if isinstance(start, EpisodeStarted):
            replies = sum(isinstance(e, ModelCalled) and e.reply is not None for e in events)
            held |= {(start.messages[0].content, number) for number in range(replies)}
    return held
