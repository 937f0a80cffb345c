"""Pages that a run's episodes named, as contexts for other runs.

The same run and stores give the same bytes. Nothing is dropped silently: a page that no store holds
stands under `missing`, an episode without pages has an empty context with the reason. Missing pages
can be fetched; such a copy is of today and may differ from what the model read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlsplit, urlunsplit

from agent_env.sdk.errors import DatasetError, ToolError
from agent_env.sdk.family import Task
from agent_env.sdk.inside import (
    KINDS,
    ORDER,
    ContextHeader,
    ContextPage,
    Contexts,
    Fetcher,
    Kind,
    MissingPage,
    PageRef,
    PageStore,
    PageText,
    RunFolder,
    SampleContext,
    Tokenizer,
    read_trace,
    sample_digest,
    text_digest,
    without_verdicts,
    write_context,
)
from agent_env.sdk.records import Manifest, Sample
from agent_env.sdk.trace import (
    EpisodeFailed,
    EpisodeFinished,
    EpisodeKey,
    Event,
    ModelCalled,
    ToolCalled,
)
from agent_env.sdk.web import Page

_URL = re.compile(r"https?://[^\s<>\"'`|\\^{}]+", re.I)
_CLOSING = {")": "(", "]": "["}
_TRACKING = frozenset({"utm_source=openai", "utm_source=chatgpt.com"})
"""What OpenAI's hosted search appends to the addresses that it cites."""


@dataclass(frozen=True, slots=True)
class NamedPage:
    """A page that an episode names, once, under the first of KINDS that it is."""

    url: str
    kind: Kind
    digest: str | None = None
    """Of the bytes that the model opened first; None where it did not, or where we did not see
    them."""
    blocked: bool = False
    """Whether a guard kept the page from the model."""


def named_pages(events: Sequence[Event], kinds: Sequence[Kind]) -> list[NamedPage]:
    """The pages of these kinds: by kind, within each by first appearance."""
    seen: dict[str, Kind] = {}
    digests: dict[str, str] = {}
    for kind in KINDS:
        for url in _urls(events, kind):
            seen.setdefault(page_url(url), kind)
    blocked: set[str] = set()
    for ref in _refs(events):
        if ref.digest is not None:
            digests.setdefault(page_url(ref.url), ref.digest)
        if str(ref.how) == "blocked":
            blocked.add(page_url(ref.url))
    return [
        NamedPage(url, kind, digests.get(url), url in blocked)
        for url, kind in seen.items()
        if kind in kinds
    ]


def _urls(events: Sequence[Event], kind: Kind) -> Iterator[str]:
    if kind == "cited":
        for event in events:
            if isinstance(event, EpisodeFinished):
                yield from event.citations
                yield from urls_in(event.answer or "")
    else:
        yield from (ref.url for ref in _refs(events) if ref.how == kind)


def _refs(events: Sequence[Event]) -> Iterator[PageRef]:
    """Pages that our tools or the provider's own showed, in order."""
    for event in events:
        if isinstance(event, ToolCalled):
            yield from event.result.pages
        elif isinstance(event, ModelCalled) and event.reply is not None:
            yield from event.reply.hosted_pages


def urls_in(text: str) -> list[str]:
    """The web addresses in a text, without what follows them in a sentence or in Markdown."""
    return [_trimmed(url) for url in _URL.findall(text)]


def _trimmed(url: str) -> str:
    while url and (url[-1] in ".,;:!?*_" or _closes_nothing(url)):
        url = url[:-1]
    return url


def _closes_nothing(url: str) -> bool:
    """Whether the last character is a bracket that was opened before the address."""
    opening = _CLOSING.get(url[-1])
    return opening is not None and url.count(url[-1]) > url.count(opening)


def page_url(url: str) -> str:
    """The address as a page store knows it: without a fragment and without OpenAI's tracking."""
    url = url.strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    query = "&".join(part for part in parts.query.split("&") if part not in _TRACKING)
    if query == parts.query and not parts.fragment:
        return url  # as written, to the letter
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


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
    unjudged = without_verdicts(events)
    last = unjudged[-1] if unjudged else None
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
    contexts = {s.sample.id: await _context(s, rules, stores, tokenizer) for s in sources}
    fetched = any(page.store == "fetched" for one in contexts.values() for page in one.pages)
    return Contexts(
        ContextHeader(
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
            samples=len(contexts),
            empty=sum(not context.text for context in contexts.values()),
            missing=sum(len(context.missing) for context in contexts.values()),
            note=FETCHED_NOTE if fetched else None,
        ),
        contexts,
    )


async def _context(
    source: EpisodePages, rules: BuildRules, stores: Stores, tokenizer: Tokenizer
) -> SampleContext:
    hits: list[tuple[NamedPage, Page, str]] = []
    missing: list[MissingPage] = []
    for named in source.pages:
        if named.blocked:
            missing.append(MissingPage(url=named.url, kind=named.kind, why="blocked"))
            continue
        hit = await stores.find(named.url)
        if hit is None:
            missing.append(MissingPage(url=named.url, kind=named.kind))
        else:
            hits.append((named, *hit))
    texts = [PageText(named.url, page.title, page.text) for named, page, _ in hits]
    written = write_context(texts, rules.budget, rules.page_budget, tokenizer.count)
    pages = []
    for (named, page, store), shown in zip(hits, written.excerpts, strict=True):
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


AT_ONCE = 8


async def fetch_missing(
    sources: Iterable[EpisodePages], stores: Stores, into: PageStore, fetcher: Fetcher
) -> dict[str, str]:
    """Fetch and keep every page that no store holds; why not, by address, for dead links.

    A page that redirects led to is kept under the address that was named as well.
    """
    urls = dict.fromkeys(
        page.url for source in sources for page in source.pages if not page.blocked
    )
    dead: dict[str, str] = {}
    gate = asyncio.Semaphore(AT_ONCE)

    async def get(url: str) -> None:
        async with gate:
            try:
                page = await fetcher.fetch(url)
            except ToolError as exc:
                dead[url] = str(exc)
                return
        await into.put(page)
        if page.url != url:
            await into.put(page.model_copy(update={"url": url}))

    wanted = [url for url in urls if await stores.find(url) is None]
    async with asyncio.TaskGroup() as group:
        for url in wanted:
            group.create_task(get(url))
    return {url: dead[url] for url in wanted if url in dead}
