"""A leaderboard of packed runs: each is verified, and those whose claims hold are ranked.

A rank is an interval (Mogstad, Romano, Shaikh and Wilhelm 2024, "Inference for Ranks"): one more
than the number of models that are better by a paired test, to the number that are not worse, with
Holm's correction over all pairs of a condition. Models that are not told apart share ranks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.errors import AgentEnvError, ConfigError
from agent_env.extras import FOR_REPORT, need_extra
from agent_env.records.options import Opt
from agent_env.runs.verify.claims import Verification, verify
from agent_env.runs.verify.pack import opened, sha256_of
from agent_env.tasks.task import Task

if TYPE_CHECKING:
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.report import Chapter, Section
    from agent_env.analysis.resampling import Floats, Ints
    from agent_env.analysis.result_tables import Cell, ResultTable
    from agent_env.analysis.study import Arm, RunData

MOST_EPISODES = 1_000
"""Of a run, that are listed on the page."""


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """Options of `board`."""

    folder: Annotated[Path, Opt("A folder of packed runs.", metavar="DIR", argument=True)]
    out: Annotated[Path, Opt("The page to write.")] = Path("board.html")


@dataclass(frozen=True, slots=True)
class Entry:
    """A pack of the board."""

    name: str
    sha256: str
    verification: Verification | None
    data: RunData | None
    task: Task | None
    problem: str = ""
    """Why it cannot be read."""

    @property
    def verdict(self) -> str:
        """In a few words."""
        claims = self.verification.claims if self.verification else ()
        unchecked = [claim.name for claim in claims if claim.verdict == "unchecked"]
        holds = f"{sum(claim.verdict == 'holds' for claim in claims)} claims hold"
        return f"{holds}; unchecked: {', '.join(unchecked)}" if unchecked else holds


async def board(options: BoardOptions, note: Callable[[str], None]) -> str:
    """The page; ConfigError for a folder without packs."""
    need_extra(*FOR_REPORT)
    from agent_env.analysis.report import Chapter, Section, report_of

    files = sorted(options.folder.glob("*.zip"))
    if not files:
        raise ConfigError(f"{options.folder} has no packs; agent-env pack RUN writes one")
    entries = []
    for file in files:
        entries.append(await _entry(file))
        note(f"{file.name}: {entries[-1].problem or entries[-1].verdict}")
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        if entry.data is not None and not entry.problem:
            manifest = entry.data.manifest
            groups.setdefault((manifest.task, manifest.samples_digest), []).append(entry)
    chapters = [_chapter(*key, group) for key, group in sorted(groups.items())]
    if refused := [entry for entry in entries if entry.problem]:
        table = _table("refused", "Not ranked", ("pack", "why"),
                       [(entry.name, entry.problem) for entry in refused])  # fmt: skip
        section = Section("refused", "Not ranked", [table], is_open=True)
        chapters.append(Chapter("Not ranked", "not-ranked-", None, [section]))
    return report_of(chapters, "Leaderboard")


async def _entry(file: Path) -> Entry:
    """The pack, verified; what is read of it is kept when its files are gone."""
    sha256 = sha256_of(file)
    try:
        with opened(file) as case:
            result = await verify(case)
            if not result.holds:
                fails = [claim for claim in result.claims if claim.verdict == "fails"]
                reasons = "; ".join(f"{c.name}: {', '.join(c.findings[:2])}" for c in fails)
                return Entry(file.stem, sha256, result, None, None, reasons)
            data = case.run.data(lambda reason: None, file.stem)
            return Entry(file.stem, sha256, result, data, case.run.task)
    except AgentEnvError as exc:
        return Entry(file.stem, sha256, None, None, None, str(exc))


def _chapter(task: str, digest: str, entries: Sequence[Entry]) -> Chapter:
    """The board of one set of samples, and the episodes of each run."""
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.report import Chapter, Section
    from agent_env.analysis.study import Study

    runs = [entry.data for entry in entries if entry.data is not None]
    (first, *_) = [entry.task for entry in entries if entry.task is not None]
    comparison = Comparison(Study.of(runs, first))
    notes = (
        f"{len(comparison.study.samples)} samples, {digest[:12]}. Score: {comparison.metric} with "
        "its 95 % interval. Rank: interval by paired tests, Holm's correction over the pairs of a "
        "condition; models that are not told apart share ranks.",
        "Leaks: share of episodes that were shown a page later than the day of their web.",
        *comparison.remarks,
    )
    heads = (
        "rank", "model", "condition", "score", "n", "USD an episode", "cached", "leaks", "loop",
        "first step", "verified", "pack",
    )  # fmt: skip
    table = _table(
        "board", f"Leaderboard of {task}", heads, list(_rows(comparison, entries)), notes
    )
    prefix = re.sub("[^A-Za-z0-9]+", "-", f"{task}-{digest[:6]}-")
    sections: list[Section] = [Section("board", "Ranks", [table], is_open=True)]
    for number, entry in enumerate(entries, start=1):
        every = list(_episodes(entry, comparison.metric))
        listed = _table("episodes", f"{entry.name}.zip, sha256 {entry.sha256}",
                        ("episode", comparison.metric, "end", "trouble"), every[:MOST_EPISODES],
                        [f"{len(every)} episodes; agent-env verify reads the pack, and its traces "
                         "stand in run/episodes."])  # fmt: skip
        sections.append(Section(f"run-{number}", entry.name, [listed], is_printed=False))
    return Chapter(task, prefix, None, sections)


def _rows(comparison: Comparison, entries: Sequence[Entry]) -> Iterator[tuple[Cell, ...]]:
    """An arm a row, by condition and rank."""
    study, by_name = comparison.study, {entry.name: entry for entry in entries}
    scores, costs = comparison.means[comparison.metric], comparison.means["cost_usd"]
    values, places = comparison.columns(comparison.metric), dict[str, list[int]]()
    for place, arm in enumerate(study.arms):
        places.setdefault(arm.condition.name, []).append(place)
    for name, group in places.items():
        ranks = rank_intervals(values[:, group], comparison.clusters, comparison.is_error)
        for (best, worst), place in sorted(zip(ranks, group, strict=True)):
            arm = study.arms[place]
            entry = by_name[arm.run]
            rank = str(best) if best == worst else f"{best}–{worst}"
            loop = arm.condition.agent.name if arm.condition.agent else arm.condition.strategy
            first = arm.condition.first_step if arm.condition.tools else None
            yield (rank, arm.model, name, scores[place].cell, len(study.samples),
                   costs[place].value, *_shares(arm), loop, first, entry.verdict,
                   f"{entry.name} {entry.sha256[:12]}")  # fmt: skip


def _shares(arm: Arm) -> tuple[Cell, Cell]:
    """Of the input tokens those from the server's cache, of the episodes those shown a leak; None
    where that is unknown."""
    spent = arm.spent
    cached = None if spent is None or not spent.input_tokens else spent.cached_tokens
    share = None if cached is None or spent is None else cached / (spent.input_tokens or 1)
    flagged = [o.provenance for o in arm.finished if o.provenance and o.provenance.as_of]
    leaks = [each for each in flagged if "leak" in each.page_flags]
    return share, len(leaks) / len(flagged) if flagged else None


def rank_intervals(values: Floats, clusters: Ints, is_error: bool) -> list[tuple[int, int]]:
    """The best and the worst rank of each column of scores by sample, paired."""
    from agent_env.analysis.resampling import sign_flip_p
    from agent_env.analysis.significance import holm

    number = values.shape[1]
    pairs = list(combinations(range(number), 2))
    gaps = [values[:, one] - values[:, two] for one, two in pairs]
    adjusted = holm([sign_flip_p(gap[:, None], clusters)[0] for gap in gaps])
    better, worse = [0] * number, [0] * number
    for (one, two), gap, p in zip(pairs, gaps, adjusted, strict=True):
        if p is None or p >= 0.05:
            continue
        rises = (gap[gap == gap].mean() > 0) != is_error
        ahead, behind = (one, two) if rises else (two, one)
        better[behind] += 1
        worse[ahead] += 1
    return [(1 + better[n], number - worse[n]) for n in range(number)]


def _episodes(entry: Entry, metric: str) -> Iterator[tuple[Cell, ...]]:
    assert entry.data is not None  # it was ranked
    for condition, observations in entry.data.observations.items():
        for each in observations:
            name = f"{condition}/{each.sample}.{each.repeat}"
            yield name, each.metrics.get(metric), each.stop_reason, each.trouble


def _table(
    name: str, title: str, heads: Sequence[str], rows: Sequence[tuple[Cell, ...]],
    notes: Sequence[str] = (),
) -> ResultTable:  # fmt: skip
    from agent_env.analysis.result_tables import Column, ResultTable

    return ResultTable(name, title, tuple(map(Column, heads)), tuple(rows), tuple(notes))
