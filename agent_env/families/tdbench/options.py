"""What the user may choose of the questions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_env.families.tdbench.sample import Cardinality, Granularity, Kind
from agent_env.records.schema import Record
from agent_env.temporal.allen import Relation


class TdbenchOptions(Record):
    """Where the tables come from, what is asked of them, and how it is put."""

    tables: str = "fictional"
    """`fictional`, `shipped`, or a CSV, Parquet, SQLite or DuckDB file; two or three of them, by
    commas, for hops."""
    domains: tuple[str, ...] = ()
    """Of the fictional or shipped tables; all where none is named."""
    rows: int = Field(default=300, ge=20, le=200_000)
    """Of each fictional table, about."""
    tables_seed: int | None = None
    """Of the fictional tables; None for the seed of the questions."""
    table: str | None = None
    """Which table of a SQLite or DuckDB file; several by commas for hops."""
    question: tuple[str, ...] = ()
    """Question attributes of a file's table; also of a shipped or fictional one, in place of its
    own ways of asking."""
    answer: tuple[str, ...] = ()
    """Answer attributes of it."""
    unique: bool = True
    """Whether the question attributes of a file determine the answers at any time (a TFD); it is
    checked, and false allows that they do not."""
    end_included: bool = False
    """Whether a file's ends are last days, and not the first ones after."""
    granularity: Granularity | None = None
    """Dates cut to this; None for the tables' own."""
    now: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")
    """The day as of which the tables are; 2025-06-30 for fictional and shipped ones, and to be
    given for a file."""
    kinds: tuple[Kind, ...] = ("relation",)
    """Kinds of questions, in equal numbers: relation, current, nth, longest, count, duration,
    hops."""
    relations: tuple[Relation, ...] = ()
    """Allen's relations by name; all 13 where none is named."""
    cardinalities: tuple[Cardinality, ...] = ("unique", "multiple", "none")
    """How many answers there are; each as often for every relation."""
    asks: Literal["all", "dependent"] = "all"
    """`dependent`: only questions whose answer depends on the question at any time (a TFD), none
    about what the table happens to list; for the closed-book setting."""
    book: Literal["open", "closed"] = "open"
    """`open`: rows stand before the question, unless the condition has a tool to find them;
    `closed`: the question stands alone."""
    phrasings: int = Field(default=3, ge=1, le=9)
    """Of each query."""
