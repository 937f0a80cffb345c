"""What each way of calling tools gives with a small model: valid calls, obeyed first calls, calls,
right answers and tokens, one row for each way and condition.

    python benchmarks/fair_chance.py http://127.0.0.1:8080/v1 NAME --out runs/fair > table.md

asks any server, at temperature 0, the same easy puzzles; runs that exist in `--out` are gone on
with. `--only native,schema` asks these ways alone.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import agent_env as ae
from agent_env.analysis.failure_modes import calls_of
from agent_env.analysis.intervals import wilson
from agent_env.records.schema import Episode
from agent_env.runs.run import Run
from agent_env.runs.scores.score import score_folder

WAYS: dict[str, dict[str, Any]] = {
    "native": {},
    "native, repair 1": {"repair_calls": 1},
    "native, short": {"tool_texts": "short"},
    "text": {"tool_protocol": "text"},
    "text, repair 0": {"tool_protocol": "text", "repair_calls": 0},
    "text, short": {"tool_protocol": "text", "tool_texts": "short"},
    "schema": {"tool_protocol": "schema"},
    "schema, short": {"tool_protocol": "schema", "tool_texts": "short"},
    "auto": {"tool_protocol": "auto"},
}
EASY = ("facts=3", "solutions=1", "years=1980-2020")


async def run_of(way: str, given: argparse.Namespace) -> ae.Run:
    """The run of this way, begun or gone on with where it is not complete."""
    folder = given.out / way.replace(", ", "-").replace(" ", "-")
    if (folder / "run.json").exists():
        return await ae.open(folder).resume(progress=False)
    return await ae.run(
        "time-puzzles", model=f"compatible/{given.model}", base_url=given.url, out=folder,
        options=list(EASY), seed=3, limit=given.limit, conditions=["web", "python"],
        temperature=0.0, max_output_tokens=given.max_output_tokens, steps=given.steps,
        concurrency=1, progress=False, preflight="anyway", **WAYS[way],
    )  # fmt: skip


def rows_of(way: str, folder: Path) -> Iterator[str]:
    """One row for each condition."""
    scored = [each for each in score_folder(Run(folder), print) if each[0].status == "finished"]
    for condition in dict.fromkeys(episode.condition for episode, _ in scored):
        pairs = [pair for pair in scored if pair[0].condition == condition]
        yield row(way, condition, [e for e, _ in pairs], [score.metrics for _, score in pairs])


def row(
    way: str, condition: str, episodes: Sequence[Episode], metrics: Sequence[Mapping[str, float]]
) -> str:
    """Figures of these episodes; an interval is Wilson's, of 95 %."""
    n = len(episodes)
    calls = [call for episode in episodes for call in calls_of(episode.messages)]
    valid = sum(not call.is_malformed for call in calls)
    first = sum(bool(episode.required_call) for episode in episodes)
    right = sum(each["exact_match"] == 1.0 for each in metrics)
    low, high = wilson(first / n, n)
    tokens = [e.input_tokens + e.output_tokens for e in episodes
              if e.input_tokens is not None and e.output_tokens is not None]  # fmt: skip
    mean = f"{sum(tokens) / len(tokens):.0f}" if len(tokens) == n else "–"
    repairs = sum(episode.repairs for episode in episodes)
    return (
        f"| {way} | `{condition}` | {n} | {first}/{n} [{low:.2f}, {high:.2f}] | "
        f"{valid}/{len(calls)} | {len(calls) / n:.1f} | {repairs} | {right}/{n} | {mean} |"
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--out", type=Path, default=Path("runs/fair"))
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--max-output-tokens", type=int, default=160)
    parser.add_argument("--only", default=",".join(name.replace(", ", "-") for name in WAYS))
    given = parser.parse_args()
    print("| way | condition | n | first call obeyed, 95 % CI | valid calls | calls | repairs "
          "| right | tokens |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for way in WAYS:
        if way.replace(", ", "-") in given.only.split(","):
            run = await run_of(way, given)
            print("\n".join(rows_of(way, run.path)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
