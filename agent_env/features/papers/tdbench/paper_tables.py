"""The tables and figures of the TDBench paper over scored answers, for `study reproduce`.

Values are percentages over the finished answers for which a metric is defined, with 95 % confidence
intervals over queries, for models and then for the shortcuts over the same questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_env.families.tdbench.sample import TdbenchSample, tdbench_sample
from agent_env.sdk.results import (
    Arm,
    Comparison,
    Estimate,
    Measurement,
)

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


Cut = Callable[[ScoredAnswer], Cells]
"""A table or figure of the paper: how it cuts an answer into its columns."""


def answers_of(
    comparison: Comparison, row_of: Callable[[Arm], str], prompt: str | None = None
) -> Iterator[ScoredAnswer]:
    """Every finished answer of its models; `prompt`: instead of the runs' own."""
    samples = {sample.id: tdbench_sample(sample) for sample in comparison.study.samples}
    for arm in comparison.study.arms:
        for one in arm.finished:
            sample = samples[one.sample]
            yield ScoredAnswer(sample, one.metrics, row_of(arm), prompt or arm.prompt)


def shortcut_answers(
    arms: Iterable[Arm], answers: Sequence[ScoredAnswer]
) -> Iterator[ScoredAnswer]:
    """What these shortcuts answer to the questions of these answers, once for each prompt."""
    asked: dict[str, dict[str, TdbenchSample]] = defaultdict(dict)
    for answer in answers:
        asked[answer.prompt][answer.sample.id] = answer.sample
    for arm in arms:
        for prompt, samples in asked.items():
            for one in arm.observations:
                if one.sample in samples:
                    sample = samples[one.sample]
                    yield ScoredAnswer(sample, one.metrics, arm.label, prompt)


def measured(
    cut: Cut, answers: Iterable[ScoredAnswer], known: Sequence[str] = ()
) -> Iterator[Measurement]:
    """The figures by row; `known`: the columns wanted, in their order."""
    rows: dict[str, dict[str, list[tuple[str, Pair]]]] = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        for name, value in cut(answer):
            if value is not None:
                pair = value if isinstance(value, tuple) else (value, 1.0)
                rows[answer.row][name].append((answer.sample.query, pair))
    for row, columns in rows.items():
        for name in known or sorted(columns):
            if name in columns:
                yield Measurement(row, name, estimate(columns[name]))


def estimate(values: Sequence[tuple[str, Pair]]) -> Estimate:
    """The ratio over clusters (queries), in percent."""
    if not sum(below for _, (_, below) in values):
        return Estimate(None, method="no answer for it")
    return Estimate.of_ratio(values).times(100)


# The columns of each table ------------------------------------------------------------------------

NAMES = {"A": "answer", "T": "time", "AT": "answer_time"}
PROMPT_NAMES = {"default": "original", "retrieval": "RAG", "cot": "CoT", "time-cot": "Time-CoT"}
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
