"""What talking to models costs: the harness's CPU per step, tokens counted, episodes in flight.

The fake server runs in a process of its own, so that its work is not ours; the SDK and the
socket are the real ones. Run: python benchmarks/models.py [same|step|tokens|flight] ...
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.runner import Runner, Seams
from agent_env.graph.strategies import make_strategy
from agent_env.models.chat_completions import ChatCompletions
from agent_env.models.counting import CountedModel
from agent_env.models.responses import Responses
from agent_env.models.tokenizers import Estimate, Tiktoken
from agent_env.models.wire import Parameters
from agent_env.preparing import RunOptions
from agent_env.protocols import Limits, Model, Tokenizer
from agent_env.run_scores import score_folder
from agent_env.runs import Listener, start_run
from agent_env.schema import Condition, Message, Sample
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.time_puzzles.task import make_task
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from agent_env.tools.toolbox import ToolSet

STEPS = 4
TEXT = "Some text of a page that a tool gave back. " * 20
QUIET = Listener(lambda line: None, lambda folder, count: None, lambda key, ending: None)
WAYS = {
    "chat": ("compatible/m", {}),
    "chat, streamed": ("compatible/m", {"stream": True}),
    "chat, in text": ("compatible/m", {"tool_protocol": "text"}),
    "responses": ("openai/m", {}),
    "responses, streamed": ("openai/m", {"stream": True}),
    "responses, in text": ("openai/m", {"tool_protocol": "text"}),
}


def main() -> None:
    """The parts that are named, or all."""
    parts = {"same": same, "step": step, "tokens": tokens, "flight": flight}
    for name in sys.argv[1:] or parts:
        parts[name]()


def same() -> None:
    """50 puzzles by every way of asking, against the policy asked directly."""
    os.environ["OPENAI_API_KEY"] = os.environ["COMPATIBLE_API_KEY"] = "none-is-needed"
    conditions = ("base", "web", "web-once", "explicit")
    with tempfile.TemporaryDirectory() as where, served("--policy", "reference") as url:
        direct = told(Path(where) / "direct", RunOptions("time-puzzles", conditions=conditions))
        for name, (model, parameters) in WAYS.items():
            begun = time.perf_counter()
            asked = RunOptions(
                "time-puzzles", model, conditions, base_url=url, parameters=parameters
            )
            got = told(Path(where) / name, asked)
            differ = sum(a != b for a, b in zip(got, direct, strict=True))
            took = time.perf_counter() - begun
            print(f"{name:20} {len(got)} episodes, {differ} differ from direct, {took:.1f} s")


def told(out: Path, asked: RunOptions) -> list[tuple[object, ...]]:
    """What each episode answered and scored."""
    from dataclasses import replace

    folder = asyncio.run(start_run(replace(asked, limit=50, out=out), QUIET))
    scored = score_folder(folder, print)[2]
    return [(e.sample, e.condition, e.answer, e.tool_calls, s.metrics) for e, s in scored]


def step() -> None:
    """CPU of one step: with the SDK and the socket, and without either."""
    replies = [
        {"calls": [{"name": "web_search", "arguments": {"query": "Falklands War"}}]},
        {"calls": [{"name": "open_page", "arguments": {"url": "https://a.example/a"}}]},
        {"calls": [{"name": "open_page", "arguments": {"url": "https://a.example/b"}}]},
        {"text": "MY ANSWER: 1982-04-02"},
    ]
    with scripted(replies) as script, served("--script", str(script)) as url:
        ways = {
            "scripted": lambda: ScriptedModel(direct_replies()),
            "chat": lambda: ChatCompletions("m", "m", url, None, Parameters(), 60.0),
            "chat, streamed": lambda: ChatCompletions(
                "m", "m", url, None, Parameters(), 60.0, True
            ),
            "responses": lambda: Responses("m", "m", url, None, Parameters(), 60.0),
        }
        for name, make in ways.items():
            asyncio.run(episodes(make(), 20, 8))
            figures = [cpu_per_step(make(), 200, 8) for _ in range(3)]
            print(f"CPU per step, {name:15} {statistics.median(figures):6.2f} ms")


def cpu_per_step(model: Model, count: int, concurrency: int) -> float:
    """Milliseconds."""
    begun = time.process_time()
    asyncio.run(episodes(model, count, concurrency))
    return (time.process_time() - begun) / (count * STEPS) * 1000


def tokens() -> None:
    """What counting adds to a step whose usage the server does not report."""
    counted = Message(role="tool", content=TEXT, tool_call_id="a")
    for tokenizer in (Estimate(), Tiktoken("o200k_base"), Tiktoken("cl100k_base")):
        begun = time.perf_counter()
        tokenizer.count("once")
        loaded = time.perf_counter() - begun
        rounds = [counting_ms(tokenizer, counted) for _ in range(200)]
        print(
            f"counting by {tokenizer.name:12} loaded in {loaded:4.1f} s,"
            f" {statistics.median(rounds):6.3f} ms a step of {len(TEXT)} characters"
        )


def counting_ms(tokenizer: Tokenizer, message: Message) -> float:
    """One step: a tool's result is new, and the reply."""
    model = CountedModel(ScriptedModel([answer("I look at the next page now.")]), tokenizer)
    begun = time.process_time()
    model._counted([message], answer("I look at the next page now."))
    return (time.process_time() - begun) * 1000


