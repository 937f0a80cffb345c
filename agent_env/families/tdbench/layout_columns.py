"""The columns of the paper's tables and figures: what each takes from a scored answer, and means
over answers with intervals.

Table 26 compares turning a statement into words, which needs only the columns of a dependency,
with giving a model whole rows. Tokens are estimated from the bytes (4 a token), as no model's
tokenizer is at hand.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agent_env.extensions.papers.results import percent
from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.sdk.records import Condition, Manifest, MaterialTable
from agent_env.sdk.results import Estimate, bootstrap_estimate, mean_estimates, ratio, weight_chunks

Pair = tuple[float, float]
"""Numerator and denominator of an answer's part in a ratio; (value, 1) for a mean."""


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """One finished answer, with its sample and its row of a layout."""

    sample: TdbenchSample
    metrics: Mapping[str, float]
    model: str
    prompt: str
    condition: str
    label: str | None = None
    """What people say of the answer; None where nobody judged it."""
    table: MaterialTable | None = None
    """The first table of the sample."""
    is_shortcut: bool = False
    """Whether no model gave it."""

    def metric(self, name: str) -> float | None:
        """None where it is not defined."""
        return self.metrics.get(name)


def condition_names(manifest: Manifest) -> dict[str, str]:
    """What tells the conditions of a run apart, by name."""
    closed = manifest.options.get("book") == "closed"
    return {each.name: _condition_text(each, closed) for each in manifest.conditions}


def _condition_text(condition: Condition, closed: bool) -> str:
    strategy = "" if condition.strategy == "tool-loop" else f" {condition.strategy}"
    book = " closed" if closed and condition.name == "base" else ""
    return f"{condition.name}{book}{strategy}"


def is_closed(answer: ScoredAnswer) -> bool:
    """Whether the question was asked without any rows."""
    own = answer.sample.book == "closed" and answer.condition.split()[0] == "base"
    return own or "closed" in answer.condition.split()


def estimate(values: Iterable[tuple[str, Pair]]) -> Estimate:
    """The ratio in percent, with an interval over clusters (queries): Wilson's where every answer
    is 0 or 1, else the percentiles of a cluster bootstrap."""
    names, pairs = zip(*own, strict=True) if (own := list(values)) else ((), ())
    if not pairs or not (total := sum(pair[1] for pair in pairs)):
        return Estimate(None, method="no answer for it")
    numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
    clusters = np.array([numbers[name] for name in names], dtype=np.int64)
    if all(pair in ((0.0, 1.0), (1.0, 1.0)) for pair in pairs):
        column = np.array([[pair[0]] for pair in pairs])
        (share,) = mean_estimates(column, clusters, np.empty((0, 1)), share=True)
        return percent(share)
    sums = np.zeros((len(numbers), 2))
    np.add.at(sums, clusters, np.array(pairs, dtype=float))
    value = sum(pair[0] for pair in pairs) / total
    if np.ptp(sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], 1)) < 1e-12:
        return percent(Estimate(value, None, None, "all equal", len(pairs), len(numbers)))
    draws = [
        ratio(weights @ sums[:, :1], weights @ sums[:, 1:]) for weights in weight_chunks(len(sums))
    ]
    return percent(bootstrap_estimate(value, np.concatenate(draws)[:, 0], len(pairs), len(numbers)))


def distinct_samples(answers: Sequence[ScoredAnswer]) -> list[ScoredAnswer]:
    """One answer of each sample."""
    return list({answer.sample.id: answer for answer in answers}.values())


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


def sql_tokens(sample: TdbenchSample, table: MaterialTable | None) -> int | None:
    """To word the sample's query; None where it has no statement."""
    sql = sample.sql.get("sqlite")
    if table is None or sql is None:
        return None
    columns = ", ".join((*sample.asked, *sample.answers, "start", "end"))
    return _text_tokens(
        FROM_SQL.format(table=table.name, columns=columns, number=QUESTIONS, sql=sql)
    )


def llm_only_tokens(sample: TdbenchSample, table: MaterialTable | None) -> int | None:
    """To make a question of the rows of the sample's group, with all their columns."""
    if table is None or not sample.relevant:
        return None
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([table.columns, *(table.rows[index] for index in sample.relevant[0])])
    return _text_tokens(FROM_ROWS.format(number=QUESTIONS, rows=out.getvalue()))


