"""Runs of TDBench laid out as the tables and figures of its paper.

Rows are models (with condition and prompt where runs differ in them); figures are percentages over
finished episodes for which the metric is defined, `-` where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.errors import ConfigError
from agent_env.families.tdbench.sample import Role, TdbenchSample
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Condition, Score


@dataclass(frozen=True, slots=True)
class Scored:
    """One finished answer, with what the layouts sort by."""

    sample: TdbenchSample
    score: Score
    model: str
    prompt: str
    condition: str

    def metric(self, name: str) -> float | None:
        """None where it is not defined."""
        return self.score.metrics.get(name)


@dataclass(frozen=True, slots=True)
class Layout:
    """A table: a name for each row, and a figure (in percent) for each column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    counts: tuple[int, ...]
    """Answers by row."""
    note: str = ""

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        rows = [
            {"name": name, "answers": n, **dict(zip(self.columns, figures, strict=True))}
            for (name, figures), n in zip(self.rows, self.counts, strict=True)
        ]
        return {"title": self.title, "note": self.note, "rows": rows}

    def table(self) -> ResultTable:
        """The same for people."""
        columns = (Column("model"), *(Column(name, 1) for name in self.columns), Column("answers"))
        rows = tuple(
            (name, *figures, n) for (name, figures), n in zip(self.rows, self.counts, strict=True)
        )
        notes = (self.note,) if self.note else ()
        return ResultTable("layout", self.title, columns, rows, notes)


Cell = Callable[[Sequence[Scored]], float | None]
Columns = dict[str, Cell]


def make_layout(name: str, answers: Sequence[Scored]) -> Layout:
    """The table or figure of this number; ConfigError where there is no such layout, or nothing in
    the runs that it shows."""
    if name not in LAYOUTS:
        raise ConfigError(f"unknown layout '{name}'; known: {', '.join(LAYOUTS)}")
    title, kept, columns_of, note = LAYOUTS[name]
    shown = [answer for answer in answers if kept(answer)]
    if not shown:
        raise ConfigError(f"layout {name}: the runs hold no answers that it shows")
    by_prompt = name in ("7", "22")
    columns = columns_of(shown)
    rows = _rows(shown, by_prompt)
    return Layout(
        title,
        tuple(columns),
        tuple((row, tuple(cell(own) for cell in columns.values())) for row, own in rows.items()),
        tuple(len(own) for own in rows.values()),
        note,
    )


def scored(manifest: Manifest, pairs: Sequence[tuple[TdbenchSample, Score]]) -> list[Scored]:
    """The finished answers of one run."""
    closed = manifest.options.get("book") == "closed"
    names = {condition.name: _told(condition, closed) for condition in manifest.conditions}
    return [
        Scored(sample, score, manifest.model, manifest.prompt, names[score.condition])
        for sample, score in pairs
        if score.outcome in ("read", "unreadable")
    ]


def _told(condition: Condition, closed: bool) -> str:
    strategy = "" if condition.strategy == "tool-loop" else f" {condition.strategy}"
    book = " closed" if closed and condition.name == "base" else ""
    return f"{condition.name}{book}{strategy}"


def _rows(answers: Sequence[Scored], by_prompt: bool) -> dict[str, list[Scored]]:
    """Answers by model, and by condition and prompt where those differ."""
    several = len({a.condition for a in answers}) > 1
    prompts = len({a.prompt for a in answers}) > 1 and not by_prompt
    rows: dict[str, list[Scored]] = {}
    for answer in answers:
        name = answer.model
        name += f" {answer.condition}" if several else ""
        name += f" {answer.prompt}" if prompts else ""
        rows.setdefault(name, []).append(answer)
    return rows


# Cells ------------------------------------------------------------------------------------------


def _mean(metric: str, kept: Callable[[Scored], bool] = lambda a: True) -> Cell:
    """The metric in percent over the answers that are kept and define it."""

    def cell(answers: Sequence[Scored]) -> float | None:
        values = [v for a in answers if kept(a) and (v := a.metric(metric)) is not None]
        return 100 * fmean(values) if values else None

    return cell


def _difference(one: Cell, other: Cell) -> Cell:
    def cell(answers: Sequence[Scored]) -> float | None:
        first, second = one(answers), other(answers)
        return None if first is None or second is None else first - second

    return cell


NAMES = {"A": "answer", "T": "time", "AT": "answer_time"}


def _by_domain(answers: Sequence[Scored]) -> Columns:
    """Table 4: A, AT and their difference by domain, over answers that define both."""
    columns: Columns = {}
    for domain in sorted({a.sample.domain for a in answers}):

        def kept(answer: Scored, domain: str = domain) -> bool:
            return answer.sample.domain == domain and answer.metric("answer_time") is not None

        a, at = _mean("answer", kept), _mean("answer_time", kept)
        columns |= {f"{domain} A": a, f"{domain} AT": at, f"{domain} Δ": _difference(a, at)}
    return columns


def _of_cardinality(cardinality: str) -> Callable[[Scored], bool]:
    return lambda answer: answer.sample.cardinality == cardinality


def _by_cardinality(answers: Sequence[Scored]) -> Columns:
    """Tables 5 and 24."""
    columns: Columns = {
        f"{cardinality} {name}": _mean(metric, _of_cardinality(cardinality))
        for cardinality in ("multiple", "unique")
        for name, metric in NAMES.items()
    }
    return columns | {"none A": _mean("answer", _of_cardinality("none"))}


def _by_hops(answers: Sequence[Scored]) -> Columns:
    """Tables 6 and 27."""
    columns: Columns = {}
    for count in sorted({len(a.sample.hops) for a in answers}):

        def kept(answer: Scored, count: int = count) -> bool:
            return len(answer.sample.hops) == count

        columns |= {f"{count}-hop {n}": _mean(NAMES[n], kept) for n in ("A", "AT")}
        for number in range(1, count):
            columns[f"{count}-hop H{number}"] = _mean(f"hallucination_{number}", kept)
    return columns


