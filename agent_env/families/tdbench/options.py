"""The options of the questions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from agent_env.families.tdbench.sample import Cardinality, Granularity, Kind
from agent_env.temporal.allen import Relation
from agent_env.temporal.facts.table_records import TemporalTableOptions


class TdbenchOptions(TemporalTableOptions):
    """The source of the tables, the kinds of questions, and their form."""

    tables: str = "fictional"
    """`fictional`, `shipped`, or a CSV, JSON, Parquet, SQLite or DuckDB file; two or three of them,
    by commas, for hops."""
    domains: tuple[str, ...] = ()
    """Which fictional or shipped tables; empty for all."""
    rows: int = Field(default=300, ge=20, le=200_000)
    """Approximate size of each fictional table."""
    tables_seed: int | None = None
    """Seed of the fictional tables; None for the seed of the questions."""
    table: str | None = None
    """Which table of a SQLite or DuckDB file; several by commas for hops."""
    question: tuple[str, ...] = ()
    """Columns of a file's table that a question states; default: found, by what the rows depend on.
    Also of a shipped or fictional one, in place of its own forms of question."""
    answer: tuple[str, ...] = ()
    """Columns that the question asks for."""
    unique: bool = True
    """Whether the question columns of a file determine the answer columns at any time (a TFD); this
    is checked, unless false."""
    end_included: bool = False
    """Whether a file's ends are last days, instead of the first days after."""
    granularity: Granularity | None = None
    """Dates are cut to it; None for the tables' own."""
    now: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")
    """The day as of which the tables are; 2025-06-30 for fictional and shipped ones, required for a
    file."""
    kinds: tuple[Kind, ...] = ("relation",)
    """Kinds of questions, in equal numbers: relation, current, nth, longest, count, duration,
    hops."""
    relations: tuple[Relation, ...] = ()
    """Allen's relations by name; empty for all 13."""
    cardinalities: tuple[Cardinality, ...] = ("unique", "multiple", "none")
    """Numbers of answers; each is equally frequent for every relation."""
    asks: Literal["all", "dependent"] = "all"
    """`dependent`: only questions whose columns determine the answer at any time (a TFD), none
    about the rows that the table happens to list; for the closed-book setting."""
    repair: tuple[str, ...] = ()
    """Repairs of a file's rows before questions are made, as of `tdbench doctor`: `standard`, or
    PROBLEM=POLICY such as `zero-length=drop`."""
    templates: str | None = None
    """A TOML file with sentences for the columns of a file's table; see docs/tdbench.md."""
    book: Literal["open", "closed"] | None = None
    """`open`: the prompt shows rows, unless the condition has a tool to find them; `closed`: it
    shows none. None for what the questions were made for, which is `open` unless said."""
    phrasings: int = Field(default=3, ge=1, le=9)
    """Number of wordings of each query."""

    @field_validator("question", "answer")
    @classmethod
    def _in_small_letters(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """As columns are, whatever their file has."""
        return tuple(name.lower() for name in names)
