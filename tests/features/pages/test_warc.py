"""WARC: out and in again with the same digest, and other programs' files."""

import gzip
import io
import json
from contextlib import contextmanager, suppress

import pytest

from agent_env.errors import ConfigError
from agent_env.features.pages.warc import LONGEST_BODY, WarcImport, export_warc, import_warc
from agent_env.records.pages import Hit
from agent_env.testing import page
from agent_env.web.page_store import SqlitePages
from agent_env.web.store_file import Failure
from agent_env.web.store_merge import problems

A, B = "https://a.example/", "https://b.example/"
NOON = "2026-01-01T12:00:00+00:00"


def notes(text):
    raise AssertionError(text)


@pytest.fixture
def store(tmp_path):
    store = SqlitePages(tmp_path / "pages.db")
    dated = {"published": "2020-01-02", "headers": {"etag": "1", "content-encoding": "gzip"}}
    store.put_all([page(A, "Old."), page(A, "Ünï 中文.").model_copy(update=dated)])
    store.keep(B, page(f"{A}final", "Text."), NOON)
    store.keep("https://c.example/", Failure("no host"), NOON)
    store.keep_search("brave", "moon", 5, [Hit(url=A, title="A", snippet="x")], NOON)
    store.keep_search("brave", "sun", 5, Failure("429"), NOON)
    return store


@pytest.mark.parametrize("name", ["x.warc", "x.warc.gz"])
def test_out_and_in_again_nothing_is_lost(store, tmp_path, name):
    assert export_warc(store, tmp_path / name) == 3
    again = SqlitePages(tmp_path / "again.db")
    assert import_warc(again, tmp_path / name, notes) == WarcImport(4, 2, {}, ties=1)
    assert again.digest() == store.digest()
    assert list(again.fetches(False)) == list(store.fetches(False))
    assert list(again.searches()) == list(store.searches())
    assert not list(problems(again))
    assert import_warc(again, tmp_path / name, notes).pages == 0


def test_bodies_are_written_unpacked_and_so_without_the_headers_of_packing(store, tmp_path):
    from warcio.archiveiterator import ArchiveIterator

    export_warc(store, tmp_path / "x.warc")
    with (tmp_path / "x.warc").open("rb") as file:
        found = [
            (record.http_headers.get_header("content-encoding"), record.content_stream().read())
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        ]
    assert (None, "<p>Ünï 中文.</p>".encode()) in found


@contextmanager
def writing(file):
    from warcio.warcwriter import WARCWriter

    with file.open("wb") as out:
        yield WARCWriter(out, gzip=True)


def foreign(file, *responses):
    from warcio.statusandheaders import StatusAndHeaders

    with writing(file) as writer:
        writer.write_record(writer.create_warcinfo_record("x.warc.gz", {"software": "other"}))
        for url, status, headers, body, *at in responses:
            record = writer.create_warc_record(
                url, "revisit" if status.startswith("304") else "response",
                payload=io.BytesIO(body), warc_headers_dict={"WARC-Date": at[0]} if at else {},
                http_headers=StatusAndHeaders(status, headers, protocol="HTTP/1.1"),
            )  # fmt: skip
            writer.write_record(record)


def test_other_programs_files_are_read_and_what_is_left_out_is_counted(tmp_path):
    html = [("Content-Type", "text/html; charset=iso-8859-1"), ("Set-Cookie", "secret")]
    packed = [*html, ("Content-Encoding", "gzip")]
    foreign(
        tmp_path / "x.warc.gz",
        (f"{A}#f", "200 OK", html, "<html lang=fr><title>T</title><p>caf\xe9".encode("latin-1")),
        (B, "200 OK", packed, gzip.compress(b"<p>packed", mtime=0)),
        (f"{A}2", "404 Not Found", html, b"gone"),
        (f"{A}3", "200 OK", [("Content-Type", "image/png")], b"\x89PNG"),
        (f"{A}4", "200 OK", html, b"<p>last"),
    )
    store, told = SqlitePages(tmp_path / "pages.db"), []
    done = import_warc(store, tmp_path / "x.warc.gz", told.append)
    assert done == WarcImport(3, 0, {"pages without text": 1}, {"pages that were gone": 1})
    assert told == ["a record was left out: the address holds image/png, not a page with text"]
    first = store.outcome(A)
    assert (first.title, first.text, first.language) == ("T", "café", "fr")
    assert "set-cookie" not in first.headers
    assert [row.asked for row in store.fetches()] == [A, f"{A}4", B]
    assert not list(problems(store))


