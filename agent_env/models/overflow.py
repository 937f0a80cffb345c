"""Which errors of a model's server say that the conversation is longer than the model reads.

The forms are those of OpenAI, vLLM, llama.cpp, Ollama, litellm, SGLang, TGI, Anthropic, Gemini,
xAI, Mistral and Moonshot; a server that says it otherwise is not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

STATUSES = (None, 400, 413, 422, 500)
"""None: an error inside a 200. 500: some proxies, and llama.cpp for a while."""

FORMS = re.compile(
    r"context_length_exceeded|exceed_context_size|ContextWindowExceeded"
    r"|maximum context|context (length|window|limit)|exceeds .{0,20}context size"
    r"|maximum (model|prompt|input) length|(prompt|input) is too long|prompt too long"
    r"|prompt exceeds max length"
    r"|`inputs` tokens \+ `max_new_tokens` must be|`inputs` must have less than"
    r"|input token count.{0,40} exceeds|exceeded model token limit"
    r"|longer than the model's context",
    re.IGNORECASE,
)
NUMBER = r"\(?(\d{2,9})"
CONTEXT = re.compile(
    r"(?:maximum context length(?: is| of)?|maximum (?:model|prompt|input) length(?: is| of)?"
    r"|context (?:length|window|limit)(?: of| is|:)?(?: only)?|available context size"
    r"|must be <=|must have less than|tokens? >|number of tokens allowed|token limit:) "
    rf"{NUMBER}",
    re.IGNORECASE,
)
REQUEST = re.compile(
    r"(?:requested (?:about |a total of )?|resulted in |request has |input has |prompt contains "
    r"|request contains |\blength |\brequest |\binput |given: |too long: |token count )"
    rf"{NUMBER}",
    re.IGNORECASE,
)
OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class Overflow:
    """The figures in such an error."""

    context_tokens: int | None = None
    """What the model reads and writes together; None where the error does not say."""
    request_tokens: int | None = None
    """The request, at some servers with the reply's limit; None where the error does not say."""


def overflow(status: int | None, message: str, error: JsonValue) -> Overflow | None:
    """What an error with this status, text and body tells of it; None where it is another error."""
    fields = error.get("error", error) if isinstance(error, dict) else {}
    fields = fields if isinstance(fields, dict) else {}
    labels = f"{fields.get('code')} {fields.get('type')} {message}"
    if status != 413 and (status not in STATUSES or not FORMS.search(labels)):
        return None
    return Overflow(
        _number(fields.get("n_ctx")) or _first(CONTEXT, message),
        _number(fields.get("n_prompt_tokens")) or _first(REQUEST, message),
    )


def is_output_limit(facts: Overflow, request: Mapping[str, JsonValue]) -> bool:
    """Whether the reply alone may be as long as the context, so that no request would fit."""
    limits = (_number(request.get(name)) for name in OUTPUT_LIMITS)
    context = facts.context_tokens
    return context is not None and any(n is not None and n >= context for n in limits)


def _first(pattern: re.Pattern[str], message: str) -> int | None:
    match = pattern.search(message)
    return int(match[1]) if match else None


def _number(value: JsonValue) -> int | None:
    return value if type(value) is int and value > 0 else None
