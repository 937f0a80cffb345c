"""The query service's client, against a server on loopback that answers SPARQL 1.1 results."""

import json
import re
import time
from datetime import date
from urllib.parse import parse_qs

import pytest

from agent_env.errors import ConfigError, SearchError
from agent_env.features.facts.wikidata import QueryService, import_wikidata, parse_kinds
from agent_env.web.providers.client import Patience
from agent_env.wiring.trust import own_call
from tests.models import raw_server

ENTITY = "http://www.wikidata.org/entity/"
NOW = date(2026, 1, 31)
QUICK = Patience(attempts=4, first_wait_s=0.01, longest_wait_s=5.0, timeout_s=2.0)
HTML = b"<html><body><h1>Service unavailable</h1></body></html>"


def uri(name):
    return {"type": "uri", "value": ENTITY + name}


def results(rows):
    names = sorted({name for row in rows for name in row})
    return json.dumps({"head": {"vars": names}, "results": {"bindings": rows}}).encode()


def reply(body, status="200 OK", headers="", kind="sparql-results+json"):
    closing = f"{headers}Connection: close\r\n"
    return raw_server.reply(body, status, f"application/{kind}", closing)


class FakeService(raw_server.RawServer):
    """Knows battles Q1, Q2, … with one day each; gives `troubles` first, by number of request."""

    path = "/sparql"

    def __init__(self, battles, troubles=None):
        super().__init__()
        self.battles, self.troubles = battles, dict(troubles or {})
        self.queries, self.held, self.sent = [], [], []

    async def _serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(re.search(r"content-length: (\d+)", head, re.I)[1])
        self.sent.append(head)
        self.queries.append(parse_qs((await reader.readexactly(length)).decode())["query"][0])
        trouble = self.troubles.pop(len(self.queries), None)
        if trouble == b"hang":
            self.held.append(writer)  # or Python 3.13 closes it
        else:
            writer.write(reply(self._answer(self.queries[-1])) if trouble is None else trouble)
            await writer.drain()
            writer.close()

    def _answer(self, query):
        if (wanted := re.search(r'STR\(\?item\) > "(.*)"', query)) is not None:
            size = int(re.search(r"LIMIT (\d+)", query)[1])
            found = sorted(name for name in self.battles if ENTITY + name > wanted[1])[:size]
            return results([{"item": uri(name)} for name in found])
        rows = []
        for name in dict.fromkeys(re.findall(r"wd:(Q\d+)", query)):
            label = {"type": "literal", "xml:lang": "en", "value": f"Battle of Place {name}"}
            rows.append({"item": uri(name), "name": label})
            rows.append({"item": uri(name), **self._time(self.battles[name])})
        return results(rows[::-1])  # in whatever order

    def _time(self, day):
        xsd, time = "http://www.w3.org/2001/XMLSchema#", f"{day}T00:00:00Z"
        return {
            "bound": {"type": "literal", "value": "point"},
            "time": {"type": "literal", "datatype": f"{xsd}dateTime", "value": time},
            "precision": {"type": "literal", "datatype": f"{xsd}integer", "value": "11"},
            "calendar": uri("Q1985727"),
        }


BATTLES = {f"Q{n}": f"18{n:02d}-06-18" for n in range(10, 15)}


async def build(folder, troubles=None, limit=100, page_size=2, battles=BATTLES, patience=QUICK):
    """The import and the service it asked."""
    async with FakeService(battles, troubles) as service:
        try:
            return await import_wikidata(
                folder / "out.csv", ["battle"], limit, NOW, service.url, contact="me@x.example",
                page_size=page_size, patience=patience,
            ), service  # fmt: skip
        except SearchError as exc:
            return exc, service


