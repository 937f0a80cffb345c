"""The commands on event tables: import, screen, check."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.extensions.facts.tables.tables import (
    EventRow,
    shipped_tables,
    write_csv,
    write_events,
)
from agent_env.extensions.facts.tables.user_tables import read_user_events
from agent_env.sdk.errors import ConfigError, SearchError
from agent_env.sdk.run import own_call

if TYPE_CHECKING:
    from agent_env.extensions.facts.event_facts.sample import EventSample
    from agent_env.extensions.facts.tables.statements import Gathered, ImportQuery, KeptPages
    from agent_env.sdk.records import Episode, Score
    from agent_env.sdk.run import Listener, Run, RunOptions
    from agent_env.sdk.web import Patience
from agent_env.extensions.facts.wikidata import QueryService

PAGE_SIZE = 200
SITELINKS = 15


# Tables from a query service --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ImportedTable:
    """The result of an import from a query service."""

    out: Path
    events: int
    pages: int
    """Pages in all, including those of earlier attempts."""
    left_out: Mapping[str, int]
    """Items without a row, by reason, the most frequent first."""


async def import_wikidata(
    out: Path,
    kinds: Sequence[str],
    limit: int,
    now: date,
    endpoint: str | None = None,
    languages: Sequence[str] = ("en",),
    contact: str = "",
    sitelinks: int = SITELINKS,
    page_size: int = PAGE_SIZE,
    note: Callable[[str], None] = lambda text: None,
    patience: Patience | None = None,
) -> ImportedTable:
    """Write a table of at most `limit` events of the kinds (`battle`, or `opera=Q1344`).

    Pages are stored beside `out` as they arrive; after a failure of the service, the same call
    continues behind the last of them. `languages` are in order of preference; `sitelinks` is the
    least number of encyclopedias with an article. SearchError where the service fails.
    """
    from agent_env.extensions.facts.tables.statements import Gathered, ImportQuery, KeptPages
    from agent_env.extensions.facts.wikidata import WIKIDATA, QueryService, parse_kinds

    query = ImportQuery(
        endpoint=endpoint or WIKIDATA,
        kinds=parse_kinds(kinds),
        languages=_languages(languages),
        sitelinks=sitelinks,
        page_size=page_size,
    )
    page_file = KeptPages(out.with_name(out.name + ".pages.jsonl"))
    gathered = Gathered(query.languages, now)
    async with QueryService(query.endpoint, contact, patience, note, permit=own_call()) as service:
        try:
            pages = await _gather(service, query, page_file, gathered, limit, note)
        except SearchError as exc:
            again = (
                f"what came so far is kept in {page_file.file}; the same command goes on from there"
            )
            raise SearchError(f"{exc}; {again}") from exc
    rows = gathered.rows(limit)
    if rows:
        write_events(rows, out)
    page_file.discard()
    if not rows:
        names = ", ".join(kind.name for kind in query.kinds)
        why = ", ".join(f"{reason}: {n}" for reason, n in gathered.left_out.most_common())
        raise ConfigError(f"no event to be had of the kinds {names}; left out: {why or 'none'}")
    return ImportedTable(out, len(rows), pages, dict(gathered.left_out.most_common()))


def _languages(codes: Sequence[str]) -> tuple[str, ...]:
    for code in codes:
        if re.fullmatch(r"[a-z]{2,3}(?:-[a-z0-9]+)*", code) is None:
            raise ConfigError(f"'{code}' is no language code, like en or zh-hans")
    if not codes:
        raise ConfigError("name at least one language, like en")
    return tuple(codes)


async def _gather(
    service: QueryService,
    query: ImportQuery,
    page_file: KeptPages,
    gathered: Gathered,
    limit: int,
    note: Callable[[str], None],
) -> int:
    """Reads pages, stored ones first, until there are enough rows or no more items; returns their
    number."""
    from agent_env.extensions.facts.wikidata import next_page

    pages = page_file.open(query)
    for page in pages:
        gathered.add(page.items)
    for kind in query.kinds:
        own = [page for page in pages if page.kind == kind.name]
        after, more = (own[-1].last, own[-1].more) if own else ("", True)
        while more and len(gathered) < limit:
            page = await next_page(service, query, kind, after)
            page_file.add(page)
            pages.append(page)
            gathered.add(page.items)
            after, more = page.last, page.more
            note(f"{kind.name}: {len(gathered)} events after {len(pages)} pages")
    return len(pages)


# Tables before models ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableAnswers:
    """A model's answers on a table."""

    out: Path
    run: Path
    """The run's folder, with every reply."""
    counts: Mapping[str, int]
    """Rows by result."""


