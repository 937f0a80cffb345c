"""The tables and figures of the TDBench paper over scored answers, for `compare --table` and
`reproduce`, and the certificate of an imported set: what proves its golds.

Values are percentages over the finished answers for which a metric is defined, with 95 % confidence
intervals over queries, for models and then for the shortcuts over the same questions.

Table 26 compares turning a statement into words, which needs only the columns of a dependency,
with giving a model whole rows. Tokens are estimated from the bytes (4 a token), as no model's
tokenizer is at hand.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from agent_env.families.tdbench.sample import TdbenchSample, tdbench_sample
from agent_env.sdk.records import MaterialTable
from agent_env.sdk.results import (
    Arm,
    Cell,
    Column,
    Comparison,
    Estimate,
    Measurement,
    ResultTable,
    Statistic,
)


@Statistic("certificate", order=5, in_score=True).of
def certificate(comparison: Comparison) -> ResultTable:
    """A row for each file of each folder; no rows for questions that are not imported."""
    samples = [s for s in comparison.study.samples if isinstance(s, TdbenchSample)]
    counts: dict[tuple[str, str, int, int], list[int]] = {}
    golds: set[str] = set()
    for one in (s.certificate for s in samples):
        if one is not None:
            file = f"{one.folder}/{one.file}" if one.folder else one.file
            own = counts.setdefault((file, one.reading, one.stored, one.reproduced), [0, 0])
            own[0] += 1
            own[1] += not one.agrees
            golds |= set() if one.agrees else {one.gold}
    heads = ("stored results", "that come out", "samples", "of them differing")
    columns = (Column("file"), Column("reading"), *(Column(h, 0) for h in heads))
    rest = {
        "stored": "Of a differing sample the gold is the published one.",
        "returned": "Of a differing sample the gold is what its statement returns.",
    }
    notes = (
        "A stored result comes out where the stored statement returns the stored rows.",
        *(rest[gold] for gold in sorted(golds & set(rest))),
    )
    rows: tuple[tuple[Cell, ...], ...]
    rows = tuple((*key, *own) for key, own in sorted(counts.items()))
    return ResultTable("certificate", "Certificate of the import", columns, rows, notes)


Pair = tuple[float, float]
"""Numerator and denominator of an answer's part in a ratio."""
Cells = Iterator[tuple[str, float | Pair | None]]
"""An answer's parts in columns: a value whose mean is taken, or its part in a ratio; None for what
is not defined for it."""


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    sample: TdbenchSample
    metrics: Mapping[str, float]
    row: str
    """The model, condition, or shortcut."""
    prompt: str = "default"
    is_closed: bool = False
    """Whether the question was asked without any rows."""
    table: MaterialTable | None = None
    """The first table of the sample."""


@dataclass(frozen=True, slots=True)
class PaperTable:
    title: str
    cells: Callable[[ScoredAnswer], Cells]
    is_part: Callable[[ScoredAnswer], bool] = lambda answer: True
    """Which answers it shows, where a comparison holds others too."""
    note: str = ""
    with_shortcuts: bool = True
    unit: str = "%"


def answers_of(
    comparison: Comparison, row_of: Callable[[Arm], str], prompt: str | None = None
) -> Iterator[ScoredAnswer]:
    """Every finished answer of its models; `prompt`: instead of the runs' own."""
    samples = {sample.id: tdbench_sample(sample) for sample in comparison.study.samples}
    for arm in comparison.study.arms:
        parts = arm.condition.name.split("~")[0].split("+")
        for one in arm.observations:
            if one.counts:
                sample = samples[one.sample]
                book = arm.options.get("book") or sample.book
                yield ScoredAnswer(
                    sample, one.metrics, row_of(arm), prompt or arm.prompt,
                    book == "closed" and parts == ["base"], _table(comparison, sample),
                )  # fmt: skip


def _table(comparison: Comparison, sample: TdbenchSample) -> MaterialTable | None:
    return comparison.hooks.materials.get(sample.materials[0]) if sample.materials else None


def shortcut_answers(
    arms: Iterable[Arm], answers: Sequence[ScoredAnswer]
) -> Iterator[ScoredAnswer]:
    """What these shortcuts answer to the questions of these answers, once for each prompt."""
    asked: dict[tuple[str, bool], dict[str, TdbenchSample]] = defaultdict(dict)
    for answer in answers:
        asked[answer.prompt, answer.is_closed][answer.sample.id] = answer.sample
    for arm in arms:
        for (prompt, is_closed), samples in asked.items():
            for one in arm.observations:
                if one.sample in samples:
                    sample = samples[one.sample]
                    yield ScoredAnswer(sample, one.metrics, arm.label, prompt, is_closed)


