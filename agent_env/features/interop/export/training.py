"""Trajectories for training: rollouts as `verifiers` keeps its results (results.jsonl, a prompt and
a completion a line), and chats for supervised training (sft.jsonl, with the tools on offer).

Only episodes that ended with an answer are chats: what was cut off by a limit is not an example to
follow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_env.features.interop.chat import as_line
from agent_env.features.interop.export.source import EpisodeRecord, Source
from agent_env.sdk.models import chat_message, chat_tool

CUT = frozenset({"truncated", "repetition", "tokens", "input_tokens", "output_tokens", "context"})
"""Stop reasons by which a text was cut off."""


def write_rollouts(source: Source, out: Path) -> dict[str, int]:
    """Write results.jsonl into the folder `out`. Episodes without a score are left out: that a
    server failed is no reason to reward 0."""
    metric = source.choice.metric or source.task.metrics[0]
    ids = {s.id: n for n, s in enumerate(source.folder.samples_as(source.task.sample_type))}
    count = 0
    with (out / "results.jsonl").open("w", encoding="utf-8") as file:
        for record in source:
            if metric not in record.score.metrics:
                source.left_out += 1
                continue
            file.write(as_line(_rollout(record, ids[record.sample.id], metric)))
            count += 1
    return {"results": count}


def _rollout(record: EpisodeRecord, number: int, metric: str) -> dict[str, Any]:
    episode, prompt = record.episode, len(record.start.messages)
    messages = [chat_message(message) for message in episode.messages]
    made = {
        "example_id": number,
        "prompt": messages[:prompt],
        "completion": messages[prompt:],
        "answer": ", ".join(record.sample.gold),
        "reward": record.score.metrics[metric],
        "metrics": record.score.metrics,
        "is_completed": episode.status == "finished",
        "is_truncated": episode.stop_reason in CUT,
        "stop_condition": episode.stop_reason,
        "error": None,
        "tool_defs": [tool["function"] for tool in map(chat_tool, record.start.tools)],
        "timing": {"total": episode.duration_s},
        "info": {"sample": episode.sample, "condition": episode.condition},
    }
    if episode.input_tokens is not None and episode.output_tokens is not None:
        used = {"input_tokens": episode.input_tokens, "output_tokens": episode.output_tokens}
        made["token_usage"] = used
    return made


def write_sft(source: Source, out: Path) -> dict[str, int]:
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
