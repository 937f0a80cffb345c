"""The page store: each body once, crash-safe, exact; and files that are none."""

import asyncio
import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.errors import ConfigError, StorageError
from agent_env.records.pages import Hit
from agent_env.testing import page
from agent_env.web.page_store import SqlitePages
from agent_env.web.store_file import Failure
from agent_env.web.store_merge import merge, problems

A, B = "https://a.example/", "https://b.example/"
NOON = "2026-01-01T12:00:00+00:00"
HITS = [
    Hit(url=A, title="A", snippet="x", published="2020-01-02"),
    Hit(url=B, title="B", snippet=""),
]


@pytest.fixture
def store(tmp_path):
    store = SqlitePages(tmp_path / "pages.db")
    yield store
    store.close()


def in_memory(**options):
    return SqlitePages(Path(":memory:"), **options)


def made(text, url=A, **fields):
    return page(url, text).model_copy(update=fields)


async def test_a_page_comes_back_as_it_was_put(store):
    days = {"published": "2020-01-02", "modified": "2021-01-02"}
    put = made("Text.", headers={"etag": "1"}, language="en", extractor="x/1", **days)
    digest = await store.put(put)
    assert await store.get(A) == put
    assert digest == hashlib.sha256(put.body).hexdigest()
    assert await store.get(B) is None
    assert store.body(digest) == put.body


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives(text):
    store = in_memory()
    store.put_all([page(A, text)])
    assert asyncio.run(store.get(A)) == page(A, text)
    store.close()


def test_what_is_kept_first_stands_but_a_page_follows_a_failure(store):
    no_host, one = Failure("no host"), page(A, "One.")
    offered = (no_host, one, page(A, "Two."), Failure("gone"))
    assert [store.keep(A, each, NOON) for each in offered] == [no_host, one, one, one]


def test_searches_are_kept_by_provider_query_and_limit(store):
    assert store.searched("brave", "moon", 5) is None
    assert store.keep_search("brave", "moon", 5, HITS, NOON) == HITS
    assert store.keep_search("brave", "moon", 5, [], NOON) == HITS
    assert store.searched("brave", "moon", 1) == HITS[:1]
    assert store.searched("brave", "moon", 6) is None
    assert store.searched("exa", "moon", 5) is None
    assert store.keep_search("exa", "moon", 5, Failure("429"), NOON) == Failure("429")
    assert store.searched("exa", "moon", 3) is None
    assert store.keep_search("exa", "moon", 5, [], NOON) == []


def test_the_digest_is_of_what_is_answered_and_not_of_when():
    def digest(*texts, at=NOON):
        store = in_memory()
        for number, text in enumerate(texts):
            url = f"{A}{number}"
            store.keep(url, made(text, url, fetched_at=at), at)
        return store.digest()

    assert digest("One.", "Two.") == digest("One.", "Two.", at="2027-01-01T00:00:00+00:00")
    assert len({digest("One.", "Two."), digest("Two.", "One."), digest("One.")}) == 3


def test_merging_keeps_ours_adds_theirs_and_counts_what_differs(tmp_path):
    ours, theirs = SqlitePages(tmp_path / "a.db"), SqlitePages(tmp_path / "b.db")
    ours.keep(A, page(A, "Ours."), NOON)
    ours.keep(B, Failure("no host"), NOON)
    theirs.put_all([page(A, "Theirs."), page(B, "B."), page(f"{A}2", "Ours.")])
    theirs.keep_search("brave", "moon", 5, HITS, NOON)
    done = merge(ours, theirs)
    assert (done.pages, done.searches, done.differing) == (3, 1, 1)
    assert [ours.outcome(url) for url in (A, B)] == [page(A, "Ours."), page(B, "B.")]
    assert ours.searched("brave", "moon", 5) == HITS
    before = ours.digest()
    again = merge(ours, theirs)
    assert (again.pages, again.searches, again.differing) == (0, 0, 1)
    assert (ours.digest(), list(problems(ours))) == (before, [])


DAYS = st.dates(min_value=date(2015, 1, 1), max_value=date(2015, 1, 9)).map(str)


@given(st.lists(st.tuples(DAYS, st.sampled_from("abc")), max_size=9), DAYS)
def test_a_day_gives_the_last_version_that_had_begun_and_of_one_second_the_later_stored(rows, day):
    store = in_memory(as_of=day)
    store.as_of = None  # written as captures, not as answers of a run as of the day
    for at, text in rows:
        store.put_all([made(text, fetched_at=f"{at}T23:59:59+00:00")])
    store.connection.execute("UPDATE fetches SET stands = 0")
    store.as_of = day
    began = sorted((pair for pair in rows if pair[0] <= day), key=lambda pair: pair[0])
    outcome = store.outcome(A)
    assert (outcome.text if outcome else None) == (began[-1][1] if began else None)
    assert [row.valid_from[:10] for row in store.fetches()] == [at for at, _ in began[-1:]]
    store.close()