def measured(
    table: PaperTable, answers: Iterable[ScoredAnswer], known: Sequence[str] = ()
) -> Iterator[Measurement]:
    """The figures by row; `known`: the columns wanted, in their order."""
    rows: dict[str, dict[str, list[tuple[str, Pair]]]] = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        for name, value in table.cells(answer):
            if value is not None:
                pair = value if isinstance(value, tuple) else (value, 1.0)
                rows[answer.row][name].append((answer.sample.query, pair))
    for row, columns in rows.items():
        for name in known or sorted(columns):
            if name in columns:
                yield Measurement(row, name, estimate(columns[name], table.unit))


def estimate(values: Sequence[tuple[str, Pair]], unit: str = "%") -> Estimate:
    """The ratio over clusters (queries), in percent unless the unit is another."""
    if not sum(below for _, (_, below) in values):
        return Estimate(None, method="no answer for it")
    return Estimate.of_ratio(values).times(100 if unit == "%" else 1)


# The columns of each table ------------------------------------------------------------------------

NAMES = {"A": "answer", "T": "time", "AT": "answer_time"}
PROMPT_NAMES = {"default": "original", "retrieval": "RAG", "cot": "CoT", "time-cot": "Time-CoT"}
CLASSES = ("correct", "outdated", "incorrect")
SIZES = ("multiple", "unique", "none")
RELATIONS = (
    "before", "after", "meets", "met-by", "overlaps", "overlapped-by", "equals", "starts",
    "started-by", "finishes", "finished-by", "during", "contains",
)  # fmt: skip
"""In the order of the paper's figure."""
COUNTRIES = ("country", "countries", "leader", "offices")
SPAN_YEARS = 5


def by_domain(answer: ScoredAnswer, name: Callable[[str], str] = str) -> Cells:
    """Table 4: A, AT and their difference, over answers that define both."""
    a, at = answer.metrics.get("answer"), answer.metrics.get("answer_time")
    if a is not None and at is not None:
        domain = name(answer.sample.domain)
        yield from ((f"{domain} A", a), (f"{domain} AT", at), (f"{domain} Δ", a - at))


def by_cardinality(answer: ScoredAnswer) -> Cells:
    """Tables 5 and 24; T and AT are not defined where there is no answer."""
    size = answer.sample.cardinality
    for name in ("A",) if size == "none" else NAMES:
        yield f"{size} {name}", answer.metrics.get(NAMES[name])


def by_hops(answer: ScoredAnswer) -> Cells:
    """Tables 6 and 27."""
    count = len(answer.sample.hops)
    for name in ("A", "AT"):
        yield f"{count}-hop {name}", answer.metrics.get(NAMES[name])
    for number in range(1, count):
        yield f"{count}-hop H{number}", answer.metrics.get(f"hallucination_{number}")


def by_prompt(answer: ScoredAnswer) -> Cells:
    """Table 7: AT by prompt; A where a question asks for no dates."""
    if answer.prompt in PROMPT_NAMES:
        yield PROMPT_NAMES[answer.prompt], _at_or_a(answer)


def by_prompt_and_cardinality(answer: ScoredAnswer) -> Cells:
    """Table 22: AT of multiple and unique, A of none, by prompt."""
    if answer.prompt in PROMPT_NAMES:
        yield f"{answer.sample.cardinality} {PROMPT_NAMES[answer.prompt]}", _at_or_a(answer)


def _at_or_a(answer: ScoredAnswer) -> float | None:
    return answer.metrics.get("answer_time", answer.metrics.get("answer"))


def classes(answer: ScoredAnswer) -> Cells:
    """Shares of the classes of Table 19, without and with T."""
    for name in CLASSES:
        yield name, answer.metrics.get(name)
        yield f"{name} +T", answer.metrics.get(f"{name}_time")


def by_relation(answer: ScoredAnswer) -> Cells:
    """Figure 2: A by relation, also by the dates that are asked for, as sets may have the half and
    the full relation."""
    if (relation := answer.sample.relation) in RELATIONS:
        value = answer.metrics.get("answer")
        yield relation, value
        if answer.sample.roles:
            yield f"{relation} ({'+'.join(answer.sample.roles)})", value


def by_span(answer: ScoredAnswer, only: Sequence[str] = ()) -> Cells:
    """Figures 3 and 5: A by the five years in which the gold began; of domains with one of these
    words in their names."""
    domain, starts = answer.sample.domain.casefold(), [row.start for row in answer.sample.golds]
    if starts and (not only or any(word in domain for word in only)):
        year = int(min(starts)[:4]) // SPAN_YEARS * SPAN_YEARS
        yield f"{year}-{year + SPAN_YEARS - 1}", answer.metrics.get("answer")


FROM_SQL = """\
Put a query into words. It reads the table {table}({columns}), whose rows each held from a start \
up to an end. Write {number} questions that ask for exactly its result, a line each, and nothing \
else.

{sql}"""
FROM_ROWS = """\
Make questions about time from a table. Its rows each held from a start up to an end, and stand \
below as CSV. Write {number} questions that one of them answers, with the answer, a line each, and \
nothing else.

{rows}"""
QUESTIONS = 3
"""For each query, as in the paper."""