async def test_pages_make_one_table_at_the_servers_own_time(tmp_path):
    done, service = await build(tmp_path)
    assert (tmp_path / "out.csv").read_text().splitlines()[:3] == [
        "event,kind,summary,hint,start,end,multi_year_spans,source",
        "the Battle of Place Q10,battle,,,1810-06-18,1810-06-18,,Wikidata Q10",
        "the Battle of Place Q11,battle,,,1811-06-18,1811-06-18,,Wikidata Q11",
    ]
    assert (done.events, done.pages, len(service.queries)) == (5, 3, 6)
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    lists = [query for query in service.queries if "LIMIT 2" in query]
    afters = [re.search(r'> "(.*)"', query)[1] for query in lists]
    assert afters == ["", f"{ENTITY}Q11", f"{ENTITY}Q13"]
    assert "wdt:P31/wdt:P279* wd:Q178561" in lists[0]
    assert re.search(r"user-agent: agent-env/[\d.]+ \(me@x\.example\)", service.sent[0], re.I)
    assert "accept: application/sparql-results+json" in service.sent[0].lower()
    done, service = await build(tmp_path, limit=3)
    assert (done.events, done.pages, len(service.queries)) == (3, 2, 4)
    busy = reply(b"Too many requests", "429 Too Many Requests", "Retry-After: 1\r\n", "text")
    began = time.monotonic()
    done, service = await build(tmp_path, {3: busy})
    assert time.monotonic() - began >= 1.0
    assert (done.events, len(service.queries)) == (5, 7)
    dates = "Date: Sat, 31 Jan 2026 10:00:00 GMT\r\nRetry-After: Sat, 31 Jan 2026 11:00:00 GMT\r\n"
    done, service = await build(tmp_path, {1: reply(b"", "503 Service Unavailable", dates)})
    assert str(done).startswith(
        f"{service.url} answered 503 (asked once); it asks to wait 3600 s; what came so far is kept"
    )


@pytest.mark.parametrize(
    "trouble",
    [
        reply(HTML, kind="html"),
        reply(HTML, "502 Bad Gateway", kind="html"),
        reply(b'{"head": {}, "results": {"bindings": [ {"item": SPARQL-QUERY: java.util'),
        reply(b'{"head": {}, "boolean": true}'),
        reply(b'{"results": {"bindings": [["Q1"]]}}'),
        reply(b"[" * 100_000),
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{",
        b"",
    ],
)  # fmt: skip
async def test_a_passing_failure_costs_nothing(tmp_path, trouble):
    done, service = await build(tmp_path, {2: trouble, 5: trouble})
    assert (done.events, len(service.queries)) == (5, 8)


async def test_nonsense_gives_no_row_and_silence_is_given_up(tmp_path):
    odd = [
        {"item": uri("Q10"), "name": {"value": "Battle of \ud800", "xml:lang": 7}},
        {"item": uri("Q10"), "about": {"value": ["\ud800"], "xml:lang": "en"}},
        {"item": uri("Q10"), "bound": {"value": "middle"}},
        {"item": uri("Q10"), "bound": {"value": "start"}, "precision": {"value": "9" * 5000}},
        {"item": uri("Q99"), "bound": {"value": "start"}},
        {"name": {}},
    ]
    done, _ = await build(tmp_path, {2: reply(results(odd))})
    assert done.left_out == {"no name in the languages asked for": 2}
    patience = Patience(attempts=2, first_wait_s=0.01, longest_wait_s=1.0, timeout_s=0.2)
    done, _ = await build(tmp_path, {1: b"hang", 2: b"hang"}, patience=patience)
    assert "did not answer within 0.2 s (asked 2 times)" in str(done)


async def test_after_a_failure_the_same_command_goes_on_where_it_was(tmp_path):
    down = {number: reply(HTML, "500 Internal Server Error", kind="html") for number in range(3, 7)}
    out = tmp_path / "out.csv"
    async with FakeService(BATTLES, down) as service:

        def importing():
            how = {"page_size": 2, "patience": QUICK}
            return import_wikidata(out, ["battle"], 100, NOW, service.url, **how)

        with pytest.raises(SearchError, match=r"answered 500 \(asked 4 times\)"):
            await importing()
        assert (out.exists(), len(service.queries)) == (False, 6)
        assert (await importing()).events == 5
        assert len(service.queries) == 10  # the first page was not asked for again


async def test_services_that_know_nothing_refuse_or_repeat_are_told(tmp_path):
    with pytest.raises(ConfigError, match="no event to be had of the kinds battle; left out: none"):
        await build(tmp_path, battles={})
    assert list(tmp_path.iterdir()) == []
    no = reply(b"Requests must\nname a contact", "403 Forbidden", kind="text")
    done, service = await build(tmp_path, {1: no})
    assert "answered 403: Requests must name a contact; give a --contact" in str(done)
    assert len(service.queries) == 1
    same = reply(results([{"item": uri("Q10")}, {"item": uri("Q11")}]))
    (tmp_path / "again").mkdir()
    done, _ = await build(tmp_path / "again", {1: same, 3: same})
    assert "gives the same items again; it cannot be paged" in str(done)


def test_kinds_are_known_ones_or_named_by_their_items_and_an_endpoint_is_an_address():
    assert [kind.item for kind in parse_kinds(["war", "opera=Q1344"])] == ["Q198", "Q1344"]
    with pytest.raises(ConfigError, match="is not an address of a query service"):
        QueryService("", permit=own_call())
