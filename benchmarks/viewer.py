"""What the viewer and the report cost: python benchmarks/viewer.py [EPISODES [FOLDER]]

Writes a run of so many episodes (100,000) and one of 100 steps into FOLDER (kept, used again) or a
temporary one; serves them from a process that has just started, and times pages: the first request
of each kind, then the median of nine. Then the size of report.html for 6 conditions, 2 models, 600
samples, 3 repeats.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.report import chapter_of, report_of
from agent_env.episodes.index import Index
from agent_env.episodes.run_folder import EpisodeKey, RunFolder, digest
from agent_env.episodes.trace.lines import TraceWriter
from agent_env.episodes.trace.texts import Texts
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Message, Reply, Score, ToolCall, ToolResult, Usage
from agent_env.records.trace_events import EpisodeFinished, EpisodeStarted, ModelCalled, ToolCalled
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.sample_files import samples_bytes
from agent_env.testing import puzzle
from tests.analysis.simulated import Plant, study

CONDITIONS = ("base", "web", "python", "web+python", "explicit")
REPEATS = 4
USAGE = Usage(input_tokens=1000, output_tokens=50, source="provider")


def main() -> None:
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as made:
        root = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(made)
        if not (root / "many/run.json").exists():
            write_many(root / "many", episodes)
            write_long(root / "long", 100)
        begun, cpu = time.perf_counter(), time.process_time()
        index = Index(RunFolder(root / "many"))
        read = index.update()
        index.close()
        took = f"{time.perf_counter() - begun:.1f} s, {time.process_time() - cpu:.1f} s CPU"
        print(f"table of {episodes:,} episodes, {read:,} read: {took}")
        time_pages(root, episodes)
    report_size()


def manifest(name: str, samples: int, data: bytes) -> Manifest:
    return Manifest(
        id=name, task="time-puzzles", model="m", repeats=REPEATS, limits={},
        conditions=tuple(map(parse_condition, CONDITIONS)), prompt="default", seed=1,
        samples=samples, samples_digest=digest(data), concurrency=1, versions={},
        created_at="2026-01-01T00:00:00+00:00",
    )  # fmt: skip


def clock() -> datetime:
    return datetime.now(UTC)


def write_many(path: Path, episodes: int) -> None:
    names = [f"tp-1-{i:05d}" for i in range(episodes // len(CONDITIONS) // REPEATS)]
    data = samples_bytes([puzzle(name) for name in names])
    folder = RunFolder(path)
    folder.create(manifest("many", len(names), data), data)
    scores = []
    for condition in CONDITIONS:
        for i, name in enumerate(names):
            for repeat in range(1, REPEATS + 1):
                write_short(folder, EpisodeKey(name, condition, repeat))
                value = float(i % 3 == 0)
                metrics = {"exact_match": value, "f1": value, "jaccard": value}
                scores.append(Score(sample=name, condition=condition, repeat=repeat,
                                    outcome="read", metrics=metrics))  # fmt: skip
    folder.write_scores(scores)


def write_short(folder: RunFolder, key: EpisodeKey) -> None:
    trace = TraceWriter(folder.trace(key), key.name, clock)
    trace.write(EpisodeStarted, run="many", sample=key.sample, repeat=key.repeat, model="m",
                condition=parse_condition(key.condition))  # fmt: skip
    answer = "MY ANSWER: 1982-04-02"
    reply = Reply(message=Message(role="assistant", content=answer), usage=USAGE)
    trace.write(ModelCalled, request="0", reply=reply, latency_s=0.1)
    trace.write(EpisodeFinished, answer=answer, stop_reason="answered")
    trace.close()


def write_long(path: Path, steps: int) -> None:
    """100 steps, each with a call whose output is 4,000 characters."""
    data = samples_bytes([puzzle("tp-1-00000")])
    folder = RunFolder(path)
    folder.create(manifest("long", 1, data), data)
    key = EpisodeKey("tp-1-00000", "web", 1)
    trace = TraceWriter(folder.trace(key), key.name, clock, Texts(folder.texts))
    trace.write(EpisodeStarted, run="long", sample=key.sample, repeat=1, model="m",
                condition=parse_condition("web"))  # fmt: skip
    for i in range(steps):
        call = ToolCall(id=f"call_{i}", name="open_page", arguments=f'{{"url": "https://a/{i}"}}')
        message = Message(role="assistant", content="I read on.", tool_calls=(call,))
        reply = Reply(message=message, usage=USAGE)
        trace.write(ModelCalled, request="0", reply=reply, latency_s=0.1)
        output = f"page {i} " + "lorem ipsum " * 333
        trace.write(ToolCalled, call=call, result=ToolResult(output=output), duration_s=0.1)
    trace.write(EpisodeFinished, answer="MY ANSWER: 1982-04-02", stop_reason="answered")
    trace.close()


def time_pages(root: Path, episodes: int) -> None:
    middle = f"tp-1-{episodes // len(CONDITIONS) // REPEATS // 2:05d}"
    addresses = {
        "all runs": "/",
        "first page of the run": "/run/many/",
        "last page of the run": f"/run/many/?page={episodes // 100 - 1}",
        "filtered: wrong under web": "/run/many/?condition=web&verdict=wrong",
        "filtered: part of a name": f"/run/many/?sample={middle}",
        "sorted by tokens": "/run/many/?sort=-input_tokens",
        "sorted by a metric": "/run/many/?sort=f1",
        "grid of samples": "/run/many/samples",
        "one sample": f"/run/many/sample/{middle}",
        "an episode of the run": f"/run/many/episode/web/{middle}.1",
        "an episode of 100 steps": "/run/long/episode/web/tp-1-00000.1",
    }
    for name, address in addresses.items():
        print(f"{name:28}{fresh(root, address)}")


def fresh(root: Path, address: str) -> str:
    """Times of one page from a server of its own."""
    command = [sys.executable, "-m", "agent_env", "view", str(root), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        base = server.stdout.readline().strip()
        try:
            with httpx.Client(base_url=base, timeout=60.0) as client:
                client.get("/static/style.css")  # the server answers
                times = [timed(client, address) for _ in range(10)]
                size = len(client.get(address).content)
        finally:
            server.terminate()
    return (f"first {1000 * times[0]:5.0f} ms, then {1000 * statistics.median(times[1:]):4.0f} ms, "
            f"{size / 1000:.0f} kB")  # fmt: skip


def timed(client: httpx.Client, address: str) -> float:
    begun = time.perf_counter()
    client.get(address).raise_for_status()
    return time.perf_counter() - begun


def report_size() -> None:
    effects = {
        "base": 0.0,
        "web": 0.1,
        "python": 0.0,
        "web+python": 0.12,
        "explicit": 0.2,
        "cal": 0.02,
    }
    planted = study(Plant(samples=600, repeats=3), effects, ("a", "b"), seed=1)
    before, cpu = time.perf_counter(), time.process_time()
    text = report_of([chapter_of(Comparison(planted), {})], "planted")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"report.html of 21,600 episodes: {len(text.encode()) / 1e6:.2f} MB, "
          f"{time.perf_counter() - before:.1f} s wall, {time.process_time() - cpu:.1f} s CPU, "
          f"peak {peak:.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