async def screen(
    table: Path | None, out: Path, options: RunOptions, listener: Listener, now: date
) -> TableAnswers:
    """Have a model date each event of a table without tools, and write which it knows: `yes`,
    `no`, `unreadable`, or `failed` where no answer came. None is the shipped table.

    Task, dataset, conditions, repeats and prompt of the options are set here. An `options.out` that
    already holds the same questions to the same model is continued.
    """
    folder = await _screened(_table(table, now), options, listener, now)
    lines = []
    for sample, _, score in _results(folder):
        lines.append((sample.event, _known_text(score), "; ".join(score.answer or ())))
    write_csv(("event", "known", "answer"), lines, out)
    return TableAnswers(out, folder.path, _counts(line[1] for line in lines))


async def dated_by_model(
    rows: Sequence[EventRow], options: RunOptions, listener: Listener, now: date
) -> dict[str, str]:
    """For each event whether the model can date it without tools: a result as `screen` writes."""
    folder = await _screened(rows, options, listener, now)
    return {sample.event: _known_text(score) for sample, _, score in _results(folder)}


async def _screened(
    rows: Iterable[EventRow], options: RunOptions, listener: Listener, now: date
) -> Run:
    """The run of the questions of `screen`."""
    from agent_env.extensions.facts.event_facts.screen import NAME, make_samples
    from agent_env.sdk.run import ask

    samples = make_samples(rows, now)
    return await ask(replace(options, task=NAME, conditions=("base",)), samples, listener)


def _known_text(score: Score) -> str:
    if score.outcome != "read":
        return "unreadable" if score.outcome == "unreadable" else "failed"
    return "yes" if score.metrics["known"] == 1.0 else "no"


async def check(
    table: Path | None, out: Path, options: RunOptions, listener: Listener, now: date
) -> TableAnswers:
    """Have a model with web tools judge each row of a table, and write its verdicts: `correct`,
    `not correct`, `unclear`, `unreadable`, or `failed`, with reasons and pages. Options as in
    `screen`.
    """
    from agent_env.extensions.facts.event_facts.check import NAME, judgement, make_samples
    from agent_env.sdk.run import ask

    samples = make_samples(_table(table, now), now)
    folder = await ask(replace(options, task=NAME, conditions=("web",)), samples, listener)
    lines = []
    for sample, episode, score in _results(folder):
        result = judgement(episode)
        verdict = score.outcome if score.outcome == "unreadable" else result.verdict or "failed"
        dates = (sample.start, sample.end, sample.years)
        lines.append((sample.event, *dates, verdict, result.why, " ".join(result.pages)))
    header = ("event", "start", "end", "multi_year_spans", "verdict", "why", "pages")
    write_csv(header, lines, out)
    return TableAnswers(out, folder.path, _counts(line[4] for line in lines))


def _table(file: Path | None, now: date) -> tuple[EventRow, ...]:
    return shipped_tables().events if file is None else read_user_events(file, now)


def _results(run: Run) -> list[tuple[EventSample, Episode, Score]]:
    """Samples with their episodes and scores, in the order of the table."""
    from agent_env.extensions.facts.event_facts.sample import EventSample, event_sample
    from agent_env.sdk.run import score_folder

    scored = score_folder(run, lambda reason: None)
    by_sample = {episode.sample: (episode, score) for episode, score in scored}
    samples = [event_sample(sample) for sample in run.samples_as(EventSample)]
    return [(sample, *by_sample[sample.id]) for sample in samples if sample.id in by_sample]


def _counts(results: Iterable[str]) -> dict[str, int]:
    return dict(Counter(results).most_common())
