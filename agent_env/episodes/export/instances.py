"""One episode as Every Eval Ever's instance schema has it, without the identities of its log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from agent_env.episodes.export.chat import arguments_of
from agent_env.episodes.export.source import EpisodeRecord
from agent_env.records.schema import Episode, Message

Json = dict[str, Any]


def instance(record: EpisodeRecord, metric: str, right_metric: str) -> Json:
    """The fields of an episode that has a score; correct is what `right_metric` gives 1."""
    episode, score = record.episode, record.score
    prompt, told = record.start.messages, episode.messages[len(record.start.messages) :]
    replies = [message for message in told if message.role == "assistant"]
    is_single = not record.start.tools and len(told) == len(replies) == 1
    kind = "agentic" if record.start.tools else "single_turn" if is_single else "multi_turn"
    question = "\n\n".join(m.content for m in prompt if m.role in ("system", "user"))
    asked = {"raw": question, "reference": list(record.sample.gold)}
    said = _single(replies[0]) if is_single else _transcript(episode.messages)
    return {
        "sample_id": episode.sample,
        "sample_hash": _digest(asked),
        "interaction_type": kind,
        "input": asked,
        **said,
        "answer_attribution": _attribution(record, is_single),
        "evaluation": {
            "score": score.metrics[metric],
            "is_correct": score.metrics.get(right_metric) == 1.0,
            "num_turns": 1 if is_single else len(episode.messages),
            "tool_calls_count": episode.tool_calls,
        },
        "token_usage": _usage(episode),
        "performance": None
        if episode.duration_s is None
        else {"latency_ms": episode.duration_s * 1000},
        "error": None,
        "metadata": {
            "condition": episode.condition,
            "repeat": str(episode.repeat),
            "outcome": score.outcome,
            "stop_reason": str(episode.stop_reason),
            **{f"score_{name}": str(value) for name, value in score.metrics.items()},
        },
    }


def _digest(asked: Json) -> str:
    """As the schema's converters compute it, so that hashes of the same sample meet."""
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _single(reply: Message) -> Json:
    trace = None if reply.reasoning is None else [reply.reasoning]
    return {"output": {"raw": [reply.content], "reasoning_trace": trace}, "messages": None}


def _transcript(messages: Sequence[Message]) -> Json:
    return {"output": None, "messages": [_turn(n, m) for n, m in enumerate(messages)]}


def _turn(number: int, message: Message) -> Json:
    calls = [
        {
            "id": call.id,
            "name": call.name,
            "arguments": {
                name: value if isinstance(value, str) else json.dumps(value)
                for name, value in arguments_of(call)[0].items()
            },
        }
        for call in message.tool_calls
    ]
    return {
        "turn_idx": number,
        "role": message.role,
        "content": message.content,
        "reasoning_trace": message.reasoning,
        "tool_calls": calls or None,
        "tool_call_id": None if message.tool_call_id is None else [message.tool_call_id],
    }


def _attribution(record: EpisodeRecord, is_single: bool) -> list[Json]:
    """Where the scorer read the answer; empty where it read none."""
    if record.score.answer is None:
        return []
    messages = record.episode.messages
    last = max((n for n, m in enumerate(messages) if m.role == "assistant"), default=0)
    return [
        {
            "turn_idx": 0 if is_single else last,
            "source": "output.raw" if is_single else "messages[turn_idx].content",
            "extracted_value": ", ".join(record.score.answer),
            "extraction_method": record.score.rule or "agent-env",
            "is_terminal": True,
        }
    ]


def _usage(episode: Episode) -> Json | None:
    """None where a count is unknown."""
    if episode.input_tokens is None or episode.output_tokens is None:
        return None
    return {
        "input_tokens": episode.input_tokens,
        "output_tokens": episode.output_tokens,
        "total_tokens": episode.input_tokens + episode.output_tokens,
        "input_tokens_cache_read": episode.cached_tokens,
        "reasoning_tokens": episode.reasoning_tokens,
    }
