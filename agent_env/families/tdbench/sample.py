"""One question from a temporal table, with everything that is needed to check it, and the options
of the questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field, field_validator

from agent_env.features.facts.tables.table_records import TemporalTableOptions
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import MaterialTable, Record, Sample
from agent_env.temporal.allen import Relation

NAME = "tdbench"

Role = Literal["start", "end"]
Granularity = Literal["year", "month", "day"]
Cardinality = Literal["unique", "multiple", "none"]
Kind = Literal["relation", "current", "nth", "longest", "count", "duration", "hops"]
"""`relation`: one of Allen's 13 with an interval b; `current`: as of now; `nth`: the n-th row;
`count`: the answer that comes for the n-th time; `longest`; `duration`: the number of days that two
rows share; `hops`: a join whose first facts the question does not name."""


def cardinality_of(count: int) -> Cardinality:
    """The cardinality of so many distinct answers."""
    return ("none", "unique", "multiple")[min(2, count)]


class GoldRow(Record):
    """One row of the table that answers the question."""

    answer: str
    """The value asked for; several attributes are joined by `, `."""
    start: str
    """When it began: YYYY, YYYY-MM or YYYY-MM-DD, by granularity."""
    end: str | None
    """When it ended: the first day (month, year) on which it held no more; None while it lasts."""
    row: int
    """Its index in the first table of `materials`, from 0."""


class Hop(Record):
    """One fact on the way to the answer, in the order in which they are needed; the last hop is the
    answer's own."""

    asks: str
    """The fact in words, such as `the host of the 24th Games`."""
    gold: tuple[str, ...]
    """Its right values; for a period, its two dates too."""
    start: str | None = None
    end: str | None = None


class Certificate(Record):
    """What proves the gold of an imported question."""

    file: str
    """Its path in the folder that was imported."""
    folder: str = ""
    """The folder's name; "" in files of earlier versions."""
    reading: str
    """How the file's database held its tables, in words."""
    stored: int
    """Statements of the file with stored results."""
    reproduced: int
    """Those of them that return their stored rows under this reading."""
    agrees: bool
    """Whether this question's statement is one of them."""
    gold: Literal["both", "stored", "returned"] = "both"
    """Where it is not: which rows the gold is."""
    returned: tuple[GoldRow, ...] = ()
    """Where the gold is stored: the rows that the statement returns."""


class TdbenchSample(Sample):
    """`gold` holds the distinct answers in order; it is empty where there is no answer."""

    query: str
    """The query's name; all its phrasings share it and the gold."""
    phrasing: int
    """0, 1, 2, … within the query."""
    question: str
    domain: str
    kind: Kind
    relation: str
    """One of Allen's 13 names, or the kind where there is no b."""
    cardinality: Cardinality
    asked: dict[str, str]
    """Key columns and their values."""
    answers: tuple[str, ...]
    """Answer columns."""
    answer_type: Literal["name", "number"] = "name"
    """A `number` is counted or in days; it has no time reference."""
    b_start: str | None = None
    """The interval that the relation refers to, half-open like the rows; None where there is
    none."""
    b_end: str | None = None
    granularity: Granularity
    now: str
    """YYYY-MM-DD: the table is as of this day."""
    golds: tuple[GoldRow, ...]
    """The rows that answer; () where there is no answer."""
    others: tuple[str, ...]
    """Wrong answers: those of the other rows of the group, without the gold."""
    aliases: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, exclude_if=lambda own: not own
    )
    """Other names of the gold and of the others; they count as the name itself."""
    outdated: tuple[str, ...] = ()
    """For `current`: those of the others that held before now."""
    roles: tuple[Role, ...] = ()
    """Which dates a time reference must state for each gold row, except the end of a row that still
    lasts. Empty where T is undefined."""
    hops: tuple[Hop, ...] = ()
    sql: dict[str, str] = Field(default_factory=dict)
    """The query's text for `sqlite` and for `duckdb`."""
    context: tuple[tuple[int, ...], ...] = ()
    """For each table of `materials`: indices of the rows in the open-book prompt, in its order;
    never all empty."""
    relevant: tuple[tuple[int, ...], ...] = ()
    """Those of them that the query without its temporal condition finds."""
    book: Literal["open", "closed"] = "open"
    """Whether the question was made to be asked with its rows or without any."""
    fictional: bool = False
    """Whether the table is invented, so that no model can know the answer."""
    worded_by: str = "template"
    """`template`, or `published`."""
    wording_prompt: None = None
    """Always None."""
    generator: int | None = None
    """Version of the generator that made it; None for published sets."""
    certificate: Certificate | None = None
    """Of imported questions; None for all others."""


def tdbench_sample(sample: Sample) -> TdbenchSample:
    """The sample itself, where it is one of this family."""
    if not isinstance(sample, TdbenchSample):
        raise ConfigError(f"sample '{sample.id}' is not a question from a temporal table")
    return sample


def rows_of(table: MaterialTable | None, indices: Iterable[int]) -> list[dict[str, str]]:
    """These rows by column in small letters, empty cells as ""; none without a table."""
    if table is None:
        return []
    names = [name.casefold() for name in table.columns]
    rows = ([("" if cell is None else str(cell)) for cell in table.rows[n]] for n in indices)
    return [dict(zip(names, row, strict=True)) for row in rows]


def answer_in(row: Mapping[str, str], sample: TdbenchSample) -> str:
    return ", ".join(row[name.casefold()] for name in sample.answers)


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
    """Repairs of a file's rows before questions are made, as of `questions tdbench doctor`:
    `standard`, or PROBLEM=POLICY such as `zero-length=drop`."""
    templates: str | None = None
    """A TOML file with sentences for the columns of a file's table; see docs/tdbench.md."""
    book: Literal["open", "closed"] | None = None
    """`open`: the prompt shows rows, unless the condition has a tool to find them; `closed`: it
    shows none. None for what the questions were made for, which is `open` unless said."""
    phrasings: int = Field(default=3, ge=1, le=9)
    """Number of wordings of each query."""

    @property
    def is_own(self) -> bool:
        """Whether the tables are the user's."""
        return self.tables not in ("fictional", "shipped")

    @field_validator("question", "answer")
    @classmethod
    def _in_small_letters(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """As columns are, whatever their file has."""
        return tuple(name.lower() for name in names)
