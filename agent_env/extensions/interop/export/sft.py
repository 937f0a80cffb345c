"""Trajectories for supervised training: sft.jsonl, one chat a line, with the tools on offer.

Only episodes that ended with an answer: what was cut off by a limit is no example to follow.
"""

from __future__ import annotations

from pathlib import Path

from agent_env.extensions.interop.export.chat import as_line
from agent_env.extensions.interop.export.source import Source
from agent_env.sdk.models import chat_message, chat_tool


def write(source: Source, out: Path) -> dict[str, int]:
    """Write sft.jsonl into the folder `out`: `messages`, `tools`, and where it comes from. A line
    ends with the model's last words; each message of role `assistant` was the model's own or one
    of the prompt's worked examples (`prompt_messages` says how many come first)."""
    count, run = 0, source.run
    with (out / "sft.jsonl").open("w", encoding="utf-8") as file:
        for record in source:
            if record.episode.stop_reason != "answered":
                source.left_out += 1
                continue
            line = {
                "messages": [chat_message(message) for message in record.episode.messages],
                "tools": list(map(chat_tool, record.start.tools)),
                "prompt_messages": len(record.start.messages),
                "metadata": {
                    "run": run,
                    "episode": record.name,
                    "model": record.episode.model,
                    "gold": list(record.sample.gold),
                    **record.score.metrics,
                },
            }
            file.write(as_line(line))
            count += 1
    return {"sft": count}
