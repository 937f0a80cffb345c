"""One question from a temporal table, with everything that is needed to check it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_env.errors import ConfigError
from agent_env.records.schema import Record, Sample

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
    """`template`, or the model that worded the question."""
    wording_prompt: str | None = None
    """Digest of the prompt for the wording; None for a template's words."""
    generator: int | None = None
    """Version of the generator that made it; None for published sets and those made before."""
    certificate: Certificate | None = None
    """Of imported questions; None for all others and for imports made before."""


def tdbench_sample(sample: Sample) -> TdbenchSample:
    """The sample itself, where it is one of this family."""
    if not isinstance(sample, TdbenchSample):
        raise ConfigError(f"sample '{sample.id}' is no question from a temporal table")
    return sample
