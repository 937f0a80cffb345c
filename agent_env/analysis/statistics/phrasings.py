"""Whether a model says the same to several phrasings of one query.

Over queries of which at least two phrasings came to an end (within one repeat): the share whose
phrasings all got the same verdict, the share whose phrasings all got the same answer, and the mean
agreement, which is the share of pairs of phrasings with the same verdict. 95 % confidence intervals
draw queries whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import fmean

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate, mean_intervals
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import Arm, Observation

MEASURES = ("same_verdict", "same_answer", "agreement")


@dataclass(frozen=True, slots=True)
class Consistency:
    """Of one condition."""

    condition: str
    queries: int
    """With at least two finished phrasings."""
    phrasings: int
    """Of these queries, finished ones."""
    alone: int
    """Queries with one finished phrasing only; they are in no figure."""
    same_verdict: Estimate
    same_answer: Estimate
    agreement: Estimate

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        shares = {name: getattr(self, name) for name in MEASURES}
        return asdict(self) | {
            name: {"mean": e.value, "low": e.low, "high": e.high} for name, e in shares.items()
        }


def consistency(comparison: Comparison) -> list[Consistency]:
    """By condition; the verdict is the value of the main metric. [] where no query has two
    phrasings."""
    pairs = ((sample.id, getattr(sample, "query", None)) for sample in comparison.study.samples)
    queries = {name: query for name, query in pairs if isinstance(query, str) and query}
    rows = (_of_arm(arm, queries, comparison.metric) for arm in comparison.study.arms)
    return [each for each in rows if each is not None]


def _of_arm(arm: Arm, queries: Mapping[str, str], metric: str) -> Consistency | None:
    groups: dict[tuple[str, int], list[Observation]] = defaultdict(list)
    for o in arm.observations:
        if o.counts and o.sample in queries:
            groups[queries[o.sample], o.repeat].append(o)
    return _of(arm.label, groups, metric)


def _of(
    condition: str, groups: Mapping[tuple[str, int], Sequence[Observation]], metric: str
) -> Consistency | None:
    several = {key: observations for key, observations in groups.items() if len(observations) > 1}
    if not several:
        return None
    by_query: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for (query, _), observations in several.items():
        by_query[query].append(_measures(observations, metric))
    means = [tuple(map(fmean, zip(*values, strict=True))) for values in by_query.values()]
    shares = _shares(by_query, means)
    return Consistency(
        condition,
        len(by_query),
        sum(map(len, several.values())),
        len({query for query, _ in groups} - set(by_query)),
        *shares,
    )


def _measures(observations: Sequence[Observation], metric: str) -> tuple[float, float, float]:
    """Same verdict, same answer, agreement of one query's phrasings."""
    verdicts = [o.metrics.get(metric, 0.0) for o in observations]
    answers = {o.answer for o in observations}
    pairs = list(combinations(verdicts, 2))
    equal = sum(one == other for one, other in pairs) / len(pairs)
    return float(len(set(verdicts)) == 1), float(len(answers) == 1), equal


def _shares(queries: Iterable[str], means: Sequence[tuple[float, ...]]) -> list[Estimate]:
    """The mean of each measure over the queries."""
    columns = [[mean[place] for mean in means] for place in range(len(MEASURES))]
    intervals = mean_intervals(
        [list(zip(queries, column, strict=True)) for column in columns],
        [set(column) <= {0.0, 1.0} for column in columns],
    )
    return [
        Estimate(fmean(column), *(ends or (None, None)))
        for column, ends in zip(columns, intervals, strict=True)
    ]


@Statistic(
    "phrasings", order=55, in_score=True,
    without_rows="No query was asked in two phrasings.",
).of  # fmt: skip
def phrasings(comparison: Comparison) -> ResultTable:
    """The same for people; no rows without phrasings."""
    results = consistency(comparison)
    columns = (
        Column("condition"), Column("queries", 0), Column("phrasings", 0),
        *(Column(name.replace("_", " ")) for name in MEASURES),
    )  # fmt: skip
    rows = tuple(
        (row.condition, row.queries, row.phrasings,
         row.same_verdict.cell, row.same_answer.cell, row.agreement.cell)
        for row in results
    )  # fmt: skip
    alone = sum(row.alone for row in results)
    notes = ["Means over queries, with 95 % confidence intervals over queries."]
    if alone:
        notes.append(f"{alone} queries with one finished phrasing only are not in it.")
    title = f"Phrasings of one query, verdict by {comparison.metric}"
    return ResultTable("phrasings", title, columns, rows, tuple(notes))
