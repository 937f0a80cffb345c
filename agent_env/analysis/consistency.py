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

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from agent_env.analysis.intervals import mean_intervals
from agent_env.records.schema import Sample, Score

MEASURES = ("same_verdict", "same_answer", "agreement")


@dataclass(frozen=True, slots=True)
class Share:
    """A mean over queries with its interval."""

    mean: float
    low: float | None
    high: float | None


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
    same_verdict: Share
    same_answer: Share
    agreement: Share

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        return asdict(self)


def queries_of(samples: Iterable[Sample]) -> dict[str, str]:
    """By sample, the query that it words; samples of families without queries are in none."""
    named = ((sample.id, getattr(sample, "query", None)) for sample in samples)
    return {name: query for name, query in named if isinstance(query, str) and query}


def consistency(
    scores: Iterable[Score], queries: Mapping[str, str], conditions: Sequence[str], metric: str
) -> list[Consistency]:
    """By condition; the verdict is the value of `metric`. [] where no query has two phrasings."""
    found: dict[str, dict[tuple[str, int], list[Score]]] = {name: {} for name in conditions}
    for score in scores:
        if score.outcome in ("read", "unreadable") and score.sample in queries:
            own = found.setdefault(score.condition, {})
            own.setdefault((queries[score.sample], score.repeat), []).append(score)
    made = (_of(name, groups, metric) for name, groups in found.items())
    return [each for each in made if each is not None]


def _of(
    condition: str, groups: Mapping[tuple[str, int], Sequence[Score]], metric: str
) -> Consistency | None:
    several = {key: own for key, own in groups.items() if len(own) > 1}
    if not several:
        return None
    by_query: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for (query, _), own in several.items():
        by_query[query].append(_measured(own, metric))
    means = [tuple(map(fmean, zip(*values, strict=True))) for values in by_query.values()]
    shares = _shares(by_query, means)
    return Consistency(
        condition,
        len(by_query),
        sum(map(len, several.values())),
        len({query for query, _ in groups} - set(by_query)),
        *shares,
    )


def _measured(own: Sequence[Score], metric: str) -> tuple[float, float, float]:
    """Same verdict, same answer, agreement of one query's phrasings."""
    verdicts = [score.metrics.get(metric, 0.0) for score in own]
    answers = {None if score.answer is None else frozenset(score.answer) for score in own}
    pairs = list(combinations(verdicts, 2))
    equal = sum(one == other for one, other in pairs) / len(pairs)
    return float(len(set(verdicts)) == 1), float(len(answers) == 1), equal


def _shares(queries: Iterable[str], means: Sequence[tuple[float, ...]]) -> list[Share]:
    """The mean of each measure over the queries."""
    columns = [[mean[place] for mean in means] for place in range(len(MEASURES))]
    intervals = mean_intervals(
        [list(zip(queries, column, strict=True)) for column in columns],
        [set(column) <= {0.0, 1.0} for column in columns],
    )
    return [
        Share(fmean(column), *(ends or (None, None)))
        for column, ends in zip(columns, intervals, strict=True)
    ]


def consistency_table(rows: Sequence[Consistency], metric: str) -> Table:
    """The same for people."""
    title = f"phrasings of one query, verdict by {metric}"
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    table.add_column("condition", no_wrap=True)
    for name in ("queries", "phrasings", *MEASURES):
        table.add_column(name.replace("_", " "), justify="right", no_wrap=True)
    for row in rows:
        shares = (row.same_verdict, row.same_answer, row.agreement)
        cells = (
            f"{s.mean:.3f}" + ("" if s.low is None else f" [{s.low:.2f}, {s.high:.2f}]")
            for s in shares
        )
        table.add_row(
            escape(row.condition), str(row.queries), str(row.phrasings), *map(escape, cells)
        )
    alone = sum(row.alone for row in rows)
    table.caption = "means over queries, 95 % intervals over queries"
    if alone:
        table.caption += f"; {alone} queries with one finished phrasing only are not in it"
    return table
