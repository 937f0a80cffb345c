"""A client of Wikidata's query service, or of any other that serves the same items by SPARQL.

Guarantees: one request at a time, named by a User-Agent; a server that is busy or failing is
asked again a bounded number of times, not before its Retry-After is over; every request has a
timeout; a reply that is cut off or is no SPARQL result never counts as a page. Not covered: the
service's own limits (a kind with too many items may never be listed within its time), and items
that change between two pages.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable
from typing import Self

import httpx

from agent_env.extensions.facts.tables.statements import (
    ENTITY,
    ImportQuery,
    ItemPage,
    Kind,
    Solution,
    detail_query,
    items_of,
    list_query,
    value_of,
)
from agent_env.sdk.commands import __version__
from agent_env.sdk.errors import ConfigError, SearchError
from agent_env.sdk.records import Reach
from agent_env.sdk.run import Permit
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
            raise ConfigError(f"'{endpoint}' is no address of a query service, like {WIKIDATA}")
        if not (contact.isascii() and contact.isprintable()):
            raise ConfigError("a contact is an e-mail address or URL in plain ASCII")
        self.endpoint = endpoint
        self._patience = patience or PATIENCE
        self._note = note
        who = f"agent-env/{__version__}" + (f" ({contact})" if contact else "")
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
                body = await _read_body(response)
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
        return _solutions(body, response.headers.get("content-type", "no content type"))


async def _read_body(response: httpx.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise SearchError(f"an answer has more than {MOST_BYTES} bytes; make pages smaller")
    return b"".join(parts)


def _solutions(body: bytes, content_type: str) -> list[Solution]:
    """The bindings of SPARQL 1.1 results in JSON. The public service may break off in the middle
    of a 200 when a query takes too long, so that what cannot be read counts as passing."""
    try:
        value = json.loads(body)
        rows: list[Solution] = value["results"]["bindings"]
        whole = all(isinstance(term, dict) for row in rows for term in row.values())
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as exc:
        raise _Passing(f"answered with {content_type} that is no SPARQL result") from exc
    if not whole:
        raise _Passing(f"answered with {content_type} that is no SPARQL result")
    return rows
