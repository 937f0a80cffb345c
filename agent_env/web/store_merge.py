"""Whole page stores: their defects, and one taken into another."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import zstandard

from agent_env.errors import ConfigError
from agent_env.web.page_store import SqlitePages, unpacked
from agent_env.web.store_file import Failure, Fetch, Search


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge brought."""

    pages: int = 0
    """Rows that were new, failures included."""
    searches: int = 0
    differing: int = 0
    """Addresses and searches for which both stores had an answer, and not the same one."""


def problems(store: SqlitePages) -> Iterator[str]:
    """Every defect of the store, a line each; none where it is sound."""
    try:
        for (message,) in store.connection.execute("PRAGMA quick_check(20)"):
            if message != "ok":
                yield f"the file is damaged: {message}"
        for table, column in (("bodies", "body"), ("texts", "text")):
            yield from _content_problems(store.connection, table, column)
            either = "" if column == "text" else " UNION ALL SELECT digest FROM texts"
            rows = store.connection.execute(
                f"SELECT asked FROM fetches WHERE error IS NULL AND ({column} IS NULL OR {column} "
                f"NOT IN (SELECT digest FROM {table}{either})) ORDER BY asked"
            )
            for (url,) in rows:
                yield f"{url} has no {column}"
    except sqlite3.Error as exc:
        yield f"the file cannot be read: {exc}"


def _content_problems(connection: sqlite3.Connection, table: str, column: str) -> Iterator[str]:
    unpack = zstandard.ZstdDecompressor()
    for digest, size, packed in connection.execute(f"SELECT digest, size, {column} FROM {table}"):
        try:
            data = unpacked(unpack, packed, size)
        except zstandard.ZstdError as exc:
            yield f"{column} {digest} cannot be unpacked: {exc}"
            continue
        if len(data) != size or hashlib.sha256(data).hexdigest() != digest:
            yield f"{column} {digest} is not what its name says"


def merge(target: SqlitePages, source: SqlitePages) -> Merged:
    """Take in what `source` holds; what `target` answers already is kept.

    The source is verified first: ConfigError where it is not sound.
    """
    for problem in problems(source):
        raise ConfigError(f"{source.file} is not sound ({problem}); it is not merged")
    ours = {(row.asked, row.as_of): row for row in target.fetches(stands_only=False) if row.stands}
    pages = differing = searches = 0
    for row in source.fetches(stands_only=False):
        body = None if row.digest is None else source.body(row.digest)
        text = None if row.text_digest is None else source.text(row.text_digest)
        pages += target.add(row, body, text)
        differing += row.stands and _differ(ours.get((row.asked, row.as_of)), row)
    known = {(s.provider, s.query, s.limit): s for s in target.searches()}
    for search in source.searches():
        before = known.get((search.provider, search.query, search.limit))
        searches += before is None
        differing += (
            before is not None
            and None not in (before.hits, search.hits)
            and (before.hits != search.hits)
        )
        add_search(target, search)
    for each in source.sources():
        target.note_source(each)
    return Merged(pages, searches, differing)


def add_search(target: SqlitePages, search: Search) -> None:
    """Store a search as it is, unless results of it are there."""
    outcome = Failure(search.error or "") if search.hits is None else search.hits
    target.keep_search(search.provider, search.query, search.limit, outcome, search.searched_at)


def _differ(ours: Fetch | None, theirs: Fetch) -> bool:
    if ours is None or ours.error is not None or theirs.error is not None:
        return False
    return (ours.digest, ours.text_digest) != (theirs.digest, theirs.text_digest)
