"""What durable traces cost, and what they are good for.

python -m benchmarks.episodes            the figures: traces, replay, resume, re-scoring, index
python -m benchmarks.episodes kills 50   a run killed with -9 at 50 random moments (minutes)

Run it from the repository's root. Times are CPU seconds of this process where it says CPU.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from random import Random
from statistics import median

from agent_env.episodes.index import Index
from agent_env.episodes.results import score_run
from agent_env.episodes.run_folder import RunFolder, digest
from agent_env.episodes.runner import Runner, Seams, utc_now
from agent_env.episodes.trace.lines import TraceWriter
from agent_env.episodes.trace.texts import Texts
from agent_env.families.time_puzzles.family import SetOptions, make_set
from agent_env.families.time_puzzles.task import make_task
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.graph.strategies import make_strategy
from agent_env.models.tokenizers import Estimate
from agent_env.protocols import Limits, ReplyOptions
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Condition, Message, Reply, Sample, ToolSpec
from agent_env.runs.options.run_options import ReplayOptions, RunOptions
from agent_env.runs.replay import replay
from agent_env.runs.run import Run
from agent_env.runs.start import Listener, start_run
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.sample_files import parse_where, samples_bytes
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from agent_env.tools.toolbox import ToolSet
from agent_env.wiring.components import versions
from tests.episodes.killing import ordeal

MANY = 10_000
QUIET = Listener(note=lambda text: None, begin=lambda *a: None, end=lambda *a: None)
PAGE = "Some text of a page that a tool gave back. " * 40


def main() -> None:
    """All figures, or the kills."""
    with tempfile.TemporaryDirectory() as where:
        if sys.argv[1:2] == ["kills"]:
            kills(Path(where), int(sys.argv[2]) if sys.argv[2:] else 50)
            return
        trace_cost(Path(where))
        sizes(Path(where))
        many(Path(where))


def trace_cost(where: Path) -> None:
    """Events as a run writes them, without fsync and with it."""
    for sync in (False, True):
        texts = Texts(where / f"cost-{sync}" / "texts.db")
        (where / f"cost-{sync}").mkdir()
        spent = []
        for number in range(200):
            path = where / f"cost-{sync}/episodes/web/a{number}.1.jsonl"
            cpu = time.process_time()
            events = asyncio.run(_write_episode(path, texts, sync))
            spent.append((time.process_time() - cpu) / events * 1000)
        print(f"trace, fsync {sync!s:8}  {median(spent):8.3f} CPU-ms an event")
        texts.close()


async def _write_episode(path: Path, texts: Texts, sync: bool) -> int:
    from agent_env.records.schema import ToolCall, ToolResult
    from agent_env.records.trace_events import (
        EpisodeFinished,
        EpisodeStarted,
        ModelCalled,
        ToolCalled,
    )

    trace = TraceWriter(path, f"web/{path.stem}", utc_now, texts, sync)
    message = (Message(role="user", content="Which date is it? " * 60),)
    trace.write(
        EpisodeStarted, sample="a", condition=parse_condition("web"), repeat=1, model="m",
        messages=message, tools=_tools().specs,
    )  # fmt: skip
    for number in range(3):
        call = ToolCall(id=str(number), name="open_page", arguments='{"url": "https://x.example"}')
        trace.write(ModelCalled, request="0" * 64, reply=calls(("open_page", "{}")), latency_s=0.1)
        await trace.settle()
        result = ToolResult(output=f"{path.stem} {number} {PAGE}")
        trace.write(ToolCalled, call=call, result=result, duration_s=0.1)
    trace.write(ModelCalled, request="0" * 64, reply=answer("MY ANSWER: None"), latency_s=0.1)
    await trace.settle()
    trace.write(EpisodeFinished, answer="MY ANSWER: None", stop_reason="answered")
    trace.close()
    return 9


def sizes(where: Path) -> None:
    """Bytes of real episodes of `reference` on the sealed web, 100 puzzles."""
    out = where / "sizes"
    options = RunOptions("time-puzzles", conditions=("web",), limit=100, seed=7, out=out)
    folder = asyncio.run(start_run(options, QUIET))
    steps = Index(folder)
    steps.update()
    rows = {row.values["episode"]: row.values["steps"] for row in steps.rows([])}
    traces = {folder.key_of(file): file.stat().st_size for file in folder.traces()}
    four = [size for name, size in traces.items() if rows[name] == 4]
    texts = sum(file.stat().st_size for file in out.glob("texts.db*"))
    print(
        f"trace of 4 steps        {median(four):8.0f} bytes (largest {max(four)}, {len(four)} seen)"
    )
    print(f"texts beside it         {texts / len(traces):8.0f} bytes an episode, compressed")
    cpu = time.process_time()
    results = asyncio.run(replay(folder, ReplayOptions(), print))
    cpu = time.process_time() - cpu
    played = sum(result.steps for result in results)
    assert {result.verdict for result in results} == {"same"}
    print(f"replay                  {played / 4 / cpu:8.0f} episodes of 4 steps a CPU-s")


def many(where: Path) -> None:
    """A run of 10,000 episodes of 4 steps: resume, re-score, index."""
    folder = _recorded(where / "many", MANY)
    cpu = time.process_time()
    score_run(folder, folder.task, print)
    print(f"re-score {MANY:,}        {time.process_time() - cpu:8.1f} CPU-s")
    for name in ("first", "again"):
        cpu, index = time.process_time(), Index(folder)
        read = index.update()
        print(f"index, {name:15}  {time.process_time() - cpu:8.2f} CPU-s ({read} traces read)")
    cpu = time.process_time()
    index.totals([parse_where("status=finished")])
    print(f"sums over the index     {(time.process_time() - cpu) * 1000:8.1f} CPU-ms")
    traces = list(folder.traces())
    for file in traces[MANY // 2 :]:
        file.unlink()
    first_s, done = _first_call_s(folder), MANY // 2
    print(f"resume, first live call {first_s:8.2f} s after the start ({done:,} done)")
    shutil.rmtree(folder.path)


def _recorded(path: Path, count: int) -> RunFolder:
    samples = [puzzle(f"tp-0-{number:05d}") for number in range(count)]
    data = samples_bytes(samples)
    task = make_task()
    folder = Run(path)
    manifest = Manifest(
        id="0", task="time-puzzles", model="scripted", conditions=(parse_condition("web"),),
        repeats=1, limits=asdict(task.limits), prompt="default", seed=1, samples=count,
        samples_digest=digest(data), concurrency=32, versions=versions(), created_at="",
    )  # fmt: skip
    folder.create(manifest, data)
    asyncio.run(_runner(folder, lambda: None).run(samples, manifest.conditions, 1, QUIET.end))
    return folder


def _first_call_s(folder: RunFolder) -> float:
    """From reading the folder to the first request."""
    started, first = time.perf_counter(), [0.0]

    def called() -> None:
        first[0] = time.perf_counter()
        raise KeyboardInterrupt

    samples = folder.samples
    conditions = folder.manifest.conditions
    with suppress(KeyboardInterrupt):
        asyncio.run(_runner(folder, called).run(samples, conditions, 1, QUIET.end))
    return first[0] - started


def _tools() -> ToolSet:
    return ToolSet([FakeTool(name, lambda arguments: PAGE) for name in ("web_search", "open_page")])


def _runner(folder: RunFolder, called: Callable[[], None]) -> Runner:
    steps = [
        calls(("web_search", '{"query": "Falklands War"}'), first_id=1),
        calls(("open_page", '{"url": "https://encyclopedia.example/a"}'), first_id=2),
        calls(("open_page", '{"url": "https://encyclopedia.example/b"}'), first_id=3),
        answer("MY ANSWER: 1982-04-02"),
    ]

    class Telling(ScriptedModel):
        async def generate(
            self,
            messages: Sequence[Message],
            tools: Sequence[ToolSpec],
            options: ReplyOptions = ReplyOptions(),
        ) -> Reply:
            called()
            return await super().generate(messages, tools)

    @asynccontextmanager
    async def open_seams(sample: Sample, condition: Condition) -> AsyncIterator[Seams]:
        yield Seams(Telling(steps), _tools(), make_strategy(condition, make_task().prompt))

    return Runner(
        folder=folder, model_name="scripted", open_seams=open_seams, tokenizer=Estimate(),
        limits=Limits(), concurrency=32, run_id="0",
    )  # fmt: skip


def kills(where: Path, count: int) -> None:
    """Kills under concurrency 32."""
    dataset = where / "puzzles.jsonl"
    puzzles = make_set(shipped_tables(), SetOptions(12 * count, 11)).puzzles
    dataset.write_bytes(samples_bytes(puzzles))
    found = asyncio.run(ordeal(where, dataset, "web", count, 32, 0.4, Random(11)))
    for name, value in asdict(found).items():
        print(f"{name:14} {value}")


if __name__ == "__main__":
    main()
