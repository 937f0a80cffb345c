"""Replies in the shape that each service documents, and a server on loopback that gives them."""

import asyncio
import json

import httpx

from agent_env.web.providers import catalogue
from agent_env.web.providers.api import Pace
from agent_env.web.providers.client import Patience
from agent_env.wiring.trust import own_plugins
from tests.models.raw_server import RawServer

KEY = "planted-0123456789-Zq"
NAMES = catalogue.NAMES
KEYED = tuple(catalogue.key_variables())
SWIFT = Pace(per_second=10_000.0, at_once=16)
BRIEF = Patience(attempts=3, first_wait_s=0.001, longest_wait_s=3.0, timeout_s=3.0)


def body_of(name, rows):
    """A whole reply of the service with these results."""
    if name == "openai" and isinstance(rows, list):
        action = {"type": "search", "query": "moon", "sources": None}
        rows = [
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action},
            {"type": "message", "role": "assistant", "content": [r for r in rows if r]},
        ]
    wrapped = {
        "brave": {
            "type": "search", "query": {"original": "moon"}, "mixed": {"type": "mixed", "main": []},
            "web": {"type": "search", "results": rows, "family_friendly": True},
        },
        "tavily": {"query": "moon", "answer": None, "images": [], "results": rows,
                   "response_time": 1.2, "request_id": "r-1"},
        "exa": {"requestId": "r-1", "searchType": "auto", "results": rows, "costDollars": {}},
        "serper": {"searchParameters": {"q": "moon", "type": "search", "num": 2}, "organic": rows,
                   "relatedSearches": [{"query": "full moon"}], "credits": 1},
        "openai": {"id": "resp_1", "object": "response", "status": "completed", "error": None,
                   "output": rows},
        "searxng": {"query": "moon", "number_of_results": 0, "results": rows, "answers": [],
                    "suggestions": [], "unresponsive_engines": []},
        "wikipedia": {"batchcomplete": True,
                      "query": {"searchinfo": {"totalhits": 2}, "search": rows}},
    }  # fmt: skip
    return wrapped[name]


def row_of(name, url, title, snippet):
    """One result; Wikipedia tells no address."""
    said = f"- {snippet} " if snippet else ""
    citation = {"type": "url_citation", "url": url, "title": title, "start_index": len(said),
                "end_index": 100}  # fmt: skip
    rows = {
        "brave": {"title": title, "url": url, "description": snippet, "age": "May 2, 2020"},
        "tavily": {"title": title, "url": url, "content": snippet, "score": 0.9},
        "exa": {"id": url, "title": title, "url": url, "highlights": [snippet], "author": None},
        "serper": {"title": title, "link": url, "snippet": snippet, "position": 1},
        "openai": {"type": "output_text", "text": f"{said}([site])", "annotations": [citation]},
        "searxng": {"url": url, "title": title, "content": snippet, "engine": "bing"},
        "wikipedia": {"ns": 0, "title": title, "pageid": 1, "snippet": snippet},
    }
    return rows[name]


def name_and(values):
    """Each service with the first value, and one of them with every value: what a client makes of
    a status or of broken JSON is the same code for all of them."""
    first, *others = values
    return [*((name, first) for name in NAMES), *(("exa", value) for value in others)]


def two_results(name):
    """Two good results."""
    first = row_of(name, "https://a.example/1", "Full moon", "It <b>rose</b> at 5 &amp; set.")
    return body_of(name, [first, row_of(name, "https://b.example/2", "New moon", "Dark.")])


class Service(RawServer):
    path = ""


def reply(body, status=200, kind="application/json", headers=None):
    """A whole HTTP reply; bytes go out as they are, anything else as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    told = {"content-type": kind, "content-length": str(len(raw)), "connection": "close"}
    lines = [f"{name}: {value}" for name, value in {**told, **(headers or {})}.items()]
    return "\r\n".join([f"HTTP/1.1 {status} X", *lines, "", ""]).encode() + raw


def provider_at(name, url, **settings):
    """The provider, quick and with the planted key."""
    settings = {"pace": SWIFT, "patience": BRIEF, "plugins": own_plugins(), **settings}
    return catalogue.make_provider(name, KEY if name in KEYED else None, url, **settings)


def with_service(name, replies, use, delay_s=0.0, **settings):
    """What `use` gives with a provider of this name at a server that gives these replies."""

    async def run():
        # verify=False: loading certificates takes longer than all else here
        async with (
            Service(*replies, delay_s=delay_s) as service,
            httpx.AsyncClient(verify=False) as http,
        ):
            return await use(provider_at(name, service.url, http=http, **settings), service)

    return asyncio.run(run())


def search(name, *replies, query="full moon", limit=5, **settings):
    """The hits of one search, and the server as it was left."""

    async def use(provider, service):
        return await provider.search(query, limit), service

    hits, service = with_service(name, replies, use, **settings)
    return hits, service
