"""A run against a local web, kept, and run again with the web gone; and the commands on pages."""

import asyncio
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ConfigError
from agent_env.records.trace_events import ToolCalled
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.start import run_episodes, start_run
from agent_env.testing import page
from agent_env.web.extract import extract
from agent_env.web.page_store import SqlitePages
from agent_env.wiring.web import WebOptions
from tests.commands import typed
from tests.noting_server import answering
from tests.plans import QUIET

pytestmark = pytest.mark.usefixtures("hurried")
KEY = "planted-0123456789-Zq"
WEB = "run time-puzzles --limit 1 --condition web"


class LocalWeb(BaseHTTPRequestHandler):
    """A search service in Serper's shape and its sites, some of them ill; no page is the same
    when it is asked for again."""

    protocol_version = "HTTP/1.1"
    count = 0
    asked: ClassVar[list[str]] = []
    searches: ClassVar[list[str]] = []
    recorded: ClassVar[tuple[str, ...]] = ()
    """What the run of `recorded` asked."""

    def log_message(self, *args):
        pass

    def do_POST(self):
        query = json.loads(self.rfile.read(int(self.headers["content-length"])))["q"]
        self.searches.append(query)
        if len(query) % 5 == 0:
            return self.reply(b"<h1>Sorry</h1>", 200)
        here = f"http://{self.headers['host']}"
        first = 2 * len(self.searches) % 6
        ill = (*self.ILL[first:], *self.ILL[:first])[:4]
        paths = [*ill, "page?" + "".join(c for c in query if c.isalnum())]
        rows = [
            {"title": query, "link": f"{here}/{path}", "snippet": f"{self.tick()}"}
            for path in paths
        ]
        return self.reply(json.dumps({"organic": rows}).encode(), kind="application/json")

    ILL: ClassVar = ("loop", "huge", "endless", "torn", "gone", "metadata")

    def do_GET(self):
        self.asked.append(self.path)
        name = self.path.strip("/").partition("?")[0]
        ill = {
            "loop": lambda: self.reply(b"", 302, location="/loop"),
            "metadata": lambda: self.reply(b"", 302, location="http://169.254.169.254/latest/"),
            "huge": lambda: self.stream({"content-length": str(10**10)}, b"x" * 65536),
            "endless": lambda: self.stream({"transfer-encoding": "chunked"}, b"1\r\nx\r\n"),
            "torn": lambda: self.reply(b"\x1f\x8b no gzip", content_encoding="gzip"),
            "page": lambda: self.reply(
                f"<html lang=en><title>{self.path}</title><p>The war began on 2 April 1982. "
                f"caf\xe9 {self.tick()}</p>".encode("latin-1")
            ),
        }
        ill.get(name, lambda: self.reply(b"nothing", 404))()

    def tick(self):
        LocalWeb.count += 1
        return LocalWeb.count

    def reply(self, body, status=200, kind="text/html; charset=utf-8", **more):
        self.send_response(status)
        told = {"content-type": kind, "content-length": str(len(body)), **more}
        for name, value in told.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, headers, piece):
        self.send_response(200)
        for name, value in {"content-type": "text/html", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(piece)
        except OSError:
            pass


@contextmanager
def local_web():
    LocalWeb.asked.clear()  # another run of the same web may have been recorded before
    LocalWeb.searches.clear()
    with answering(ThreadingHTTPServer(("127.0.0.1", 0), LocalWeb)) as (server,):
        yield f"127.0.0.1:{server.server_port}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run that recorded the local web, which is gone when it ends."""
    out = tmp_path_factory.mktemp("web") / "recorded"
    with local_web() as site:
        line = f"{WEB} --web record --search serper=http://{site} --allow-host {site} --out {{}}"
        done = typed(line, out, env={"SERPER_API_KEY": KEY})
    assert done.returncode == 0, done.stderr
    assert "search failed: serper sent text/html instead of search results" in done.stderr
    LocalWeb.recorded = (*LocalWeb.asked,)
    return out


async def run_here(out, pages, search=None, seed=1):
    """A frozen run in this process, which is quicker."""
    web = WebOptions(mode="frozen", pages=pages, search=search)
    options = RunOptions("time-puzzles", conditions=("web",), limit=1, out=out, web=web, seed=seed)
    await start_run(options, QUIET)


def told(line, *values):
    """What a command prints."""
    done = typed(line, *values)
    assert done.returncode == 0, done.stderr
    return done.stdout


def results(run):
    """All that the tools were asked and gave, by episode, in the order of the calls: those of one
    step run at the same time and are written as they end."""
    return {
        trace.stem: sorted(
            (event.call.id, event.result.model_dump(exclude={"duration_s"}))
            for event in read_trace(trace)
            if isinstance(event, ToolCalled)
        )
        for trace in Run(run).traces()
    }


def test_a_frozen_run_with_the_web_gone_gives_the_same_tool_results(recorded, tmp_path):
    asked = [*LocalWeb.asked, *LocalWeb.searches]
    told(f"{WEB} --web frozen --pages {{}} --out {{}}", recorded, tmp_path / "f")
    before, after = results(recorded), results(tmp_path / "f")
    assert before == after
    assert sum(map(len, before.values())) > 20
    assert [*LocalWeb.asked, *LocalWeb.searches] == asked
    frozen, live = Run(tmp_path / "f").manifest, Run(recorded).manifest
    assert (frozen.web, live.web) == ("frozen", "record")
    settings = frozen.web_settings
    assert (settings.search, settings.index) == ("serper", None)
    assert settings.pages_digest == live.web_settings.pages_digest
    assert len(settings.pages_digest) == 64


def test_ill_sites_are_tool_errors_keys_stand_nowhere_and_pages_are_asked_for_once(recorded):
    text = "\n".join(str(result) for calls in results(recorded).values() for _, result in calls)
    for said in (
        "redirects in a loop", "larger than 8 MB", "endless tiny pieces",
        "not compressed as announced", "answered 404 Not Found", "is not on the public internet",
        "serper sent text/html instead of search results", "café",
    ):  # fmt: skip
        assert said in text, said
    assert all(calls for calls in results(recorded).values())
    for file in recorded.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file
    pages = [path for path in LocalWeb.recorded if path.startswith("/page")]
    assert len(pages) == len(set(pages)) > 3


async def test_a_frozen_run_of_other_puzzles_misses_and_says_so(recorded, tmp_path):
    await run_here(tmp_path / "f", recorded / "pages.db", seed=5)
    assert "this search is not stored" in str(results(tmp_path / "f"))
    await run_here(tmp_path / "s", recorded, search="stored", seed=5)
    assert "is not among" not in str(results(tmp_path / "s"))


async def test_a_run_is_resumed_with_the_pages_that_it_began_with(recorded, tmp_path):
    pages, out = tmp_path / "own.db", tmp_path / "f"
    pages.write_bytes((recorded / "pages.db").read_bytes())
    await run_here(out, pages)
    await run_here(tmp_path / "g", out)  # the store of a run is the one that its run.json names
    assert Run(tmp_path / "g").manifest.web_settings.pages == str(pages)
    trace = next(Run(out).traces())
    lines, before = trace.read_bytes().splitlines(keepends=True), results(out)
    trace.write_bytes(b"".join(lines[:4]))
    await run_episodes(Run(out), None, QUIET)
    assert results(out) == before
    change(pages, "UPDATE fetches SET title = 'changed' WHERE body IS NOT NULL")
    await run_episodes(Run(out), None, QUIET)  # nothing is left to run with other pages
    trace.write_bytes(b"".join(lines[:4]))
    with pytest.raises(ConfigError, match="began with other pages"):
        await run_episodes(Run(out), None, QUIET)


def change(file, statement):
    store = SqlitePages(file)
    with store.connection as connection:
        connection.execute(statement)
    store.close()


def test_a_run_as_of_a_day_withholds_undated_pages_or_counts_them(tmp_path, monkeypatch):
    """The pages of the local web bear no date, and are fetched long after that day."""
    monkeypatch.setenv("SERPER_API_KEY", KEY)
    runs = {}
    for name, undated in (("withheld", None), ("counted", "count")):
        with local_web() as site:
            web = WebOptions(
                mode="record", search=f"serper=http://{site}", allow_hosts=(site,),
                as_of="2015-01-01", undated=undated,
            )  # fmt: skip
            options = RunOptions(
                "time-puzzles", conditions=("web",), limit=1, out=tmp_path / name, web=web, seed=1
            )
            asyncio.run(start_run(options, QUIET))
        refs = [ref for calls in results(tmp_path / name).values() for _, result in calls
                for ref in result["pages"]]  # fmt: skip
        runs[name] = {(ref["how"] == "blocked", "undated" in (ref["flags"] or ())) for ref in refs}
        settings = Run(tmp_path / name).manifest.web_settings
        assert (settings.as_of, settings.undated) == ("2015-01-01", undated or "withhold")
    assert runs == {"withheld": {(True, True)}, "counted": {(False, True)}}
    shown = told("compare {} {} --json", *(tmp_path / name for name in runs))
    withheld, counted = json.loads(shown)["as-of"]["rows"]
    assert (withheld["as of"], withheld["pages shown"]) == ("2015-01-01", 0)
    assert withheld["samples judged"] == 0
    assert withheld["withheld: undated"] == counted["pages shown"] == counted["of these undated"]
    assert (counted["withheld: undated"], counted["samples judged"]) == (0, 1)


def test_leaks_of_a_store_are_counted_and_listed_with_what_shows_them(tmp_path):
    file = tmp_path / "pages.db"
    store = SqlitePages(file)
    made = {
        "undated": b"<p>Text.", "early": b"<meta name=date content=2015-01-01><p>Text.",
        "changed": b"<meta name=date content=2015-01-01><meta name=lastmod content=2024-01-01>",
        "told": b"<meta name=date content=2015-01-01><p>In 2022 he became mayor.",
    }  # fmt: skip
    store.put_all(
        page(f"https://a.example/{name}", extract(body).text).model_copy(update={"body": body})
        for name, body in made.items()
    )
    store.close()
    assert told("web pages leaks {} --as-of 2020-06-30", file) == (
        "pages                  4\ndated later            1\nchanged later          1\n"
        "undated                1\nmentioning later days  1\n"
        "later,changed  https://a.example/changed  2024-01-01 modified (meta)\n"
        "mentions-later  https://a.example/told  2015-01-01 published (meta)  "
        "In 2022 he became mayor.\n"
        "undated  https://a.example/undated\n"
    )
    assert json.loads(told("web pages leaks {} --as-of 2026-01-01 --json", file))["flagged"] == []


def test_stores_are_listed_merged_exported_and_verified(recorded, tmp_path):
    listed = told("web pages list {} --json", recorded).splitlines()
    first = next(row for row in map(json.loads, listed) if row["digest"])
    shown = told(f"web pages show {{}} {first['digest'][:10]}", recorded)
    assert f"asked: {first['asked']}" in shown
    assert "The war began on 2 April 1982. café" in shown
    assert f"serper  5  {LocalWeb.searches[0]}  " in told("web pages list {} --searches", recorded)
    warc, copy, merged = (tmp_path / name for name in ("x.warc.gz", "copy.db", "all.db"))
    assert str(warc) in told("web pages export {} {}", recorded, warc)
    assert " 0 left out" in told("web pages import {} {}", copy, warc)
    done = told("web pages merge {} {} {}", merged, recorded, copy)
    assert done.endswith("copy.db: 0 pages and 0 searches were new, 0 differ from what stands\n")
    files = (recorded, copy, merged)
    held = [json.loads(told("web pages verify {} --json", file)) for file in files]
    sources = [[source["name"] for source in one.pop("sources")] for one in held]
    assert sources == [[], ["x.warc.gz"], ["x.warc.gz"]]
    assert held[0] == held[1] == held[2]
    assert held[0]["problems"] == []
    assert held[0]["digest"] == Run(recorded).manifest.web_settings.pages_digest
    file = tmp_path / "broken.db"
    file.write_bytes((recorded / "pages.db").read_bytes())
    change(file, "UPDATE bodies SET body = x'00' WHERE rowid = 1")
    done = typed("web pages verify {}", file)
    assert (done.returncode, "cannot be unpacked" in done.stdout) == (1, True)
    missing = typed("web pages show {} https://no.example/", file)
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