def test_two_crawls_give_each_day_its_version_with_what_was_moved_gone_or_broken(tmp_path):
    html, moved = [("Content-Type", "text/html")], [("Location", "/new#top")]
    first, second = "2015-01-01T00:00:00Z", "2020-06-01T12:30:00.5Z"
    gone = b"<title>Page not found</title><p>Sorry."
    file = tmp_path / "two.warc.gz"
    foreign(
        file,
        (A, "200 OK", html, b"<p>In 2015.", first),
        (f"{A}old", "200 OK", html, b"<p>Old.", first),
        *((A + name, "200 OK", html, b"<p>There.", first) for name in ("soft", "hard", "busy")),
        (A, "304 Not Modified", html, b"", "2016-01-01T00:00:00Z"),
        (A, "200 OK", html, b"<p>In 2020.", second),
        (A, "200 OK", html, b"<p>In 2020, again.", "2020-06-01T12:30:00Z"),
        (f"{A}old", "301 Moved Permanently", moved, b"", second),
        (f"{A}new", "200 OK", html, b"<p>New.", second),
        (f"{A}soft", "200 OK", html, gone, second),
        (f"{A}hard", "410 Gone", html, b"gone", second),
        (f"{A}busy", "503 Busy", html, b"busy", second),
        (f"{B}none", "304 Not Modified", html, b"", second),
    )
    store, told = SqlitePages(tmp_path / "pages.db"), []
    broken = {"answers with status 503": 1, "records that are broken": 1}
    ends = {"redirects": 1, "pages that were gone": 2}
    assert import_warc(store, file, told.append) == WarcImport(9, 0, broken, ends, 1)
    (line,) = told
    assert f"the store lacks the page that {B}none still was at {second}" in line
    assert store.outcome(A).text == "In 2015."
    assert export_warc(store, tmp_path / "x.warc") == 9
    again = SqlitePages(tmp_path / "again.db")
    import_warc(again, tmp_path / "x.warc", notes)
    assert list(again.fetches(False)) == list(store.fetches(False))

    def on(day, name=""):
        outcome = SqlitePages(again.file, True, as_of=day).outcome(A + name)
        return getattr(outcome, "text", None) or getattr(outcome, "error", None)

    days = ("2014-12-31", "2015-01-01", "2016-01-01", "2020-06-01")
    assert [on(day) for day in days] == [None, "In 2015.", "In 2015.", "In 2020, again."]
    names = ("old", "new", "soft", "hard", "busy")
    assert [on("2018-01-01", name) for name in names] == ["Old.", None, *["There."] * 3]
    assert [on("2020-06-01", name) for name in names] == [
        "New.", "New.", f"{A}soft was gone on 2020-06-01: it only said it is not a page",
        f"{A}hard was gone on 2020-06-01: it answered 410", "There.",
    ]  # fmt: skip
    seen = SqlitePages(again.file, True, as_of="2018-01-01").outcome(A)
    assert (seen.fetched_at, seen.url) == ("2016-01-01T00:00:00Z", A)


@pytest.mark.parametrize(
    "data", [b"", b"no warc at all\n" * 50, gzip.compress(b"x" * 500, mtime=0)]
)
def test_a_file_that_is_no_warc_is_named_and_nothing_is_lost(store, tmp_path, data):
    before = store.digest()
    bad = tmp_path / "bad.warc"
    bad.write_bytes(data)
    if data:
        with pytest.raises(ConfigError, match=r"bad\.warc is not a valid WARC file"):
            import_warc(store, bad, notes)
    else:
        assert import_warc(store, bad, notes) == WarcImport(0, 0, {})
    assert store.digest() == before


def test_a_warc_that_is_cut_off_gives_what_came_before(store, tmp_path):
    export_warc(store, tmp_path / "x.warc.gz")
    data = (tmp_path / "x.warc.gz").read_bytes()
    again = SqlitePages(tmp_path / "again.db")
    for part in (0.3, 0.6, 0.9):
        (tmp_path / "cut.warc.gz").write_bytes(data[: int(len(data) * part)])
        with suppress(ConfigError):
            import_warc(again, tmp_path / "cut.warc.gz", lambda text: None)
    assert not list(problems(again))
    held = {row.digest for row in store.fetches(False)}
    assert again.outcome(A) == store.outcome(A)
    assert {row.digest for row in again.fetches(False)} <= held


FETCH = "application/vnd.agent-env.fetch+json"
SEARCH = "application/vnd.agent-env.search+json"
HUGE = b"9" * 99
ODD = {
    "deep": (FETCH, b"[" * 100_000),
    "a list": (FETCH, b"[1]"),
    "a row of other kinds": (FETCH, b'{"asked": {"a": 1}, "error": "x", "url": [], "stands": 1}'),
    "a number beyond all": (
        FETCH, b'{"asked": "x", "error": "x", "url": "x", "fetched_at": "x", "status": %s}' % HUGE
    ),
    "no text": (FETCH, b"\xff\xfe"),
    "half a letter": (FETCH, b'{"asked": "\\ud800", "error": "x", "url": "x", "fetched_at": "x"}'),
    "a search beyond all": (
        SEARCH, b'{"provider": "x", "query": "x", "limit": %s, "searched_at": "x", "hits": [], '
        b'"error": null}' % HUGE
    ),
    "a search of a list": (SEARCH, b"[]"),
    "long": (FETCH, b'{"asked": "' + b"x" * (LONGEST_BODY + 1) + b'"}'),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_record_is_left_out_and_the_next_is_taken(name, tmp_path):
    good = {"provider": "brave", "query": "q", "limit": 5, "searched_at": "x", "hits": []}
    file = tmp_path / "odd.warc.gz"
    with writing(file) as writer:
        for kind, data in (ODD[name], (SEARCH, json.dumps(good | {"error": None}).encode())):
            payload = {"payload": io.BytesIO(data), "warc_content_type": kind}
            writer.write_record(writer.create_warc_record(A, "metadata", **payload))
    store, said = SqlitePages(tmp_path / "pages.db"), []
    found = import_warc(store, file, said.append)
    assert (found.searches, found.left_out) == (1, {"records that are broken": 1})
    (line,) = said
    assert len(line) < 300
