"""What talking to models costs: the harness's CPU per step, tokens counted, episodes in flight.

The fake server runs in a process of its own, so that its work is not ours; the SDK and the
socket are the real ones. What the bare SDK takes for the same calls is told beside it.
Run: python benchmarks/models.py [same|step|tokens|flight] ...
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
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.episodes.runner import Runner, Seams
from agent_env.families.time_puzzles.task import make_task
from agent_env.graph.strategies import make_strategy
from agent_env.models.apis import anthropic, compatible, google, openai
from agent_env.models.client import ApiModel
from agent_env.models.settings import Parameters
from agent_env.models.tokenizers import CountedModel, Estimate, Tiktoken
from agent_env.protocols import Limits, Model, Tokenizer
from agent_env.records.schema import Condition, Message, Sample
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.scores.score import score_folder
from agent_env.runs.start import Listener, start_run
from agent_env.tasks.conditions import parse_condition
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from agent_env.tools.toolbox import ToolSet
from agent_env.wiring.trust import own_call

ChatCompletions = partial(ApiModel, compatible.API, permit=own_call())
Responses = partial(ApiModel, openai.API, permit=own_call())
Messages = partial(ApiModel, anthropic.API, permit=own_call())
GenerateContent = partial(ApiModel, google.API, permit=own_call())

if TYPE_CHECKING:
    from openai import AsyncOpenAI

STEPS = 4
TEXT = "Some text of a page that a tool gave back. " * 20
SEARCH: dict[str, Any] = {
    "name": "web_search",
    "description": "Search the web.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
}
CHAT_TOOLS: list[Any] = [{"type": "function", "function": SEARCH}]
RESPONSES_TOOLS: list[Any] = [{"type": "function", "strict": False, **SEARCH}]
QUIET = Listener(lambda line: None, lambda folder, count: None, lambda key, ending: None)
WAYS = {
    "chat": ("compatible/m", {}),
    "chat, streamed": ("compatible/m", {"stream": True}),
    "chat, in text": ("compatible/m", {"tool_protocol": "text"}),
    "responses": ("openai/m", {}),
    "responses, streamed": ("openai/m", {"stream": True}),
    "responses, in text": ("openai/m", {"tool_protocol": "text"}),
    "messages": ("anthropic/m", {}),
    "messages, streamed": ("anthropic/m", {"stream": True}),
    "generateContent": ("google/m", {}),
    "generateContent, streamed": ("google/m", {"stream": True}),
}


def main() -> None:
    """The parts that are named, or all."""
    parts = {"same": same, "step": step, "tokens": tokens, "flight": flight}
    for name in sys.argv[1:] or parts:
        parts[name]()


def same() -> None:
    """50 puzzles by every way of asking, against the policy asked directly."""
    for name in ("OPENAI", "COMPATIBLE", "ANTHROPIC", "GEMINI"):
        os.environ[f"{name}_API_KEY"] = "none-is-needed"
    conditions = ("base", "web", "web-once", "explicit")
    with tempfile.TemporaryDirectory() as where, served("--policy", "reference") as server:
        direct = told(Path(where) / "direct", RunOptions("time-puzzles", conditions=conditions))
        for name, (model, parameters) in WAYS.items():
            begun = time.perf_counter()
            root = server.url.removesuffix("/v1")
            os.environ |= {
                "OPENAI_BASE_URL": server.url,
                "ANTHROPIC_BASE_URL": root,
                "GEMINI_BASE_URL": f"{root}/v1beta",
            }
            base_url = server.url if model.startswith("compatible/") else None
            asked = RunOptions(
                "time-puzzles", model, conditions, base_url=base_url, parameters=parameters
            )
            got = told(Path(where) / name, asked)
            differ = sum(a != b for a, b in zip(got, direct, strict=True))
            took = time.perf_counter() - begun
            print(f"{name:20} {len(got)} episodes, {differ} differ from direct, {took:.1f} s")


def told(out: Path, asked: RunOptions) -> list[tuple[object, ...]]:
    """What each episode answered and scored."""
    from dataclasses import replace

    folder = asyncio.run(start_run(replace(asked, limit=50, out=out), QUIET))
    scored = score_folder(folder, print)
    return [(e.sample, e.condition, e.answer, e.tool_calls, s.metrics) for e, s in scored]


def step() -> None:
    """CPU of one step: with the SDK and the socket, and without either."""
    replies = [
        {"calls": [{"name": "web_search", "arguments": {"query": "Falklands War"}}]},
        {"calls": [{"name": "open_page", "arguments": {"url": "https://a.example/a"}}]},
        {"calls": [{"name": "open_page", "arguments": {"url": "https://a.example/b"}}]},
        {"text": "MY ANSWER: 1982-04-02"},
    ]
    with scripted(replies) as script, served("--script", str(script)) as server:
        url = server.url
        ways = {
            "scripted": lambda: ScriptedModel(direct_replies()),
            "chat": lambda: ChatCompletions("m", "m", url, None, Parameters(), 60.0),
            "chat, streamed": lambda: ChatCompletions(
                "m", "m", url, None, Parameters(), 60.0, True
            ),
            "responses": lambda: Responses("m", "m", url, None, Parameters(), 60.0),
            "messages": lambda: Messages("m", "m", url, None, Parameters(), 60.0),
            "messages, streamed": lambda: Messages("m", "m", url, None, Parameters(), 60.0, True),
            "generateContent": lambda: GenerateContent("m", "m", url, None, Parameters(), 60.0),
            "generateContent, streamed": lambda: GenerateContent(
                "m", "m", url, None, Parameters(), 60.0, True
            ),
        }
        for make in ways.values():
            asyncio.run(episodes(make(), 20, 8))  # what is loaded once
        rounds = [
            {name: cpu_per_step(make(), 100, 8) for name, make in ways.items()} for _ in range(10)
        ]  # in turn, so that other work on the machine meets each way alike
        for name in ways:
            base = "chat, streamed" if name.endswith("streamed") else "chat"
            ratio = statistics.median(each[name] / each[base] for each in rounds)
            figure = statistics.median(each[name] for each in rounds)
            print(f"CPU per step, {name:25} {figure:6.2f} ms, {ratio:.2f} of {base}")


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


IN_FLIGHT, LATENCY_S = 1000, 0.5


def flight() -> None:
    """1,000 episodes at once, half a second a reply; and what the SDK alone takes for their calls.

    Replies alone take STEPS x LATENCY_S. The SDK alone, one client: as its manual shows it.
    """
    replies: list[dict[str, object]] = [
        {"calls": [{"name": "web_search", "arguments": {"query": "x"}}]} for _ in range(3)
    ]
    replies.append({"text": "MY ANSWER: 1982-04-02"})
    print(f"{IN_FLIGHT} in flight: replies alone {STEPS * LATENCY_S:.1f} s")
    for name, kind in (("chat", ChatCompletions), ("responses", Responses)):
        with (
            scripted(replies) as script,
            served("--script", str(script), "--latency", str(LATENCY_S)) as server,
            tempfile.TemporaryDirectory() as where,
        ):
            asyncio.run(
                episodes(kind("m", "m", server.url, None, Parameters(), 60.0), 20, 20)
            )  # what is loaded once
            model = kind("m", "m", server.url, None, Parameters(), 60.0)
            timed(f"agent-env, {name}", server, episodes(model, IN_FLIGHT, IN_FLIGHT, Path(where)))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"    peak {peak:.0f} MB")
            timed(f"SDK alone, {name}, a client each", server, bare(name, server.url, IN_FLIGHT))
            timed(f"SDK alone, {name}, one client", server, bare(name, server.url, 1))


def timed(name: str, server: Server, work: Coroutine[object, object, None]) -> None:
    """Wall time, and CPU time on both sides."""
    cpu, theirs, wall = time.process_time(), server.cpu_s(), time.perf_counter()
    asyncio.run(work)
    cpu, theirs = time.process_time() - cpu, server.cpu_s() - theirs
    wall = time.perf_counter() - wall
    calls = IN_FLIGHT * STEPS
    print(
        f"  {name:33} wall {wall:5.1f} s, {wall / (STEPS * LATENCY_S):4.1f} x replies alone;"
        f" CPU {cpu:5.1f} s, {cpu / calls * 1000:.2f} ms a step;"
        f" server {theirs / calls * 1000:.2f} ms a step"
    )


async def bare(api: str, url: str, clients: int) -> None:
    """The same calls without agent-env: IN_FLIGHT conversations of STEPS replies each."""
    import httpx2
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    certificates = httpx2.create_ssl_context()
    limits = httpx2.Limits(max_connections=-(-IN_FLIGHT // clients))
    made = [
        AsyncOpenAI(
            http_client=DefaultAsyncHttpxClient(verify=certificates, limits=limits),
            base_url=url,
            api_key="none-is-needed",
            timeout=None,
            max_retries=0,
        )
        for _ in range(clients)
    ]
    talk = chat_talk if api == "chat" else responses_talk
    await asyncio.gather(*[talk(made[number % clients]) for number in range(IN_FLIGHT)])
    for client in made:
        await client.close()


async def chat_talk(client: AsyncOpenAI) -> None:
    """One conversation, as long as those of the episodes."""
    said: list[Any] = [{"role": "user", "content": TEXT}]
    for _ in range(STEPS):
        reply = await client.chat.completions.create(model="m", messages=said, tools=CHAT_TOOLS)
        message = reply.choices[0].message
        said.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or ():
            said.append({"role": "tool", "tool_call_id": call.id, "content": TEXT})


async def responses_talk(client: AsyncOpenAI) -> None:
    """The same by the other API."""
    said: list[Any] = [{"role": "user", "content": TEXT}]
    for _ in range(STEPS):
        reply = await client.responses.create(
            model="m", input=said, tools=RESPONSES_TOOLS, store=False
        )
        for item in reply.output:
            said.append(item.model_dump(exclude_none=True))
            if item.type == "function_call":
                output = {"type": "function_call_output", "call_id": item.call_id, "output": TEXT}
                said.append(output)


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
        folder=Run(where),
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


@dataclass(frozen=True, slots=True)
class Server:
    """A fake server in another process."""

    url: str
    pid: int

    def cpu_s(self) -> float:
        """What it has used so far; Linux says so."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(*arguments: str) -> Iterator[Server]:
    """A fake server while the context lasts."""
    command = [sys.executable, "-m", "tests.fake_server", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        cwd=Path(__file__).parents[1],
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield Server(process.stdout.readline().strip(), process.pid)
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
