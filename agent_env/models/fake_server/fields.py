"""Which fields a request may have, where a server refuses those that it does not know (OpenAI)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_env.models.fake_server.talk import Object, Refusal

CHAT = frozenset(
    "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens"
    " max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction"
    " presence_penalty prompt_cache_key prompt_cache_retention reasoning_effort response_format"
    " safety_identifier seed service_tier stop store stream stream_options temperature tool_choice"
    " tools top_logprobs top_p user verbosity web_search_options".split()
)
RESPONSES = frozenset(
    "background context_management conversation include input instructions max_output_tokens"
    " max_tool_calls metadata model parallel_tool_calls previous_response_id prompt"
    " prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier store"
    " stream stream_options temperature text tool_choice tools top_logprobs top_p truncation"
    " user".split()
)
MESSAGE = frozenset(
    "annotations audio content function_call name refusal role tool_call_id tool_calls".split()
)
CALL = frozenset({"custom", "function", "id", "type"})
FUNCTION = frozenset({"arguments", "name"})


def refuse_unknown(body: Object, known: frozenset[str]) -> None:
    """Raises Refusal for the first field that is not known."""
    for name, where in _unknown(body, known):
        text = f"Unknown parameter: '{where}{name}'."
        raise Refusal(400, text, f"{where}{name}", code="unknown_parameter")


def _unknown(body: Object, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    yield from ((name, "") for name in body if name not in known)
    for number, message in enumerate(body.get("messages") or ()):
        where = f"messages[{number}]."
        yield from ((name, where) for name in message if name not in MESSAGE)
        for place, call in enumerate(message.get("tool_calls") or ()):
            yield from _unknown_of_call(call, f"{where}tool_calls[{place}].")


def _unknown_of_call(call: dict[str, Any], where: str) -> Iterator[tuple[str, str]]:
    yield from ((name, where) for name in call if name not in CALL)
    inner = f"{where}function."
    yield from ((name, inner) for name in call.get("function") or {} if name not in FUNCTION)
