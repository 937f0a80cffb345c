"""Plays every sample of a served run of time-puzzles with its gold answer; every reward must be 1.

    python validation/oracle.py RUN [URL]

RUN is the run's folder on the server's machine (it alone has the gold answers), URL the OpenEnv
server's (http://127.0.0.1:8000). Prints a line for each sample; exit code 1 if one is below 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from agent_env_openenv import AgentEnvAction, AgentEnvClient


def gold_answers(run: Path) -> dict[str, str]:
    """The answer's line by sample."""
    samples = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    return {s["id"]: "MY ANSWER: " + (", ".join(s["gold"]) or "None") for s in samples}


def rewards(url: str, answers: dict[str, str]) -> dict[str, float | None]:
    """What each sample's answer earns at once, by sample."""
    earned = {}
    with AgentEnvClient(base_url=url).sync() as client:
        for sample, answer in answers.items():
            client.reset(sample=sample)
            earned[sample] = client.step(AgentEnvAction(content=answer)).reward
    return earned


if __name__ == "__main__":
    run, url = Path(sys.argv[1]), (sys.argv[2:] or ["http://127.0.0.1:8000"])[0]
    earned = rewards(url, gold_answers(run))
    for sample, reward in earned.items():
        print(sample, reward)
    sys.exit(any(reward != 1.0 for reward in earned.values()))