def test_what_runs_as_of_a_day_record_is_theirs_and_answers_that_day_first(tmp_path):
    file, today, no_host = tmp_path / "pages.db", page(A, "Today's."), Failure("no host")
    now, then = SqlitePages(file), SqlitePages(file, as_of="2020-01-01")
    now.keep(A, today, NOON)
    assert (then.outcome(A), then.recorded(A)) == (None, None)
    old = made("Of 2019.", valid_from="2019-05-01T00:00:00Z", held_until="2019-12-31T00:00:00Z")
    assert (then.keep(A, old, NOON), then.keep(B, no_host, NOON)) == (old, no_host)
    assert (now.outcome(A), now.outcome(B)) == (today, None)
    assert then.recorded_days() == ["2020-01-01"]
    later = SqlitePages(file, as_of="2021-01-01")
    assert (later.outcome(A), later.outcome(B)) == (old, None)
    assert SqlitePages(file, as_of="2019-04-30").outcome(A) is None
    assert SqlitePages(file, as_of="2026-01-01").outcome(A) == today
    later = SqlitePages(file, as_of="2021-01-01")
    assert len({store.digest() for store in (now, then, later)}) == 3


async def test_verifying_names_what_was_changed_or_lost(store):
    digest = await store.put(page(A, "One."))
    other = await store.put(page(B, "Two."))
    assert list(problems(store)) == []
    with store.connection as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        copied = "UPDATE bodies SET body = (SELECT body FROM bodies WHERE digest = ?)"
        connection.execute(f"{copied} WHERE digest = ?", (other, digest))
        connection.execute("DELETE FROM texts WHERE digest = (SELECT text FROM fetches LIMIT 1)")
        connection.execute("UPDATE bodies SET body = x'00' WHERE digest = ?", (other,))
    told = sorted(problems(store))
    assert told[0].startswith(f"body {min(digest, other)}")
    assert f"body {digest} is not what its name says" in told
    assert any(line.startswith(f"body {other} cannot be unpacked") for line in told)
    assert f"{A} has no text" in told
    with pytest.raises(StorageError, match="agent-env web pages verify"):
        await store.get(A)
    with pytest.raises(ConfigError, match="is not sound"):
        merge(in_memory(), store)


def foreign(file):
    with sqlite3.connect(file) as connection:
        connection.executescript("CREATE TABLE mine (a);")


def newer(file):
    SqlitePages(file).close()
    with sqlite3.connect(file) as connection:
        connection.executescript("PRAGMA user_version = 99")


def broken(file):
    SqlitePages(file).close()
    data = bytearray(file.read_bytes())
    data[100:2000] = b"\xff" * 1900
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda file: file.write_text("not a database at all"), "it is not an SQLite file"),
        (foreign, "it is another program's SQLite file"),
        (newer, "of format 99; this agent-env reads format 6"),
        (broken, "is a broken page store"),
    ],
    ids=["plain", "foreign", "newer", "broken"],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_that_is_no_store_of_this_format_is_named(make, said, read_only, tmp_path):
    file = tmp_path / "x.db"
    make(file)
    before = file.read_bytes()
    with pytest.raises(ConfigError, match=said) as caught:
        SqlitePages(file, read_only)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert file.read_bytes() == before


def test_dates_that_are_none_are_named(store):
    store.put_all([page(A, "One.")])
    store.connection.execute("UPDATE fetches SET dates = '[7]'")
    with pytest.raises(StorageError, match="holds dates that are none"):
        asyncio.run(store.get(A))


def test_reading_makes_no_file(tmp_path):
    with pytest.raises(ConfigError, match="there is no page store"):
        SqlitePages(tmp_path / "none.db", read_only=True)
    assert not list(tmp_path.iterdir())


def test_a_reader_sees_whole_writes_while_another_writes(store):
    store.put_all([page(A, "One.")])
    reader = SqlitePages(store.file, read_only=True)
    store.connection.execute("BEGIN IMMEDIATE")
    store.connection.execute("DELETE FROM fetches")
    assert asyncio.run(reader.get(A)) == page(A, "One.")
    store.connection.rollback()
    reader.close()


WRITER = """
import sys
from pathlib import Path
from agent_env.testing import page
from agent_env.web.page_store import SqlitePages
store = SqlitePages(Path(sys.argv[1]))
for n in range(int(sys.argv[3])):
    url = f"https://a.example/{n}"
    store.keep(url, page(url, f"{sys.argv[2]} {n} " * 500), "")
    print(n, flush=True)
"""


def writer(store, name, count):
    command = [sys.executable, "-c", WRITER, str(store.file), name, str(count)]
    return subprocess.Popen(command, stdout=-1, text=True)


def test_two_processes_write_and_the_first_answer_stands(store):
    writers = [writer(store, name, 60) for name in "ab"]
    assert [each.wait(60) for each in writers] == [0, 0]
    ((fetches,),) = store.connection.execute("SELECT count(*) FROM fetches")
    assert (len(list(store.urls())), fetches, list(problems(store))) == (60, 60, [])


def test_a_killed_writer_loses_nothing_that_it_had_written(store):
    store.close()
    process = writer(store, "a", 100_000)
    next(line for line in process.stdout if int(line) == 50)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)
    time.sleep(0.05)
    again = SqlitePages(store.file)
    assert len(list(again.urls())) >= 51
    assert not list(problems(again))
    again.put_all([page(B, "Goes on.")])
    again.close()
