"""The price table: a file of the user's, by model; no price comes with the package.

Guarantees: a price that is not in the table is unknown, never 0, and so is a cost for which a
price or a count is missing; a service tier (flex, priority, batch) without prices of its own is
unknown, too. Not covered: fees per call, discounts by time of day, prices that depend on the length
of the context.
"""

from __future__ import annotations

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_env.errors import ConfigError, DatasetError, user_problem
from agent_env.records.schema import ModelFacts, Usage

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
        raise DatasetError(file, None, f"neither TOML nor JSON as its name says: {exc}") from exc
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
