"""What the harness itself costs: 200 episodes of 3 tool calls and an answer, with full traces; then
the same in Inspect, with its log.

The model is scripted and the tools do nothing, so all that is measured is the harness: the loop on
LangGraph, the recording seams, the trace files. Run: python benchmarks/episode_overhead.py
"""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.runner import Runner, Seams
from agent_env.families.time_puzzles.task import make_task
from agent_env.graph.strategies import make_strategy
from agent_env.models.tokenizers import Estimate
from agent_env.protocols import Limits
from agent_env.records.schema import Condition, Sample, Usage
from agent_env.tasks.conditions import parse_condition
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from agent_env.tools.toolbox import ToolSet

EPISODES = 200
STEPS = 4
NAMES = ("web_search", "open_page")
CONCURRENCY = 200
TEXT = "Some text of a page that a tool gave back. " * 20


def main() -> None:
    """Run once to warm up, then measure."""
    asyncio.run(episodes(10))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cpu, wall = time.process_time(), time.perf_counter()
    size = asyncio.run(episodes(EPISODES))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"CPU per step         {cpu / (EPISODES * STEPS) * 1000:8.2f} ms")
    print(f"episodes per second  {EPISODES / wall:8.1f}")
    print(f"peak memory          {peak:8.1f} MB (of it {before:.1f} before the first episode)")
    print(f"trace per episode    {size / EPISODES:8.0f} bytes")
    ours = median(per_step(lambda count: asyncio.run(episodes(count))) for _ in range(5))
    in_inspect(10)
    theirs = median(per_step(in_inspect) for _ in range(5))
    print(f"Inspect, per step    {theirs:8.2f} ms; ours {ours:.2f} ms: {theirs / ours:.1f}, n = 5")


def per_step(run: Callable[[int], object]) -> float:
    """Milliseconds of CPU."""
    began = time.process_time()
    run(EPISODES)
    return (time.process_time() - began) / (EPISODES * STEPS) * 1000


def in_inspect(count: int) -> None:
    """The same episodes by Inspect's own loop, all at once, with its log."""
    import inspect_ai  # here, as its memory is none of ours
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import Tool, tool

    def text_tool(name: str) -> Tool:
        async def execute(query: str) -> str:
            """Searches or opens.

            Args:
                query: What.
            """
            return TEXT

        return tool(name=name)(lambda: execute)()

    def reply(messages: Any, *others: Any) -> ModelOutput:
        done = sum(message.role == "tool" for message in messages)
        if done < STEPS - 1:
            arguments = {"query": "Falklands War"}
            output = ModelOutput.for_tool_call("scripted", NAMES[min(done, 1)], arguments)
        else:
            output = ModelOutput.from_content("scripted", "MY ANSWER: 1982-04-02")
        usage = ModelUsage(input_tokens=900, output_tokens=40, total_tokens=940)
        return output.model_copy(update={"usage": usage})

    samples = [inspect_ai.dataset.Sample(input="When did it begin?") for _ in range(count)]
    task = inspect_ai.Task(samples, solver=[use_tools(*map(text_tool, NAMES)), generate()])
    model = get_model("mockllm/scripted", custom_outputs=reply, memoize=False)
    with tempfile.TemporaryDirectory() as logs:
        at_once: Any = dict.fromkeys(("max_samples", "max_connections"), CONCURRENCY)
        (log,) = inspect_ai.eval(task, model, log_dir=logs, display="none", **at_once)
    assert log.status == "success"
    (used,) = log.stats.model_usage.values()
    assert used.input_tokens == 900 * STEPS * count


async def episodes(count: int) -> int:
    """Run `count` episodes at once; the bytes of their traces."""
    with tempfile.TemporaryDirectory() as where:
        folder = RunFolder(Path(where))
        runner = Runner(
            folder=folder,
            model_name="scripted",
            open_seams=open_seams,
            tokenizer=Estimate(),
            limits=Limits(),
            concurrency=CONCURRENCY,
        )
        samples = [puzzle(f"tp-0-{number:05d}") for number in range(count)]
        await runner.run(samples, [parse_condition("web")], 1, lambda key, ending: None)
        return sum(file.stat().st_size for file in folder.traces())


@asynccontextmanager
async def open_seams(sample: Sample, condition: Condition) -> AsyncIterator[Seams]:
    """A scripted model and two tools that answer at once."""
    usage = Usage(input_tokens=900, output_tokens=40, source="provider")
    steps = [
        calls(("web_search", '{"query": "Falklands War"}'), usage=usage, first_id=1),
        calls(("open_page", '{"url": "https://encyclopedia.example/a"}'), usage=usage, first_id=2),
        calls(("open_page", '{"url": "https://encyclopedia.example/b"}'), usage=usage, first_id=3),
        answer("MY ANSWER: 1982-04-02", usage),
    ]
    tools = [FakeTool(name, lambda arguments: TEXT) for name in NAMES]
    strategy = make_strategy(condition, make_task().prompt)
    yield Seams(ScriptedModel(steps), ToolSet(tools), strategy)


if __name__ == "__main__":
    main()