def flight() -> None:
    """1,000 episodes at once, half a second a reply."""
    count, latency = 1000, 0.5
    replies: list[dict[str, object]] = [
        {"calls": [{"name": "web_search", "arguments": {"query": "x"}}]} for _ in range(3)
    ]
    replies.append({"text": "MY ANSWER: 1982-04-02"})
    arguments = ("--latency", str(latency))
    with scripted(replies) as script, served("--script", str(script), *arguments) as url:
        for name, kind in (("chat", ChatCompletions), ("responses", Responses)):
            model = kind("m", "m", url, None, Parameters(), 60.0)
            asyncio.run(episodes(kind("m", "m", url, None, Parameters(), 60.0), 20, 20))
            cpu, wall = time.process_time(), time.perf_counter()
            with tempfile.TemporaryDirectory() as where:
                asyncio.run(episodes(model, count, count, Path(where)))
                cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            ideal = STEPS * latency
            print(
                f"{count} in flight, {name:10} wall {wall:5.1f} s (replies alone {ideal:.1f} s),"
                f" our CPU {cpu:5.1f} s, {cpu / (count * STEPS) * 1000:.2f} ms a step,"
                f" peak {peak:.0f} MB"
            )


async def episodes(model: Model, count: int, concurrency: int, where: Path | None = None) -> None:
    """Run `count` episodes with full traces; the tools do nothing."""
    if where is None:
        with tempfile.TemporaryDirectory() as fresh:
            await episodes(model, count, concurrency, Path(fresh))
        return

    @asynccontextmanager
    async def open_seams(sample: Sample, condition: Condition) -> AsyncIterator[Seams]:
        tools = [FakeTool(name, lambda arguments: TEXT) for name in ("web_search", "open_page")]
        strategy = make_strategy(condition, make_task().prompt)
        yield Seams(CountedModel(model, Estimate()), ToolSet(tools), strategy)

    runner = Runner(
        folder=RunFolder(where),
        model_name="m",
        open_seams=open_seams,
        tokenizer=Estimate(),
        limits=Limits(),
        concurrency=concurrency,
    )
    samples = [puzzle(f"tp-0-{number:05d}") for number in range(count)]
    ended: list[str] = []
    await runner.run(samples, [parse_condition("web")], 1, lambda key, ending: ended.append(ending))
    assert ended == ["answered"] * count, set(ended)
    if (close := getattr(model, "close", None)) is not None:
        await close()


def direct_replies() -> list[object]:
    """The script as replies, for a model without a socket."""
    return [
        calls(("web_search", '{"query": "Falklands War"}')),
        calls(("open_page", '{"url": "https://a.example/a"}'), first_id=2),
        calls(("open_page", '{"url": "https://a.example/b"}'), first_id=3),
        answer("MY ANSWER: 1982-04-02"),
    ]


@contextmanager
def scripted(replies: list[dict[str, object]]) -> Iterator[Path]:
    """A script file."""
    with tempfile.TemporaryDirectory() as where:
        file = Path(where) / "script.jsonl"
        file.write_text("\n".join(json.dumps(reply) for reply in replies))
        yield file


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """The base URL of a fake server in another process."""
    command = [sys.executable, "-m", "agent_env", "fake-server", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
