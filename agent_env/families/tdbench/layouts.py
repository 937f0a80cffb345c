"""Results of TDBench in the layout of its paper's tables and figures, and the certificate of an
imported set: what proves its golds.

Rows are models (with condition and prompt where runs differ in them), and the shortcuts over the
same questions; values are percentages over the finished answers for which the metric is defined,
each with its number and a 95 % confidence interval over queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_env.families.tdbench.layout_columns import (
    Columns,
    Filter,
    ScoredAnswer,
    by_cardinality,
    by_domain,
    by_hops,
    by_prompt,
    by_prompt_and_cardinality,
    by_relation,
    by_span,
    classes_against_people,
    construction,
    distinct_samples,
    estimate,
    is_current,
    is_dated_and_closed,
    is_hop,
    is_relation,
    metric,
    parts_against_people,
    tasks_against_people,
    with_and_without_time,
)
from agent_env.families.tdbench.sample import Certificate, TdbenchSample
from agent_env.families.tdbench.score import measure
from agent_env.families.tdbench.shortcuts import SHORTCUTS
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.results import Cell, Column, Comparison, Estimate, ResultTable, Statistic

COLUMNS = (
    Column("file"),
    Column("reading"),
    Column("stored results", 0, is_kept=True),
    Column("that come out", 0, is_kept=True),
    Column("samples", 0, is_kept=True),
    Column("of them differing", 0, is_kept=True),
)


def certificate(comparison: Comparison) -> ResultTable:
    """A row for each file of each folder; no rows for questions that are not imported."""
    samples = [s for s in comparison.study.samples if isinstance(s, TdbenchSample)]
    counts: dict[tuple[str, str, int, int], list[int]] = {}
    golds: set[str] = set()
    for one in (s.certificate for s in samples):
        if one is not None:
            file = f"{one.folder}/{one.file}" if one.folder else one.file
            key = file, one.reading, one.stored, one.reproduced
            own = counts.setdefault(key, [0, 0])
            own[0] += 1
            own[1] += not one.agrees
            golds |= set() if one.agrees else {one.gold}
    rows: tuple[tuple[Cell, ...], ...]
    rows = tuple((*key, *own) for key, own in sorted(counts.items()))
    return ResultTable("certificate", "Certificate of the import", COLUMNS, rows, _notes(golds))


def _notes(golds: set[str]) -> tuple[str, ...]:
    first = "A stored result comes out where the stored statement returns the stored rows."
    rest = {
        "stored": "Of a differing sample the gold is the published one.",
        "returned": "Of a differing sample the gold is what its statement returns.",
    }
    return (first, *(rest[gold] for gold in sorted(golds & set(rest))))


def certificate_note(certificates: list[Certificate]) -> str | None:
    """The same in one line; None where nothing is imported."""
    if not certificates:
        return None
    files = {(c.folder, c.file, c.reading): c for c in certificates}.values()
    stored, reproduced = (
        sum(v) for v in zip(*((c.stored, c.reproduced) for c in files), strict=True)
    )
    differing = sum(not c.agrees for c in certificates)
    return (
        f"imported: {reproduced} of {stored} stored results come out; {differing} of "
        f"{len(certificates)} answers are to questions that differ"
    )


STATISTIC = Statistic("certificate", certificate, order=5, in_score=True, is_main=True)


@dataclass(frozen=True, slots=True)
class Layout:
    """A table with an estimate for each row and column."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    """Models first, then shortcuts."""
    cells: Mapping[tuple[str, str], Estimate]
    """By row and column."""
    shortcuts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unit: str = "%"

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        rows = [
            {
                "name": row,
                "shortcut": row in self.shortcuts,
                "figures": {name: _as_object(self.cells[row, name]) for name in self.columns},
            }
            for row in self.rows
        ]
        return {"title": self.title, "unit": self.unit, "notes": list(self.notes), "rows": rows}

    def table(self) -> ResultTable:
        """A line for each figure: of a column the models, then the shortcuts."""
        columns = (
            Column("figure"), Column("model or [shortcut]"), Column(f"{self.unit} (95 % CI)", 1),
            Column("n", 0, is_kept=True), Column("queries", 0, is_kept=True),
        )  # fmt: skip
        lines = [
            (
                name,
                f"[{row}]" if row in self.shortcuts else row,
                own.cell,
                own.samples,
                own.clusters,
            )
            for name in self.columns
            for row in self.rows
            if (own := self.cells[row, name]).value is not None
        ]
        return ResultTable(f"layout-{self.name}", self.title, columns, tuple(lines), self.notes)


def _as_object(one: Estimate) -> dict[str, object]:
    return {
        "value": one.value, "low": one.low, "high": one.high, "n": one.samples,
        "queries": one.clusters, "interval": one.method,
    }  # fmt: skip


def make_layout(name: str, answers: Sequence[ScoredAnswer]) -> Layout:
    """The table or figure of this number; ConfigError where the number is unknown or the runs hold
    no answers for it."""
    if name not in LAYOUTS:
        raise ConfigError(f"unknown layout '{name}'; known: {', '.join(LAYOUTS)}")
    entry = LAYOUTS[name]
    own = [answer for answer in answers if entry.is_part(answer)]
    if not own:
        raise ConfigError(f"layout {name}: the runs hold no answers that it shows{entry.needs}")
    columns = entry.columns_of(own)
    rows = _rows(own, by_prompt=name not in ("7", "22"))
    baselines = shortcut_rows(own) if entry.with_shortcuts else {}
    every = {**rows, **baselines}
    cells = {
        (row, column): estimate(
            (answer.sample.query, pair) for answer in some if (pair := cell(answer)) is not None
        )
        for row, some in every.items()
        for column, cell in columns.items()
    }
    certified = [a.sample.certificate for a in own if a.sample.certificate is not None]
    notes = [each for each in (entry.note, certificate_note(certified)) if each]
    return Layout(
        name, entry.title, tuple(columns), tuple(every), cells, tuple(baselines), tuple(notes),
        entry.unit,
    )  # fmt: skip


def shortcut_rows(answers: Sequence[ScoredAnswer]) -> dict[str, list[ScoredAnswer]]:
    """What each shortcut scores on the samples of these answers."""
    rows: dict[str, list[ScoredAnswer]] = {}
    every = answers if len({a.prompt for a in answers}) > 1 else distinct_samples(answers)
    for name, answerer in SHORTCUTS.items():
        own = rows.setdefault(name, [])
        for answer in every:
            if (text := answerer(answer.sample, answer.table)) is not None:
                metrics = measure(answer.sample, text, answer.table)["metrics"]
                assert isinstance(metrics, dict)
                own.append(replace(answer, metrics=metrics, model=name, is_shortcut=True))
    return {name: own for name, own in rows.items() if own}


def _rows(answers: Sequence[ScoredAnswer], by_prompt: bool) -> dict[str, list[ScoredAnswer]]:
    """Answers by model, and by condition and prompt where those differ."""
    with_condition = len({a.condition for a in answers}) > 1
    with_prompt = by_prompt and len({a.prompt for a in answers}) > 1
    rows: dict[str, list[ScoredAnswer]] = {}
    for answer in answers:
        name = answer.model
        name += f" {answer.condition}" if with_condition else ""
        name += f" {answer.prompt}" if with_prompt else ""
        rows.setdefault(name, []).append(answer)
    return rows


@dataclass(frozen=True, slots=True)
class Entry:
    """One table or figure."""

    title: str
    is_part: Filter
    columns_of: Callable[[Sequence[ScoredAnswer]], Columns]
    note: str = ""
    needs: str = ""
    """What an empty layout lacks."""
    with_shortcuts: bool = True
    unit: str = "%"


_NO_TIME = "T and AT are not defined where there is no answer"
_LABELS = "; name sheets with --labels (agent-env label)"


def _has_label(answer: ScoredAnswer) -> bool:
    return answer.label is not None


LAYOUTS: dict[str, Entry] = {
    "4": Entry("Table 4: what holds now, by domain", is_current, by_domain),
    "5": Entry("Table 5: by number of answers", is_relation, by_cardinality, _NO_TIME),
    "6": Entry("Table 6: by hop", is_hop, by_hops, "H_i: hop i + 1 wrong where hop i is right"),
    "7": Entry("Table 7: by prompt, questions of several hops", is_hop, by_prompt, "AT"),
    "8": Entry(
        "Table 8: the scorer against people, by task", _has_label, tasks_against_people,
        "of the class correct: answer and dates right", _LABELS, with_shortcuts=False,
    ),
    "19": Entry(
        "Table 19: classes of what holds now against people, without and with T",
        lambda a: is_current(a) and _has_label(a), classes_against_people,
        "of the scorer's class against that of people", _LABELS, with_shortcuts=False,
    ),
    "classes": Entry(
        "Shares of the classes of Table 19, without and with T", is_current,
        with_and_without_time,
    ),
    "22": Entry(
        "Table 22: by prompt and number of answers", is_relation, by_prompt_and_cardinality,
        "AT, and A where there is no answer",
    ),
    "23": Entry(
        "Table 23: the scorer against people, by part of a task", _has_label,
        parts_against_people, "of the class correct: answer and dates right", _LABELS,
        with_shortcuts=False,
    ),
    "24": Entry(
        "Table 24: invented tables, by number of answers",
        lambda a: is_relation(a) and a.sample.fictional, by_cardinality, _NO_TIME,
    ),
    "25": Entry(
        "Table 25: what holds now, all domains", is_current,
        lambda answers: {"A": metric("answer"), "AT": metric("answer_time")},
        "for models that answer without dates, only A means something",
    ),
    "26": Entry(
        "Table 26: input tokens to make a question", lambda a: a.table is not None, construction,
        "tokens by bytes/4; from SQL: prompt, columns and statement; LLM only: prompt and whole "
        "rows; the paper's times need a model's run", with_shortcuts=False, unit="tokens",
    ),
    "27": Entry("Table 27: by hop, in full", is_hop, by_hops, "H_i as in table 6"),
    "fig2": Entry("Figure 2: A by relation", is_relation, by_relation),
    "fig3": Entry(
        "Figure 3: A by time, closed book", is_dated_and_closed, by_span,
        "one domain: use --domain", "; they were asked with rows, not with book=closed",
    ),
    "fig5": Entry(
        "Figure 5: A by time, closed book, all domains", is_dated_and_closed, by_span,
        needs="; they were asked with rows, not with book=closed",
    ),
}  # fmt: skip