def _text_tokens(text: str) -> int:
    return -(-len(text.encode()) // 4)


Filter = Callable[[ScoredAnswer], bool]
Cell = Callable[[ScoredAnswer], Pair | None]
"""An answer's part in a column; None where it has none."""
Columns = dict[str, Cell]


def _mean(value: Callable[[ScoredAnswer], float | None], is_part: Filter) -> Cell:
    """The mean over the answers of the column that define the value."""

    def cell(answer: ScoredAnswer) -> Pair | None:
        own = value(answer) if is_part(answer) else None
        return None if own is None else (own, 1.0)

    return cell


def metric(name: str, is_part: Filter = lambda answer: True) -> Cell:
    """The mean of a metric."""
    return _mean(lambda answer: answer.metric(name), is_part)


def at_or_a(is_part: Filter) -> Cell:
    """AT; A where a question asks for no dates."""
    return _mean(lambda a: a.metrics.get("answer_time", a.metric("answer")), is_part)


def where(key: Callable[[ScoredAnswer], object], value: object) -> Filter:
    """Answers with this value."""
    return lambda answer: key(answer) == value


NAMES = {"A": "answer", "T": "time", "AT": "answer_time"}


def by_domain(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 4: A, AT and their difference by domain, over answers that define both."""
    columns: Columns = {}
    for domain in sorted({a.sample.domain for a in answers}):
        own = where(lambda a: a.sample.domain, domain)
        columns |= {f"{domain} {name}": cell for name, cell in a_and_at(own).items()}
    return columns


def a_and_at(is_part: Filter) -> Columns:
    """A, AT and their difference over answers that define both."""

    def both(answer: ScoredAnswer) -> bool:
        return is_part(answer) and answer.metric("answer_time") is not None

    a, at = metric("answer", both), metric("answer_time", both)
    return {"A": a, "AT": at, "Δ": _mean(_drop, both)}


def _drop(answer: ScoredAnswer) -> float | None:
    """How much of A is lost where the dates count, too."""
    one, other = answer.metric("answer"), answer.metric("answer_time")
    return None if one is None or other is None else one - other


def _cardinality(answer: ScoredAnswer) -> str:
    return answer.sample.cardinality


def by_cardinality(answers: Sequence[ScoredAnswer]) -> Columns:
    """Tables 5 and 24."""
    columns: Columns = {
        f"{cardinality} {name}": metric(own, where(_cardinality, cardinality))
        for cardinality in ("multiple", "unique")
        for name, own in NAMES.items()
    }
    return columns | {"none A": metric("answer", where(_cardinality, "none"))}


def by_hops(answers: Sequence[ScoredAnswer]) -> Columns:
    """Tables 6 and 27."""
    columns: Columns = {}
    for count in sorted({len(a.sample.hops) for a in answers}):
        own = where(lambda a: len(a.sample.hops), count)
        columns |= {f"{count}-hop {name}": metric(NAMES[name], own) for name in ("A", "AT")}
        for number in range(1, count):
            columns[f"{count}-hop H{number}"] = metric(f"hallucination_{number}", own)
    return columns


PROMPT_NAMES = {"default": "original", "retrieval": "RAG", "cot": "CoT", "time-cot": "Time-CoT"}


def _prompts(answers: Sequence[ScoredAnswer]) -> list[tuple[str, str]]:
    """The prompts of the answers with their names in the paper."""
    prompts = {answer.prompt for answer in answers}
    return [(prompt, name) for prompt, name in PROMPT_NAMES.items() if prompt in prompts]


def by_prompt(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 7: AT by prompt; A where a question asks for no dates."""
    return {name: at_or_a(where(lambda a: a.prompt, prompt)) for prompt, name in _prompts(answers)}


def by_prompt_and_cardinality(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 22: AT of multiple and unique, A of none, by prompt."""
    return {
        f"{cardinality} {name}": at_or_a(
            where(lambda a: (a.prompt, _cardinality(a)), (prompt, cardinality))
        )
        for cardinality in ("multiple", "unique", "none")
        for prompt, name in _prompts(answers)
    }


def with_and_without_time(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 19: the classes of `current` answers, without and with T."""
    names = [f"{c}{t}" for c in ("correct", "outdated", "incorrect") for t in ("", "_time")]
    return {name.replace("_time", " +T"): metric(name) for name in names}


RELATIONS = (
    "before", "after", "meets", "met-by", "overlaps", "overlapped-by", "equals", "starts",
    "started-by", "finishes", "finished-by", "during", "contains",
)  # fmt: skip
"""In the order of the paper's figure."""


def by_relation(answers: Sequence[ScoredAnswer]) -> Columns:
    """Figure 2: A by relation; where a set has the half and the full relation, also by the dates
    that are asked for."""
    columns: Columns = {}
    for relation in RELATIONS:
        own = [a.sample for a in answers if a.sample.relation == relation]
        if own:
            columns[relation] = metric("answer", where(lambda a: a.sample.relation, relation))
        all_roles = sorted({sample.roles for sample in own if sample.roles})
        for roles in all_roles if len(all_roles) > 1 else ():
            own_roles = where(lambda a: (a.sample.relation, a.sample.roles), (relation, roles))
            columns[f"{relation} ({'+'.join(roles)})"] = metric("answer", own_roles)
    return columns


SPAN_YEARS = 5


def by_span(answers: Sequence[ScoredAnswer]) -> Columns:
    """Figures 3 and 5: A by the five years in which the gold began."""
    years = sorted({span for a in answers if (span := _span(a)) is not None})
    return {
        f"{year}-{year + SPAN_YEARS - 1}": metric("answer", where(_span, year)) for year in years
    }


def _span(answer: ScoredAnswer) -> int | None:
    starts = [row.start for row in answer.sample.golds]
    return int(min(starts)[:4]) // SPAN_YEARS * SPAN_YEARS if starts else None


def is_hop(answer: ScoredAnswer) -> bool:
    """Of several hops."""
    return bool(answer.sample.hops)


def is_relation(answer: ScoredAnswer) -> bool:
    """About one of Allen's relations."""
    return answer.sample.kind == "relation"


def is_current(answer: ScoredAnswer) -> bool:
    """About what holds now."""
    return answer.sample.kind == "current"


def is_dated_and_closed(answer: ScoredAnswer) -> bool:
    """With an answer, and asked without rows."""
    return is_closed(answer) and bool(answer.sample.golds)


# Against people ---------------------------------------------------------------------------------


def verdict(answer: ScoredAnswer, with_time: bool) -> str:
    """The scorer's class of an answer, without or with its dates."""
    time = "_time" if with_time and f"correct{TIME}" in answer.metrics else ""
    for name in ("correct", "outdated"):
        if answer.metrics.get(name + time) == 1:
            return name
    if answer.sample.kind == "current":
        return "incorrect"
    name = "answer_time" if with_time and "answer_time" in answer.metrics else "answer"
    return "correct" if answer.metrics.get(name) == 1 else "incorrect"


TIME = "_time"


def _agreement(name: str, with_time: bool, is_part: Filter) -> Columns:
    """Precision, recall and F1 of one class against people (paper, section D.2)."""

    def pair(answer: ScoredAnswer) -> tuple[bool, bool] | None:
        if answer.label is None or not is_part(answer):
            return None
        return verdict(answer, with_time) == name, _plain(answer.label) == name

    def precision(answer: ScoredAnswer) -> Pair | None:
        own = pair(answer)
        return None if own is None or not own[0] else (float(own[1]), 1.0)

    def recall(answer: ScoredAnswer) -> Pair | None:
        own = pair(answer)
        return None if own is None or not own[1] else (float(own[0]), 1.0)

    def f1(answer: ScoredAnswer) -> Pair | None:
        own = pair(answer)
        return None if own is None else (2.0 * (own[0] and own[1]), float(own[0] + own[1]))

    return {"P": precision, "R": recall, "F1": f1}


def _plain(label: str) -> str:
    return "incorrect" if label == "unsure" else label


def classes_against_people(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 19: each class of `current` answers, judged without and with T."""
    return {
        f"{name}{' +T' if with_time else ''} {measure_}": cell
        for name in ("correct", "outdated", "incorrect")
        for with_time in (False, True)
        for measure_, cell in _agreement(name, with_time, lambda answer: True).items()
    }


TASKS: dict[str, Filter] = {
    "alignment": is_current,
    "reasoning": is_relation,
    "multi-hop": is_hop,
}
"""The paper's three tasks."""


def tasks_against_people(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 8: the class correct, answer and dates, by task."""
    return {
        f"{task} {measure_}": cell
        for task, is_part in TASKS.items()
        for measure_, cell in _agreement("correct", True, is_part).items()
    }


def parts_against_people(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 23: the same, reasoning by number of answers, too."""
    columns = tasks_against_people(answers)
    for size in ("multiple", "unique", "none"):
        own = where(lambda a: (a.sample.kind, _cardinality(a)), ("relation", size))
        columns |= {
            f"reasoning {size} {measure_}": cell
            for measure_, cell in _agreement("correct", True, own).items()
        }
    return columns


# Construction -----------------------------------------------------------------------------------


def construction(answers: Sequence[ScoredAnswer]) -> Columns:
    """Table 26: input tokens per query, in the paper's two ways of making questions."""
    columns: Columns = {}
    for domain in sorted({a.sample.domain for a in answers}):
        own = where(lambda a: a.sample.domain, domain)
        columns[f"{domain} from SQL"] = _tokens(lambda a: sql_tokens(a.sample, a.table), own)
        columns[f"{domain} LLM only"] = _tokens(lambda a: llm_only_tokens(a.sample, a.table), own)
    return columns


def _tokens(count: Callable[[ScoredAnswer], int | None], is_part: Filter) -> Cell:
    """Tokens as a ratio in percent, so that a hundredth of them is entered."""
    return _mean(lambda a: None if (own := count(a)) is None else own / 100, is_part)
