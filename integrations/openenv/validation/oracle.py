"""Plays every sample of a served run of time-puzzles with its gold answer; every reward must be 1.

    agent-env questions generate time-puzzles --limit 12 --out FILE
    python validation/oracle.py FILE [URL]

FILE has the questions that are served (the same count and seed), URL is the OpenEnv server's
(http://127.0.0.1:8000). Prints a line for each sample; exit code 1 if one is below 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from agent_env_openenv import AgentEnvAction, AgentEnvClient


def gold_answers(file: Path) -> dict[int, str]:
    """The answer's line by the sample's number."""
    golds = [json.loads(line)["gold"] for line in file.read_text().splitlines()]
    return {n: "MY ANSWER: " + (", ".join(gold) or "None") for n, gold in enumerate(golds)}


def rewards(url: str, answers: dict[int, str]) -> dict[int, float | None]:
    """What each sample's answer earns at once, by sample."""
    earned = {}
    with AgentEnvClient(base_url=url).sync() as client:
        for number, answer in answers.items():
            client.reset(seed=number)
            earned[number] = client.step(AgentEnvAction(content=answer)).reward
    return earned


if __name__ == "__main__":
    file, url = Path(sys.argv[1]), (sys.argv[2:] or ["http://127.0.0.1:8000"])[0]
    earned = rewards(url, gold_answers(file))
    for sample, reward in earned.items():
        print(sample, reward)
    sys.exit(any(reward != 1.0 for reward in earned.values()))
