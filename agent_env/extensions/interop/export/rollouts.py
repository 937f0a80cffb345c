"""Rollouts as `verifiers` keeps its results: results.jsonl, a prompt and a completion a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_env.extensions.interop.export.chat import as_line
from agent_env.extensions.interop.export.source import EpisodeRecord, Source
from agent_env.sdk.models import chat_message, chat_tool

CUT = frozenset({"truncated", "repetition", "tokens", "input_tokens", "output_tokens", "context"})
"""Stop reasons by which a text was cut off."""


def write(source: Source, out: Path) -> dict[str, int]:
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
