"""Databases of a run folder whose values have types that we never write: they are named, never a
traceback, and no small file takes much memory."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from agent_env.episodes.run_folder import RunFolder
from agent_env.features.viewer.app import count
from agent_env.web.page_store import LARGEST, SqlitePages
from agent_env.web.store_merge import problems
from tests.commands import agent_env, run_puzzles, typed


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """With the first pages and those of the episode: going through all would take time."""
    run = run_puzzles(tmp_path_factory.mktemp("made") / "run", conditions=("web",))
    (trace,) = (run / "episodes").glob("*/*.jsonl")
    episode = trace.read_text()
    with closing(SqlitePages(run / "pages.db")) as store:
        rest = [(url,) for url in store.urls() if url not in episode][40:]
        unused = "DELETE FROM {} WHERE digest NOT IN (SELECT {} FROM fetches)"
        with store.connection:
            store.connection.executemany("DELETE FROM fetches WHERE asked = ?", rest)
            store.connection.execute(unused.format("bodies", "body"))
            store.connection.execute(unused.format("texts", "text"))
        RunFolder(run).note_pages(store.digest(), "fts5")
    return run


@pytest.fixture
def run(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "run"))


def _change(file, statement, values=()):
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement, values)


def _check(line, *values):
    done = typed(line, *values)
    assert done.returncode in (0, 1, 2), (line, done.stderr)
    assert "Traceback" not in done.stderr, (line, done.stderr)
    return done


@pytest.mark.parametrize("value", ["'abc'", "5", "1e300", "x''"])
def test_texts_that_are_no_bytes_are_named(run, value):
    _change(run / "texts.db", f"UPDATE texts SET text = {value}")
    (trace,) = (run / "episodes").glob("*/*.jsonl")
    assert "texts.db" in _check("show {}", trace).stderr
    _check("show {}", run)
    _check("replay {}", run)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE bodies SET body = 5",
        "UPDATE bodies SET size = 'abc'",
        "UPDATE texts SET size = 9e99",
        "UPDATE texts SET text = 'abc'",
        "UPDATE fetches SET headers = '[1'",
        "UPDATE fetches SET headers = '[1,2]'",
        "UPDATE fetches SET title = x'ff', url = x'ff00'",
        "UPDATE fetches SET status = 'abc'",
        "INSERT INTO searches VALUES ('p', 'q', 5, 'now', '{\"a\":1}', NULL)",
        "INSERT INTO searches VALUES ('p', 'q', 5, 'now', '[{\"url\":1}]', NULL)",
        "INSERT INTO searches VALUES ('p', 'q', 5, 'now', '[', NULL)",
        "INSERT INTO searches VALUES (x'ff', 7, 'z', 'now', x'ff', NULL)",
        f"INSERT INTO searches VALUES ('p', 'q', 5, 'now', '{'[' * 100_000}', NULL)",
    ],
)
def test_pages_of_other_types_are_named(run, tmp_path, statement):
    url = next(SqlitePages(run / "pages.db", read_only=True).urls())
    _change(run / "pages.db", statement)
    _check("web pages list {} --json", run)
    _check("web pages list {} --searches", run)
    _check("web pages show {} {}", run, url)
    _check("web pages verify {}", run)
    _check("web pages merge {} {}", tmp_path / "all.db", run)
    _check("web pages export {} {}", run, tmp_path / "all.warc.gz")
    _check("web context build {} --out {}", run, tmp_path / "context.jsonl")


@pytest.mark.parametrize("value", ["x'ff00'", "'<b>'", "9e999"])
@pytest.mark.parametrize("column", ["condition", "stop_reason", "steps", "duration_s", "repeat"])
def test_a_table_of_other_types_is_made_anew(run, column, value):
    expected = agent_env("episodes", "list", str(run), "--json").stdout
    _change(run / "index.db", f"UPDATE episodes SET {column} = {value}")
    done = agent_env("episodes", "list", str(run), "--json")
    is_text = column in ("condition", "stop_reason") and value == "'<b>'"
    assert done.returncode == 0, done.stderr
    assert (done.stdout == expected) is not is_text  # a text for a text is its owner's to answer


def test_numbers_too_large_and_texts_that_are_none_are_shown(run):
    (trace,) = (run / "episodes").glob("*/*.jsonl")
    shutil.copy(trace, trace.with_name(f"tp-1-00001.{'9' * 30}.jsonl"))
    assert _check("episodes list {}", run).returncode == 0
    _change(run / "index.db", "UPDATE episodes SET model = CAST(x'ff' AS TEXT)")
    assert agent_env("episodes", "list", str(run)).returncode == 0
    assert count(10**4000) == "very many"
    assert count(1234) == "1,234"


def test_verify_unpacks_nothing_larger_than_a_page(run):
    """A few KB in the file."""
    size = LARGEST + 1
    packing = zstandard.ZstdCompressor(level=1).compressobj(size=size)
    packed = packing.compress(bytes(size)) + packing.flush()
    _change(run / "pages.db", "INSERT INTO bodies VALUES (?, ?, ?)", ("a" * 64, size, packed))
    with closing(SqlitePages(run / "pages.db", read_only=True)) as store:
        assert f"body {'a' * 64} cannot be unpacked: it would be larger than any page" in (
            list(problems(store))
        )
