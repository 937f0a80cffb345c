"""What an error of a model's server means: its class, whether it may pass, what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from agent_env.errors import ModelErrorKind
from agent_env.models.overflow import Overflow, is_output_limit, overflow

SETTINGS = {
    "temperature": "--temperature",
    "top_p": "--top-p",
    "seed": "--model-seed",
    "max_tokens": "--max-output-tokens",
    "max_output_tokens": "--max-output-tokens",
    "reasoning_effort": "--reasoning-effort",
    "reasoning": "--reasoning-effort",
    "parallel_tool_calls": "--parallel-tool-calls",
    "stream_options": "--stream",
}
"""What a field of a request is called where the user sets it."""

ADVICE = {
    401: "check the API key",
    402: "check the account's credit",
    403: "check that the API key may use this model",
    404: "check the model's name, and the base URL, which mostly ends in /v1",
    413: "the request is too large; shorten what tools return",
    **dict.fromkeys(
        (301, 302, 303, 307, 308), "it is not followed; give that base URL if it is meant"
    ),
    429: "send fewer requests at a time",
}
TOO_LONG = "the conversation is longer than the model reads; see --fit-context"
NO_TOOLS = re.compile(r"enable-auto-tool-choice|does not support (tools|function)", re.I)
KINDS: dict[str, ModelErrorKind] = {
    "insufficient_quota": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "tokens": "rate_limit",
    "requests": "rate_limit",
    "invalid_api_key": "authentication",
    "authentication_error": "authentication",
    "permission_error": "authentication",
}
"""Classes by the `code` or `type` of an error that came without a status."""


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """The class of an error and what to do about it."""

    kind: ModelErrorKind
    retryable: bool
    advice: str
    overflow: Overflow | None = None
    """Where the conversation is longer than the model reads."""


def classify(
    status: int | None, message: str, error: JsonValue, request: Mapping[str, JsonValue]
) -> ErrorClass:
    """The class of an error with this status (None where it has none), text and body, given
    to a request with these fields."""
    overflow_facts = overflow(status, message, error)
    if overflow_facts is not None and is_output_limit(overflow_facts, request):
        most = overflow_facts.context_tokens
        return ErrorClass("bad_request", False, f"lower --max-output-tokens far below {most}")
    if overflow_facts is not None:
        advice = ADVICE[413] if status == 413 else TOO_LONG
        return ErrorClass("context_overflow", False, advice, overflow_facts)
    kind = _kind(status, error)
    is_lasting = "insufficient_quota" in labels(error)
    may_pass = kind in ("rate_limit", "timeout", "server", "connection", "unreadable")
    return ErrorClass(
        kind, may_pass and not is_lasting, _advice(status, kind, message, error, request)
    )


def labels(error: JsonValue) -> tuple[str, str]:
    """The `code` and the `type` of an error object."""
    fields = error if isinstance(error, dict) else {}
    return str(fields.get("code")), str(fields.get("type"))


def status_in(error: JsonValue) -> int | None:
    """The HTTP status that an error inside a 200 stands for, where it tells."""
    code, kind = labels(error)
    if code.isdecimal() and 400 <= int(code) < 600:
        return int(code)
    return 400 if kind in ("invalid_request_error", "BadRequestError") else None


def _kind(status: int | None, error: JsonValue) -> ModelErrorKind:
    if status in (401, 402, 403):
        return "authentication"
    if status == 429:
        return "rate_limit"
    if status in (408, 504):
        return "timeout"
    if status is not None and status < 500 and status not in (409, 425):
        return "bad_request"
    return next((KINDS[label] for label in labels(error) if label in KINDS), "server")


def _advice(
    status: int | None,
    kind: ModelErrorKind,
    message: str,
    error: JsonValue,
    request: Mapping[str, JsonValue],
) -> str:
    if "insufficient_quota" in labels(error):
        return "the account has no credit left"
    if kind == "bad_request" and (setting := _field_advice(message, error, request)) is not None:
        return setting
    if kind == "server" or status is None:
        return "try again later"
    return ADVICE.get(status, "change the request")


def _field_advice(message: str, error: JsonValue, request: Mapping[str, JsonValue]) -> str | None:
    """What to change where the server refuses a field that was sent."""
    param = error.get("param") if isinstance(error, dict) else None
    text = f"{param.partition('.')[0] if isinstance(param, str) else ''} {message}"
    if "tools" in request and NO_TOOLS.search(message):
        return (
            "this server calls no tools for this model; use --tool-protocol text, or start the "
            "server with its tool parser"
        )
    if "tool_choice" in request and re.search(r"tool[_ ]choice|\brequired\b", text):
        return "this model refuses a required tool call; use --first-step auto"
    if (re.search(r"(?<!\w)(system|developer)(?!\w)", message)) and "role" in message.lower():
        return "this model refuses the role of the system text; change --system-role"
    field = next((f for f in SETTINGS if f in request and _names(text, f)), None)
    if field is not None:
        return f"this model refuses {field}; leave {SETTINGS[field]} out or change it"
    other = next((f for f in request if f not in _OURS and _names(text, f)), None)
    return None if other is None else f"this model refuses {other}; take it out of --extra-body"


_OURS = frozenset({"model", "messages", "input", "tools", "tool_choice", "stream", "store"})


def _names(sentence: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence) is not None
