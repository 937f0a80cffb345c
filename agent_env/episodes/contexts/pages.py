"""Which pages an episode names: cited in the answer, opened, merely returned by a search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from agent_env.records.schema import PageRef
from agent_env.records.trace_events import EpisodeFinished, Event, ModelCalled, ToolCalled
from agent_env.tasks.contexts import KINDS, Kind

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
    return [_trimmed(found) for found in _URL.findall(text)]


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
