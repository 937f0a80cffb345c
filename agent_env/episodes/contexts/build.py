"""Builds contexts from a finished run: its traces say which pages, its stores hold them.

The same run and stores give the same bytes. Nothing is dropped unsaid: a page that no store holds
stands under `missing`, an episode without pages has an empty context with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from agent_env.episodes.contexts.pages import NamedPage, named_pages
from agent_env.episodes.run_folder import EpisodeKey, RunFolder
from agent_env.episodes.trace.fold import own_events
from agent_env.episodes.trace.reader import read_trace
from agent_env.errors import DatasetError
from agent_env.protocols import PageStore, Tokenizer
from agent_env.records.manifest import Manifest
from agent_env.records.pages import Page
from agent_env.records.schema import Sample
from agent_env.records.trace_events import EpisodeFailed, EpisodeFinished, Event
from agent_env.tasks.context_text import PageText, write_context
from agent_env.tasks.contexts import (
    ORDER,
    ContextHeader,
    ContextPage,
    Contexts,
    Kind,
    MissingPage,
    SampleContext,
    sample_digest,
    text_digest,
)
from agent_env.tasks.task import Task

FETCHED_NOTE = (
    "some pages were fetched by us after the run; they may differ from what the model read"
)


@dataclass(frozen=True, slots=True)
class BuildRules:
    """Which pages are taken, and how much of them."""

    condition: str
    kinds: tuple[Kind, ...]
    budget: int
    """Tokens of one sample's context at most."""
    page_budget: int
    """Tokens of one page at most."""
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class Stores:
    """Where pages are looked for, the run's own first."""

    run: PageStore | None
    fetched: PageStore | None
    """Pages that were fetched after the run."""

    async def find(self, url: str) -> tuple[Page, str] | None:
        """The page and which store had it."""
        for name, store in (("run", self.run), ("fetched", self.fetched)):
            if store is not None and (page := await store.get(url)) is not None:
                return page, name
        return None


@dataclass(frozen=True, slots=True)
class EpisodePages:
    """What one sample's episode gives."""

    sample: Sample
    episode: str
    pages: tuple[NamedPage, ...]


def read_sources(folder: RunFolder, task: Task, rules: BuildRules) -> list[EpisodePages]:
    """The pages that each sample's episode names, in the order of the samples."""
    return [_source(folder, sample, rules) for sample in folder.samples_as(task.sample_type)]


def _source(folder: RunFolder, sample: Sample, rules: BuildRules) -> EpisodePages:
    trace = folder.trace(EpisodeKey(sample.id, rules.condition, rules.repeat))
    if not trace.exists():
        return EpisodePages(sample, "missing", ())
    try:
        events = read_trace(trace)
    except DatasetError:
        return EpisodePages(sample, "unreadable", ())
    ended = _ending(events)
    pages = named_pages(events, rules.kinds) if ended == "finished" else []
    return EpisodePages(sample, ended, tuple(pages))


def _ending(events: Sequence[Event]) -> str:
    own = own_events(events)
    last = own[-1] if own else None
    if isinstance(last, EpisodeFinished):
        return "finished"
    return "failed" if isinstance(last, EpisodeFailed) else "unfinished"


async def build_contexts(
    folder: RunFolder,
    manifest: Manifest,
    sources: Sequence[EpisodePages],
    rules: BuildRules,
    stores: Stores,
    tokenizer: Tokenizer,
) -> Contexts:
    """One context for each source, and the header that says how they were made."""
    made = {s.sample.id: await _context(s, rules, stores, tokenizer) for s in sources}
    return Contexts(_header(folder, manifest, rules, tokenizer, made), made)


def _header(
    folder: RunFolder,
    manifest: Manifest,
    rules: BuildRules,
    tokenizer: Tokenizer,
    made: Mapping[str, SampleContext],
) -> ContextHeader:
    fetched = any(page.store == "fetched" for one in made.values() for page in one.pages)
    return ContextHeader(
        task=manifest.task,
        source_run=folder.path.resolve().name,
        source_created_at=manifest.created_at,
        source_samples=manifest.samples_digest,
        source_model=manifest.model,
        source_condition=rules.condition,
        source_repeat=rules.repeat,
        source_web=manifest.web,
        kinds=rules.kinds,
        order=ORDER,
        budget=rules.budget,
        page_budget=rules.page_budget,
        tokenizer=tokenizer.name,
        samples=len(made),
        empty=sum(not context.text for context in made.values()),
        missing=sum(len(context.missing) for context in made.values()),
        note=FETCHED_NOTE if fetched else None,
    )


async def _context(
    source: EpisodePages, rules: BuildRules, stores: Stores, tokenizer: Tokenizer
) -> SampleContext:
    found: list[tuple[NamedPage, Page, str]] = []
    missing: list[MissingPage] = []
    for named in source.pages:
        if named.blocked:
            missing.append(MissingPage(url=named.url, kind=named.kind, why="blocked"))
            continue
        held = await stores.find(named.url)
        if held is None:
            missing.append(MissingPage(url=named.url, kind=named.kind))
        else:
            found.append((named, *held))
    texts = [PageText(named.url, page.title, page.text) for named, page, _ in found]
    written = write_context(texts, rules.budget, rules.page_budget, tokenizer.count)
    pages = []
    for (named, page, store), shown in zip(found, written.excerpts, strict=True):
        digest = sha256(page.body).hexdigest()
        pages.append(
            ContextPage(
                url=named.url,
                kind=named.kind,
                digest=digest,
                read_digest=named.digest if named.digest != digest else None,
                store=store,
                fetched_at=page.fetched_at,
                tokens=shown.tokens,
                chars=shown.chars,
                of_chars=len(page.text),
                cut=shown.cut,
            )
        )
    return SampleContext(
        sample=source.sample.id,
        sample_digest=sample_digest(source.sample),
        episode=source.episode,
        text=written.text,
        digest=text_digest(written.text),
        tokens=written.tokens,
        pages=tuple(pages),
        missing=tuple(missing),
    )
