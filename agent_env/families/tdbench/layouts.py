"""Results of TDBench in the layout of its paper's tables and figures.

Rows are models (with condition and prompt where runs differ in them); values are percentages over
finished episodes for which the metric is defined, `-` where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.errors import ConfigError
from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Condition, Score


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """One finished answer, with its sample and its row of a layout."""

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
    """A table with a name for each row and a percentage for each column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...], int], ...]
    """Name, values, number of answers."""
    note: str = ""

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        rows = [
            {"name": name, "answers": count, **dict(zip(self.columns, values, strict=True))}
            for name, values, count in self.rows
        ]
        return {"title": self.title, "note": self.note, "rows": rows}

    def table(self) -> ResultTable:
        """The table that is printed."""
        columns = (Column("model"), *(Column(name, 1) for name in self.columns), Column("answers"))
        rows = tuple((name, *values, count) for name, values, count in self.rows)
        return ResultTable("layout", self.title, columns, rows, (self.note,) if self.note else ())


Filter = Callable[[ScoredAnswer], bool]
Cell = Callable[[Sequence[ScoredAnswer]], float | None]
Columns = dict[str, Cell]


def make_layout(name: str, answers: Sequence[ScoredAnswer]) -> Layout:
    """The table or figure of this number; ConfigError where the number is unknown or the runs hold
    no answers for it."""
    if name not in LAYOUTS:
        raise ConfigError(f"unknown layout '{name}'; known: {', '.join(LAYOUTS)}")
    title, is_part, columns_of, note = LAYOUTS[name]
    own = [answer for answer in answers if is_part(answer)]
    if not own:
        raise ConfigError(f"layout {name}: the runs hold no answers that it shows")
    columns = columns_of(own)
    rows = tuple(
        (row, tuple(cell(some) for cell in columns.values()), len(some))
        for row, some in _rows(own, by_prompt=name not in ("7", "22")).items()
    )
    return Layout(title, tuple(columns), rows, note)


def scored_answers(
    manifest: Manifest, pairs: Sequence[tuple[TdbenchSample, Score]]
) -> list[ScoredAnswer]:
    """The finished answers of one run."""
    closed = manifest.options.get("book") == "closed"
    names = {
        condition.name: _condition_text(condition, closed) for condition in manifest.conditions
    }
    return [
        ScoredAnswer(sample, score, manifest.model, manifest.prompt, names[score.condition])
        for sample, score in pairs
        if score.outcome in ("read", "unreadable")
    ]


def _condition_text(condition: Condition, closed: bool) -> str:
    strategy = "" if condition.strategy == "tool-loop" else f" {condition.strategy}"
    book = " closed" if closed and condition.name == "base" else ""
    return f"{condition.name}{book}{strategy}"


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


# Columns ----------------------------------------------------------------------------------------


def _mean(value: Callable[[ScoredAnswer], float | None], is_part: Filter) -> Cell:
    """The mean in percent over the answers of the column that define the value."""

    def cell(answers: Sequence[ScoredAnswer]) -> float | None:
        values = [v for a in answers if is_part(a) and (v := value(a)) is not None]
        return 100 * fmean(values) if values else None

    return cell


def _metric(metric: str, is_part: Filter = lambda answer: True) -> Cell:
    return _mean(lambda answer: answer.metric(metric), is_part)


def _at_or_a(is_part: Filter) -> Cell:
    """AT; A where a question asks for no dates."""
    return _mean(lambda a: a.score.metrics.get("answer_time", a.metric("answer")), is_part)


def _where(key: Callable[[ScoredAnswer], object], value: object) -> Filter:
    return lambda answer: key(answer) == value


def _difference(one: Cell, other: Cell) -> Cell:
    def cell(answers: Sequence[ScoredAnswer]) -> float | None:
        first, second = one(answers), other(answers)
        return None if first is None or second is None else first - second

    return cell


NAMES = {"A": "answer", "T": "time", "AT": "answer_time"}


