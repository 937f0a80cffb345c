"""What a reply cost: its tokens and its service tier, by the names of every API; the price table.

No price comes with the package. Guarantees: a price that is not in the user's table is unknown,
never 0, and so is a cost for which a price or a count is missing; a service tier without prices of
its own is unknown, too. Not covered: fees per call, discounts by time of day, prices that depend
on the length of the context.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_env.errors import ConfigError, DatasetError, syntax_problem, user_problem
from agent_env.models.chat import Json, record, text
from agent_env.records.schema import ModelFacts, Usage

CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
"""Names of input tokens that a cache held: OpenAI and Kimi, DeepSeek, litellm."""
WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
"""Names of input tokens that were written to a cache: OpenRouter, litellm."""
STANDARD_TIERS = ("default", "standard", "standard_only", "on_demand")
UNNAMED_TIER = "unnamed"
"""Of a reply that names none, where another than the standard one was asked for."""


def read_usage(of: Json, inputs: str, outputs: str) -> Usage:
    """Tokens as the server counted them, by the names that its API has for input and output."""
    details = record(of, f"{inputs}_details")
    counts = Usage(
        input_tokens=count_in(of, inputs),
        cached_tokens=_first_count((details, of), CACHED),
        cache_write_tokens=_first_count((details, of), WRITTEN),
        output_tokens=count_in(of, outputs),
        reasoning_tokens=count_in(record(of, f"{outputs}_details"), "reasoning_tokens"),
    )
    has_counts = counts.input_tokens is not None or counts.output_tokens is not None
    return counts.model_copy(update={"source": "provider"}) if has_counts else counts


def service_tier_of(answer: Json, request: Json) -> str | None:
    """The service tier that a reply names; None for the standard one, whatever each calls it."""
    named = text(answer, "service_tier") or text(record(answer, "usage"), "service_tier")
    if not named:
        wished = request.get("service_tier") not in (None, *STANDARD_TIERS)
        return UNNAMED_TIER if wished else None
    return None if named in STANDARD_TIERS else named[:40]


def usage_of(answer: Json) -> Usage | None:
    """The usage of a reply of any API; None where it has none."""
    if metadata := record(answer, "usageMetadata"):
        return gemini_usage(metadata)
    fields = record(answer, "usage")
    if "input_tokens" in fields and any(name.startswith("cache_") for name in fields):
        return anthropic_usage(fields)
    names = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
    chat, ours = read_usage(fields, *names[:2]), read_usage(fields, *names[2:])
    counts = ours if chat.source is None else chat
    return None if counts.source is None else counts


def anthropic_usage(of: Json) -> Usage:
    """All input tokens together: Anthropic names those of the cache beside the others."""
    read, plain = count_in(of, "cache_read_input_tokens"), count_in(of, "input_tokens")
    written = count_in(of, "cache_creation_input_tokens")
    return Usage(
        input_tokens=None if plain is None else plain + (read or 0) + (written or 0),
        cached_tokens=read,
        cache_write_tokens=written,
        hour_cache_write_tokens=count_in(record(of, "cache_creation"), "ephemeral_1h_input_tokens"),
        output_tokens=count_in(of, "output_tokens"),
        reasoning_tokens=count_in(record(of, "output_tokens_details"), "thinking_tokens"),
        source=None if plain is None else "provider",
    )


def gemini_usage(of: Json) -> Usage:
    """Tokens as Gemini counts them: thoughts beside the reply's text, and what its own tools gave
    beside the prompt. It leaves out a count that is 0 where it tells others."""
    prompt, tool_results = count_in(of, "promptTokenCount"), count_in(of, "toolUsePromptTokenCount")
    text_tokens, thoughts = count_in(of, "candidatesTokenCount"), count_in(of, "thoughtsTokenCount")
    is_told = text_tokens is not None or thoughts is not None
    return Usage(
        input_tokens=None if prompt is None else prompt + (tool_results or 0),
        cached_tokens=count_in(of, "cachedContentTokenCount"),
        output_tokens=(text_tokens or 0) + (thoughts or 0) if is_told else None,
        reasoning_tokens=thoughts,
        source=None if prompt is None and not is_told else "provider",
    )


def _first_count(places: Iterable[Json], names: Sequence[str]) -> int | None:
    counts = (count_in(of, name) for of in places for name in names)
    return next((count for count in counts if count is not None), None)


def count_in(of: Json, name: str) -> int | None:
    value = of.get(name)
    if type(value) is not int:  # True is an int, but no count
        return None
    return value if 0 <= value < 2**53 else None


MILLION = 1_000_000


def read_prices(file: Path) -> dict[str, ModelFacts]:
    """The models of a table by their names on the command line; `.json`, or else TOML."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "is not UTF-8 text"
        raise ConfigError(f"cannot read the price table {file}: {reason}") from exc
    try:
        table = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as exc:
        raise DatasetError(file, *syntax_problem(exc)) from exc
    models = table.get("models") if isinstance(table, dict) else None
    if not isinstance(models, dict) or not models:
        raise DatasetError(file, None, 'holds no model; write a table [models."openai/NAME"]')
    if unknown := table.keys() - {"models"}:
        raise DatasetError(file, None, f"unknown entry '{min(unknown)}' beside models")
    return {name: _facts(file, name, row) for name, row in models.items()}


def _facts(file: Path, name: str, row: Any) -> ModelFacts:
    if isinstance(row, dict):  # TOML has dates of its own
        row = {k: v.isoformat() if isinstance(v, date) else v for k, v in row.items()}
    try:
        return ModelFacts.model_validate(row)
    except ValidationError as exc:
        problem = user_problem(exc.errors(), ModelFacts.model_fields)
        raise DatasetError(file, None, f"{name}: {problem}") from exc


def is_priced(facts: ModelFacts | None, tier: str | None = None) -> bool:
    """Whether the cost of a call of this service tier can be known."""
    return Usage(input_tokens=0, output_tokens=0, tier=tier).cost_usd(facts) is not None