PROMPT_NAMES: Mapping[str, str] = {
    "default": "original",
    "retrieval": "RAG",
    "cot": "CoT",
    "time-cot": "Time-CoT",
}


def _with_prompt(name: str) -> Callable[[Scored], bool]:
    return lambda answer: answer.prompt == name


def _by_prompt(answers: Sequence[Scored]) -> Columns:
    """Table 7: AT by prompt; A where a question asks for no dates."""
    return {
        told: _at_or_a(_with_prompt(name))
        for name, told in PROMPT_NAMES.items()
        if any(a.prompt == name for a in answers)
    }


def _at_or_a(kept: Callable[[Scored], bool]) -> Cell:
    def cell(answers: Sequence[Scored]) -> float | None:
        values = [
            value
            for a in answers
            if kept(a)
            and (value := a.score.metrics.get("answer_time", a.metric("answer"))) is not None
        ]
        return 100 * fmean(values) if values else None

    return cell


def _by_prompt_and_cardinality(answers: Sequence[Scored]) -> Columns:
    """Table 22: AT of multiple and unique, A of none, by prompt."""
    columns: Columns = {}
    for cardinality in ("multiple", "unique", "none"):
        for name, told in PROMPT_NAMES.items():
            if any(a.prompt == name for a in answers):

                def kept(a: Scored, name: str = name, cardinality: str = cardinality) -> bool:
                    return a.prompt == name and a.sample.cardinality == cardinality

                columns[f"{cardinality} {told}"] = _at_or_a(kept)
    return columns


def _with_and_without_time(answers: Sequence[Scored]) -> Columns:
    """Table 19: the classes of `current` answers, without and with T."""
    names = [f"{c}{t}" for c in ("correct", "outdated", "incorrect") for t in ("", "_time")]
    return {name.replace("_time", " +T"): _mean(name) for name in names}


RELATIONS = (
    "before", "after", "meets", "met-by", "overlaps", "overlapped-by", "equals", "starts",
    "started-by", "finishes", "finished-by", "during", "contains",
)  # fmt: skip


def _by_relation(answers: Sequence[Scored]) -> Columns:
    """Figure 2: A by relation; where a half relation stands beside the full one, by the dates that
    it asks for too."""
    columns: Columns = {}
    for relation in RELATIONS:
        own = [a for a in answers if a.sample.relation == relation]
        roles = sorted({a.sample.roles for a in own if a.sample.roles})
        columns |= {relation: _mean("answer", _of_relation(relation))}
        for asked in roles if len(roles) > 1 else ():
            name = f"{relation} ({'+'.join(asked)})"
            columns[name] = _mean("answer", _of_relation(relation, asked))
    return {name: cell for name, cell in columns.items() if cell(answers) is not None}


def _of_relation(relation: str, asked: tuple[Role, ...] | None = None) -> Callable[[Scored], bool]:
    return lambda answer: (
        answer.sample.relation == relation and asked in (None, answer.sample.roles)
    )


SPAN_YEARS = 5


def _by_span(answers: Sequence[Scored]) -> Columns:
    """Figures 3 and 5: A by the five years in which the gold began."""
    years = sorted({span for a in answers if (span := _span(a)) is not None})
    return {f"{year}-{year + SPAN_YEARS - 1}": _mean("answer", _in_span(year)) for year in years}


def _in_span(year: int) -> Callable[[Scored], bool]:
    return lambda answer: _span(answer) == year


def _span(answer: Scored) -> int | None:
    starts = [row.start for row in answer.sample.golds]
    return int(min(starts)[:4]) // SPAN_YEARS * SPAN_YEARS if starts else None


def _is_hop(answer: Scored) -> bool:
    return bool(answer.sample.hops)


def _is_relation(answer: Scored) -> bool:
    return answer.sample.kind == "relation"


def _is_current(answer: Scored) -> bool:
    return answer.sample.kind == "current"


def _is_closed(answer: Scored) -> bool:
    return "closed" in answer.condition and bool(answer.sample.golds)


Entry = tuple[str, Callable[[Scored], bool], Callable[[Sequence[Scored]], Columns], str]
_CARDINALITY = "T and AT are not defined where there is no answer"
LAYOUTS: dict[str, Entry] = {
    "4": ("Table 4: what holds now, by domain", _is_current, _by_domain, ""),
    "5": ("Table 5: by number of answers", _is_relation, _by_cardinality, _CARDINALITY),
    "6": ("Table 6: by hop", _is_hop, _by_hops, "H_i: hop i + 1 wrong where hop i is right"),
    "7": ("Table 7: by prompt, questions of several hops", _is_hop, _by_prompt, "AT"),
    "19": ("Table 19: what holds now, with and without T", _is_current, _with_and_without_time, ""),
    "22": (
        "Table 22: by prompt and number of answers",
        _is_relation,
        _by_prompt_and_cardinality,
        "AT, and A where there is no answer",
    ),
    "24": (
        "Table 24: invented tables, by number of answers",
        lambda a: _is_relation(a) and a.sample.fictional,
        _by_cardinality,
        _CARDINALITY,
    ),
    "27": ("Table 27: by hop, in full", _is_hop, _by_hops, "H_i as in table 6"),
    "fig2": ("Figure 2: A by relation", _is_relation, _by_relation, ""),
    "fig3": ("Figure 3: A by time, closed book", _is_closed, _by_span, "one domain: use --domain"),
    "fig5": ("Figure 5: A by time, closed book, all domains", _is_closed, _by_span, ""),
}
