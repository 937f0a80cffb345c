"""Whether a run comes to its end under each provider's rules: 50 puzzles, `base` and `web`, against
each mode of the fake server, whole and streamed.

    python benchmarks/providers.py [--limit 50] [--mode mistral] > table.md

The scripted reference model answers behind the server. Its scores must be the same in every mode,
and each notice near the end of an episode stands behind a tool's output. Prints Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the tests' fake server

from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins
from tests.fake_server import FakeServer, model_policy
from tests.fake_server.modes import MODES

COMMAND = [sys.executable, "-m", "agent_env"]
NOTICE = "replies left"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run."""

    finished: int
    failed: int
    refused_calls: int
    """Calls that the server refused, sent again by its rule."""
    notices: int
    scores: str
    seconds: float


async def run_against(mode: str, stream: bool, limit: int, out: Path) -> Outcome:
    """The run's counts."""
    policy = model_policy(make_model("reference", None, {}, own_plugins()))
    async with FakeServer(policy, mode=mode) as server:
        began = time.perf_counter()
        arguments = [
            "run", "time-puzzles", "--limit", str(limit), "--condition", "base",
            "--condition", "web", "--model", f"compatible/fake@{server.url}", "--steps", "4",
            "--first-step", "auto", "--no-preflight", "--json",
            "--out", str(out), *(["--stream"] if stream else []),
        ]  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            *COMMAND, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        told, errors = await process.communicate()
    if process.returncode not in (0, 1):
        raise SystemExit(f"{mode}: {errors.decode()[-500:]}")
    return outcome_of(out, told, time.perf_counter() - began)


def outcome_of(run: Path, told: bytes, seconds: float) -> Outcome:
    """The counts of a run whose command printed this JSON."""
    traces = [path.read_text() for path in sorted(run.glob("episodes/*/*.jsonl"))]
    events = [[json.loads(line) for line in text.splitlines()] for text in traces]
    kinds = [each[-1]["kind"] for each in events]
    calls = [event for each in events for event in each if event["kind"] == "model_called"]
    conditions = json.loads(told)["conditions"]
    return Outcome(
        finished=kinds.count("episode_finished"),
        failed=len(kinds) - kinds.count("episode_finished"),
        refused_calls=sum(call.get("error") is not None for call in calls),
        notices=sum(NOTICE in json.dumps(call.get("added") or ()) for call in calls),
        scores=", ".join(f"{conditions[c]['exact_match']:.2f}" for c in ("base", "web")),
        seconds=seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=50)
    parser.add_argument("--mode", action="append", choices=list(MODES))
    chosen = parser.parse_args()
    print("| mode | sent | finished | failed | calls sent again | notices | base, web | s |")
    print("|---|---|---|---|---|---|---|---|")
    for mode in chosen.mode or MODES:
        for stream in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                run = Path(folder, "run")
                got = asyncio.run(run_against(mode, stream, chosen.limit, run))
            print(
                f"| {mode} | {'streamed' if stream else 'whole'} | {got.finished} | {got.failed} "
                f"| {got.refused_calls} | {got.notices} | {got.scores} | {got.seconds:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
