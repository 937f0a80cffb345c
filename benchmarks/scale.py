"""What many episodes need: at the coordinator that workers stream to, on the disk, and in exports.

python -m benchmarks.scale [EPISODES]

Run it from the repository's root. Times are CPU seconds of this process. The ordeal on a real
cluster is `python -m tests.ray_cluster FOLDER 96 48 1.0`.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from agent_env.episodes.run_folder import EpisodeKey, RunFolder
from agent_env.episodes.runner import utc_now
from agent_env.features.interop.export.source import Source
from agent_env.features.ray.coordinator import CallEnd, Coordinator, EpisodeLease, SentEvent
from agent_env.records.schema import Message, ToolCall, ToolResult, ToolSpec, Usage
from agent_env.testing import answer, calls
from tests.episodes.runs import WEB, make_run

PAGE = "Some text of a page that a tool gave back. " * 40
USAGE = Usage(input_tokens=1200, output_tokens=60, source="provider")
SPEC = ToolSpec(name="open_page", description="Opens a page.", parameters={"type": "object"})


def main() -> None:
    """All figures."""
    number = int(sys.argv[1]) if sys.argv[1:] else 1000
    with tempfile.TemporaryDirectory() as where:
        names = [f"s{n}" for n in range(number)]
        folder = make_run(Path(where) / "run", names)
        before = _rss_mb()
        cpu, wall = time.process_time(), time.monotonic()
        events = asyncio.run(_keep(folder, names))
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        each = cpu / events * 1000
        print(f"coordinator: {events} events, {each:.3f} CPU-ms an event")
        print(
            f"coordinator: {events / wall:.0f} events/s of wall time, "
            f"{_rss_mb() - before:.0f} MB more"
        )
        traces = [file.stat().st_size for file in folder.traces()]
        texts = sum(file.stat().st_size for file in folder.path.glob("texts.db*"))
        print(f"disk: {sum(traces) / number:.0f} bytes a trace, {texts / number:.0f} of texts each")
        for name in ("jsonl", "parquet", "sft", "verifiers", "inspect"):
            _export(folder, name, Path(where) / name)


async def _keep(folder: RunFolder, names: list[str]) -> int:
    """Episodes of four steps as workers send them, 64 at a time."""
    coordinator, waiting = Coordinator.of(folder, 64), iter(names)
    counts: list[int] = []

    async def lane() -> None:
        for name in waiting:
            counts.append(await _episode(coordinator, name))

    await asyncio.gather(*(lane() for _ in range(64)))
    await coordinator.shut()
    return sum(counts)


async def _episode(coordinator: Coordinator, name: str) -> int:
    opened = await coordinator.open("w", EpisodeKey(name, "web", 1))
    assert isinstance(opened, EpisodeLease)
    sent = 0

    async def say(kind: str, **fields: Any) -> None:
        nonlocal sent
        sent += 1
        assert await coordinator.write(opened.lease, [SentEvent(kind, utc_now(), fields)]) is None

    async def ask(reply: Any) -> None:
        await coordinator.enter(opened.lease, 1200)
        await coordinator.leave(opened.lease, CallEnd(USAGE, replied=True, rate_limited=False))
        await say("ModelCalled", request="0" * 64, reply=reply, latency_s=0.5)

    prompt = (Message(role="user", content="Which date is it? " * 60),)
    start = {"sample": name, "condition": WEB, "repeat": 1, "model": "openai/gpt-5"}
    await say("EpisodeStarted", **start, messages=prompt, tools=(SPEC,))
    for step in range(3):
        await ask(calls(("open_page", "{}"), usage=USAGE, first_id=step))
        call = ToolCall(id=f"call_{step}", name="open_page", arguments="{}")
        result = ToolResult(output=f"{name} {step} {PAGE}")
        await say("ToolCalled", call=call, result=result, duration_s=0.1)
    await ask(answer("MY ANSWER: 1982-04-02", usage=USAGE))
    await say("EpisodeFinished", answer="MY ANSWER: 1982-04-02", stop_reason="answered")
    await coordinator.close(opened.lease)
    return sent


def _export(folder: RunFolder, name: str, out: Path) -> None:
    out.mkdir()
    source = Source(folder, folder.task, print)
    before, cpu = _rss_mb(), time.process_time()
    (exporter,) = entry_points(group="agent_env.exporters", name=name)
    exporter.load()(source, out)
    cpu = time.process_time() - cpu
    size = sum(file.stat().st_size for file in out.iterdir()) / 1e6
    print(
        f"export {name:12} {cpu:6.2f} CPU-s, {size:6.1f} MB, peak {_rss_mb() - before:.0f} MB more"
    )


def _rss_mb() -> float:
    """The highest so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