def construction(answer: ScoredAnswer) -> Cells:
    """Table 26: input tokens per query, in the paper's two ways of making questions."""
    sample, table = answer.sample, answer.table
    if table is not None and (sql := sample.sql.get("sqlite")) is not None:
        columns = ", ".join((*sample.asked, *sample.answers, "start", "end"))
        text = FROM_SQL.format(table=table.name, columns=columns, number=QUESTIONS, sql=sql)
        yield f"{sample.domain} from SQL", float(_text_tokens(text))
    if table is not None and sample.relevant:
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerows([table.columns, *(table.rows[index] for index in sample.relevant[0])])
        text = FROM_ROWS.format(number=QUESTIONS, rows=out.getvalue())
        yield f"{sample.domain} LLM only", float(_text_tokens(text))


def _text_tokens(text: str) -> int:
    return -(-len(text.encode()) // 4)


# The tables ---------------------------------------------------------------------------------------


def is_hop(answer: ScoredAnswer) -> bool:
    return bool(answer.sample.hops)


def is_relation(answer: ScoredAnswer) -> bool:
    """About one of Allen's relations."""
    return answer.sample.kind == "relation"


def is_current(answer: ScoredAnswer) -> bool:
    """About what holds now."""
    return answer.sample.kind == "current"


_BY_HOP = "H_i: hop i + 1 wrong where hop i is right"
_NO_TIME = "T and AT are not defined where there is no answer"
TABLES: dict[str, PaperTable] = {
    "table4": PaperTable("Table 4: what holds now, by domain", by_domain, is_current),
    "table5": PaperTable("Table 5: by number of answers", by_cardinality, is_relation, _NO_TIME),
    "table6": PaperTable("Tables 6 and 27: by hop", by_hops, is_hop, _BY_HOP),
    "table7": PaperTable("Table 7: by prompt, questions of several hops", by_prompt, is_hop, "AT"),
    "classes": PaperTable(
        "Shares of the classes of Table 19, without and with T", classes, is_current
    ),
    "table22": PaperTable(
        "Table 22: by prompt and number of answers", by_prompt_and_cardinality, is_relation,
        "AT, and A where there is no answer",
    ),
    "table24": PaperTable(
        "Table 24: invented tables, by number of answers", by_cardinality,
        lambda a: is_relation(a) and a.sample.fictional, _NO_TIME,
    ),
    "table25": PaperTable(
        "Table 25: what holds now, all domains",
        lambda answer: ((name, answer.metrics.get(NAMES[name])) for name in ("A", "AT")),
        is_current, "for models that answer without dates, only A means something",
    ),
    "table26": PaperTable(
        "Table 26: input tokens to make a question", construction,
        note="tokens by bytes/4; from SQL: prompt, columns and statement; LLM only: prompt and "
        "whole rows; the paper's times need a model's run", with_shortcuts=False, unit="tokens",
    ),
    "figure2": PaperTable("Figure 2: A by relation", by_relation, is_relation),
    "figure3": PaperTable(
        "Figure 3: A by time, closed book, one domain (countries)",
        partial(by_span, only=COUNTRIES), lambda answer: answer.is_closed,
    ),
    "figure5": PaperTable(
        "Figure 5: A by time, closed book, all domains", by_span, lambda answer: answer.is_closed
    ),
}  # fmt: skip
"""By the name of the statistic and of the experiment."""


def _statistic(name: str, table: PaperTable, order: int) -> Statistic:
    def make(comparison: Comparison) -> ResultTable:
        answers = [a for a in answers_of(comparison, lambda arm: arm.label) if table.is_part(a)]
        arms = comparison.shortcut_arms if table.with_shortcuts and answers else ()
        shortcuts = shortcut_answers(arms, answers)
        made = measured(table, (*answers, *shortcuts))
        notes = (table.note,)
        by_quantity: dict[str, list[Measurement]] = {}
        for each in made:
            by_quantity.setdefault(each.quantity, []).append(each)
        columns = (
            Column("figure"), Column("answers by"), Column(f"{table.unit} (95 % CI)", 1),
            Column("n", 0), Column("clusters", 0),
        )  # fmt: skip
        rows = tuple(
            (each.quantity, each.row, own.cell, own.samples, own.clusters)
            for its in by_quantity.values()
            for each in its
            if (own := each.estimate).value is not None
        )
        return ResultTable(name, table.title, columns, rows, tuple(filter(None, notes)))

    return Statistic(
        name, make, order, "The paper's layouts",
        without_rows="The runs hold no answers that it shows.",
    )  # fmt: skip


STATISTICS = (
    certificate,
    *(_statistic(name, table, 120 + k) for k, (name, table) in enumerate(TABLES.items())),
)
