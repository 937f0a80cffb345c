"""Imports event tables from Wikidata's query service, or any other that serves the same items by
SPARQL.

Guarantees: one request at a time, named by a User-Agent; a server that is busy or failing is
asked again a bounded number of times, not before its Retry-After is over; every request has a
timeout; a reply that is cut off or is not a SPARQL result never counts as a page. Not covered: the
service's own limits (a kind with too many items may never be listed within its time), and items
that change between two pages.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Self

import httpx

import agent_env
from agent_env.features.facts.tables.statements import (
    ENTITY,
    Gathered,
    ImportQuery,
    ItemPage,
    KeptPages,
    Kind,
    Solution,
    detail_query,
    items_of,
    list_query,
    value_of,
)
from agent_env.features.facts.tables.tables import write_events
from agent_env.sdk.errors import ConfigError, SearchError
from agent_env.sdk.records import Reach
from agent_env.sdk.run import Permit, own_call
from agent_env.sdk.web import Patience, retry_after_s

WIKIDATA = "https://query.wikidata.org/sparql"
KINDS = {
    "battle": "Q178561",
    "war": "Q198",
    "siege": "Q188055",
    "revolution": "Q10931",
    "coup": "Q45382",
    "earthquake": "Q7944",
    "exposition": "Q172754",
}
"""Kinds by name; any other is given as NAME=ITEM."""

RESULTS = "application/sparql-results+json"
PASSING = frozenset({408, 429, 500, 502, 503, 504})
MOST_BYTES = 64 * 1024 * 1024


def parse_kinds(texts: Iterable[str]) -> tuple[Kind, ...]:
    """Kinds from `battle` or `opera=Q1344`; ConfigError lists the known names."""
    kinds: list[Kind] = []
    for text in texts:
        name, _, item = (part.strip() for part in text.partition("="))
        item = item or KINDS.get(name, "")
        if not name or re.fullmatch(r"Q[1-9][0-9]*", item) is None:
            known_kinds = ", ".join(KINDS)
            raise ConfigError(f"unknown kind '{text}'; known: {known_kinds}; others as NAME=Q123")
        if name in {kind.name for kind in kinds}:
            raise ConfigError(f"kind '{name}' is given twice")
        kinds.append(Kind(name=name, item=item))
    if not kinds:
        raise ConfigError(f"no kind of events given; known: {', '.join(KINDS)}")
    return tuple(kinds)


async def next_page(service: QueryService, query: ImportQuery, kind: Kind, after: str) -> ItemPage:
    """The items of a kind whose addresses sort behind `after`, as many as make a page."""
    listed = await service.select(list_query(query, kind, after))
    addresses = sorted({value_of(row, "item") for row in listed})
    if addresses and addresses[0] <= after:
        raise SearchError(f"{service.endpoint} gives the same items again; it cannot be paged")
    ids = [uri.removeprefix(ENTITY) for uri in addresses if re.fullmatch(ENTITY + r"Q\d+", uri)]
    details = await service.select(detail_query(query, ids)) if ids else []
    return ItemPage(
        kind=kind.name,
        last=addresses[-1] if addresses else after,
        more=len(addresses) >= query.page_size,
        items=tuple(items_of(ids, kind.name, details)),
    )


PATIENCE = Patience(attempts=6, first_wait_s=2.0, longest_wait_s=300.0, timeout_s=90.0)
"""The public service gives up on a query after 60 s."""


class _Passing(Exception):
    """A failure that may be over later."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class QueryService:
    """An async context; asks SELECT queries."""

    def __init__(
        self,
        endpoint: str,
        contact: str = "",
        patience: Patience | None = None,
        note: Callable[[str], None] = lambda text: None,
        *,
        permit: Permit,
    ) -> None:
        permit.check(Reach.ADDRESS, endpoint)
        if not endpoint.startswith(("http://", "https://")):
            raise ConfigError(f"'{endpoint}' is not an address of a query service, like {WIKIDATA}")
        if not (contact.isascii() and contact.isprintable()):
            raise ConfigError("a contact is an e-mail address or URL in plain ASCII")
        self.endpoint = endpoint
        self._patience = patience or PATIENCE
        self._note = note
        who = f"agent-env/{agent_env.__version__}" + (f" ({contact})" if contact else "")
        self._client = httpx.AsyncClient(
            headers={"user-agent": f"{who} httpx/{httpx.__version__}", "accept": RESULTS},
            timeout=self._patience.timeout_s,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def select(self, query: str) -> list[Solution]:
        """The solutions; SearchError where they are not to be had."""
        patience = self._patience
        for attempt in range(1, patience.attempts + 1):
            try:
                return await self._ask(query)
            except _Passing as exc:
                wait_s = patience.wait_s(attempt, exc.wait_s)
                if attempt == patience.attempts or wait_s > patience.longest_wait_s:
                    attempts_text = f"asked {attempt} times" if attempt > 1 else "asked once"
                    later = f"; it asks to wait {wait_s:.0f} s" if exc.wait_s else ""
                    raise SearchError(f"{self.endpoint} {exc} ({attempts_text}){later}") from exc
                self._note(f"{self.endpoint} {exc}; asking again in {wait_s:.0f} s")
                await asyncio.sleep(wait_s)
        raise AssertionError("the last attempt returns or raises")

    async def _ask(self, query: str) -> list[Solution]:
        try:
            async with (
                asyncio.timeout(self._patience.timeout_s),
                self._client.stream("POST", self.endpoint, data={"query": query}) as response,
            ):
                parts, size = [], 0
                async for part in response.aiter_bytes():
                    parts.append(part)
                    size += len(part)
                    if size > MOST_BYTES:
                        raise SearchError(
                            f"an answer has more than {MOST_BYTES} bytes; make pages smaller"
                        )
                body = b"".join(parts)
        except (TimeoutError, httpx.TimeoutException) as exc:
            raise _Passing(f"did not answer within {self._patience.timeout_s:g} s") from exc
        except httpx.HTTPError as exc:
            raise _Passing(f"could not be reached or broke off ({type(exc).__name__})") from exc
        if response.status_code in PASSING:
            raise _Passing(f"answered {response.status_code}", retry_after_s(response.headers))
        if response.status_code != 200:
            excerpt = " ".join(body[:300].decode("utf-8", "replace").split())
            hint = "; give a --contact" if response.status_code == 403 else ""
            raise SearchError(f"{self.endpoint} answered {response.status_code}: {excerpt}{hint}")
        # the bindings of SPARQL 1.1 results in JSON. The public service may break off in the middle
        # of a 200 when a query takes too long, so that what cannot be read counts as passing.
        content_type = response.headers.get("content-type", "no content type")
        try:
            value = json.loads(body)
            rows: list[Solution] = value["results"]["bindings"]
            if not all(isinstance(term, dict) for row in rows for term in row.values()):
                raise TypeError("a term is not an object")
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as exc:
            raise _Passing(f"answered with {content_type} that is not a SPARQL result") from exc
        return rows


PAGE_SIZE = 200
SITELINKS = 15


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
    for code in languages:
        if re.fullmatch(r"[a-z]{2,3}(?:-[a-z0-9]+)*", code) is None:
            raise ConfigError(f"'{code}' is not a language code, like en or zh-hans")
    if not languages:
        raise ConfigError("name at least one language, like en")
    query = ImportQuery(
        endpoint=endpoint or WIKIDATA,
        kinds=parse_kinds(kinds),
        languages=tuple(languages),
        sitelinks=sitelinks,
        page_size=page_size,
    )
    page_file = KeptPages(out.with_name(out.name + ".pages.jsonl"))
    gathered = Gathered(query.languages, now)
    async with QueryService(query.endpoint, contact, patience, note, permit=own_call()) as service:
        try:
            pages = await _gather(service, query, page_file, gathered, limit, note)
        except SearchError as exc:
            kept = f"what came so far is kept in {page_file.file}"
            raise SearchError(f"{exc}; {kept}; the same command continues from there") from exc
    rows = gathered.rows(limit)
    if rows:
        write_events(rows, out)
    page_file.discard()
    if not rows:
        names = ", ".join(kind.name for kind in query.kinds)
        why = ", ".join(f"{reason}: {n}" for reason, n in gathered.left_out.most_common())
        raise ConfigError(f"no event to be had of the kinds {names}; left out: {why or 'none'}")
    return ImportedTable(out, len(rows), pages, dict(gathered.left_out.most_common()))


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
