"""Drive episodes with a policy of your own, and get rewards.

    python examples/drive.py FOLDER

The policy here is the scripted reference model; put yours in its place: it gets messages and
tools, and gives a message back, with tool calls or with the answer.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agent_env.episodes.driven import Turn
from agent_env.features.reference.policy import Reference
from agent_env.records.schema import Message
from agent_env.runs.environment import Environment, make_environment, open_environment
from agent_env.runs.options.run_options import RunOptions


async def policy(turn: Turn) -> Message:
    reply = await Reference().generate(turn.messages, turn.tools)
    return reply.message


async def rollout(environment: Environment, sample: str) -> float | None:
    episode = environment.episode(sample)
    turn = await episode.reset()
    while not turn.done:
        turn = await episode.step(await policy(turn))
    return turn.reward


async def main(folder: Path) -> None:
    options = RunOptions("time-puzzles", conditions=("explicit+cal",), limit=4, out=folder)
    made = await make_environment(options)
    async with open_environment(made) as environment:
        ids = [sample.id for sample in environment.samples]
        rewards = await asyncio.gather(*(rollout(environment, name) for name in ids))
    for name, reward in zip(ids, rewards, strict=True):
        print(name, reward)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
