"""Facts about a model, from a price table."""

from __future__ import annotations

from pydantic import Field

from agent_env.records.reach import Money, Plain
from agent_env.records.schema import Record


class ModelFacts(Record):
    """Prices and knowledge cutoff of one model; None for unknown."""

    input_per_million: Money[float | None] = Field(default=None, ge=0)
    """USD for a million input tokens."""
    cached_input_per_million: Money[float | None] = Field(default=None, ge=0)
    """USD for a million cached input tokens; None: the price of the others."""
    cache_write_per_million: Money[float | None] = Field(default=None, ge=0)
    """USD for a million input tokens written to the cache; None: the price of the others."""
    output_per_million: Money[float | None] = Field(default=None, ge=0)
    """USD for a million output tokens, reasoning included."""
    date: Plain[str] = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    """When these figures were looked up."""
    source: Plain[str] = Field(min_length=1)
    """Where these figures were looked up."""
    snapshot: Plain[str | None] = None
    """The exact version that the name stood for on `date`."""
    released: Plain[str | None] = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    knowledge_cutoff: Plain[str | None] = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    """The last day, month or year in its training data."""