def _by_domain(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 4: A, AT and their difference by domain, over answers that define both."""
    columns: Columns = {}
    for domain in sorted({a.sample.domain for a in answers}):
        own = _where(lambda a: (a.sample.domain, a.metric("answer_time") is None), (domain, False))
        a, at = _metric("answer", own), _metric("answer_time", own)
        columns |= {f"{domain} A": a, f"{domain} AT": at, f"{domain} Δ": _difference(a, at)}
    return columns


def _cardinality(answer: ScoredAnswer) -> str:
    return answer.sample.cardinality


def _by_cardinality(answers: Sequence[ScoredAnswer]) -> Columns:
    """Tables 5 and 24."""
    columns: Columns = {
        f"{cardinality} {name}": _metric(metric, _where(_cardinality, cardinality))
        for cardinality in ("multiple", "unique")
        for name, metric in NAMES.items()
    }
    return columns | {"none A": _metric("answer", _where(_cardinality, "none"))}


def _by_hops(answers: Sequence[ScoredAnswer]) -> Columns:
    """Tables 6 and 27."""
    columns: Columns = {}
    for count in sorted({len(a.sample.hops) for a in answers}):
        own = _where(lambda a: len(a.sample.hops), count)
        columns |= {f"{count}-hop {name}": _metric(NAMES[name], own) for name in ("A", "AT")}
        for number in range(1, count):
            columns[f"{count}-hop H{number}"] = _metric(f"hallucination_{number}", own)
    return columns


PROMPT_NAMES = {"default": "original", "retrieval": "RAG", "cot": "CoT", "time-cot": "Time-CoT"}


def _prompts(answers: Sequence[ScoredAnswer]) -> list[tuple[str, str]]:
    """The prompts of the answers with their names in the paper."""
    prompts = {answer.prompt for answer in answers}
    return [(prompt, name) for prompt, name in PROMPT_NAMES.items() if prompt in prompts]


def _by_prompt(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 7: AT by prompt; A where a question asks for no dates."""
    return {
        name: _at_or_a(_where(lambda a: a.prompt, prompt)) for prompt, name in _prompts(answers)
    }


def _by_prompt_and_cardinality(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 22: AT of multiple and unique, A of none, by prompt."""
    return {
        f"{cardinality} {name}": _at_or_a(
            _where(lambda a: (a.prompt, _cardinality(a)), (prompt, cardinality))
        )
        for cardinality in ("multiple", "unique", "none")
        for prompt, name in _prompts(answers)
    }


def _with_and_without_time(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 19: the classes of `current` answers, without and with T."""
    names = [f"{c}{t}" for c in ("correct", "outdated", "incorrect") for t in ("", "_time")]
    return {name.replace("_time", " +T"): _metric(name) for name in names}


RELATIONS = (
    "before", "after", "meets", "met-by", "overlaps", "overlapped-by", "equals", "starts",
    "started-by", "finishes", "finished-by", "during", "contains",
)  # fmt: skip
"""In the order of the paper's figure."""


def _by_relation(answers: Sequence[ScoredAnswer]) -> Columns:
    """Figure 2: A by relation; where a set has the half and the full relation, also by the dates
    that are asked for."""
    columns: Columns = {}
    for relation in RELATIONS:
        own = [a.sample for a in answers if a.sample.relation == relation]
        if own:
            columns[relation] = _metric("answer", _where(lambda a: a.sample.relation, relation))
        all_roles = sorted({sample.roles for sample in own if sample.roles})
        for roles in all_roles if len(all_roles) > 1 else ():
            own_roles = _where(lambda a: (a.sample.relation, a.sample.roles), (relation, roles))
            columns[f"{relation} ({'+'.join(roles)})"] = _metric("answer", own_roles)
    return columns


SPAN_YEARS = 5


def _by_span(answers: Sequence[ScoredAnswer]) -> Columns:
    """Figures 3 and 5: A by the five years in which the gold began."""
    years = sorted({span for a in answers if (span := _span(a)) is not None})
    return {
        f"{year}-{year + SPAN_YEARS - 1}": _metric("answer", _where(_span, year)) for year in years
    }


def _span(answer: ScoredAnswer) -> int | None:
    starts = [row.start for row in answer.sample.golds]
    return int(min(starts)[:4]) // SPAN_YEARS * SPAN_YEARS if starts else None


def _is_hop(answer: ScoredAnswer) -> bool:
    return bool(answer.sample.hops)


def _is_relation(answer: ScoredAnswer) -> bool:
    return answer.sample.kind == "relation"


def _is_current(answer: ScoredAnswer) -> bool:
    return answer.sample.kind == "current"


def _is_closed(answer: ScoredAnswer) -> bool:
    return "closed" in answer.condition and bool(answer.sample.golds)


Entry = tuple[str, Filter, Callable[[Sequence[ScoredAnswer]], Columns], str]
_NO_TIME = "T and AT are not defined where there is no answer"
LAYOUTS: dict[str, Entry] = {
    "4": ("Table 4: what holds now, by domain", _is_current, _by_domain, ""),
    "5": ("Table 5: by number of answers", _is_relation, _by_cardinality, _NO_TIME),
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
        _NO_TIME,
    ),
    "27": ("Table 27: by hop, in full", _is_hop, _by_hops, "H_i as in table 6"),
    "fig2": ("Figure 2: A by relation", _is_relation, _by_relation, ""),
    "fig3": ("Figure 3: A by time, closed book", _is_closed, _by_span, "one domain: use --domain"),
    "fig5": ("Figure 5: A by time, closed book, all domains", _is_closed, _by_span, ""),
}
