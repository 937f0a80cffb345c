"""Pages and search results in one SQLite file: each distinct body and text once, compressed.

Guaranteed: a write is atomic and survives a killed process; readers never wait and are never
waited for (WAL); writers of several processes take turns; what an address gave first stands until
it is put anew, and what it gave before is kept. A body's name is the SHA-256 of its bytes.

An address has any number of versions, each with the time from which it holds. A store that is
opened as of a day answers with what a run as of that day recorded, else with the last version that
had begun by the end of the day (UTC); of two of one second the one stored later.
Not guaranteed: a power loss may take the last writes, never the file. One thread per store.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, replace
from pathlib import Path
from typing import NamedTuple

import zstandard

from agent_env.errors import StorageError
from agent_env.records.pages import Hit, Page
from agent_env.web.as_of import MOST_REDIRECTS
from agent_env.web.store_file import (
    COLUMNS,
    Failure,
    Fetch,
    Search,
    Source,
    as_fetch,
    as_search,
    days_of,
    failed_fetch,
    hits_of,
    open_store,
    packed_days,
    packed_hits,
    same_fetch,
    utc_second,
)

LARGEST = 256 * 1024 * 1024
"""Bytes of a page, or of its text."""
_PACKED_BODY = 3
_PACKED_TEXT = 1
_RECORDED = "stands AND ifnull(as_of, '') = :day"
_OF_DAY = """id = coalesce(
    (SELECT id FROM fetches AS r WHERE r.asked = fetches.asked AND r.stands
     AND ifnull(r.as_of, '') = :day),
    (SELECT id FROM fetches AS v WHERE v.asked = fetches.asked
     AND v.valid_from <= :day || 'T23:59:59Z'
     ORDER BY v.valid_from DESC, v.id DESC LIMIT 1))"""


_DIGESTS: dict[tuple[object, ...], str] = {}


def _file_state(file: Path) -> list[tuple[int, ...]]:
    """What changes with the content of a store's file; its log counts where it holds something."""
    log = file.with_name(f"{file.name}-wal")
    states = (each.stat() for each in (file, log) if each.exists())
    return [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for s in states if s.st_size]


def unpacked(unpack: zstandard.ZstdDecompressor, packed: object, size: object) -> bytes:
    """The bytes of a row; ZstdError where it holds none, or more than any page has."""
    if not isinstance(packed, bytes) or not isinstance(size, int):
        raise zstandard.ZstdError("its values are of another type")
    if not 0 <= size <= LARGEST or zstandard.frame_content_size(packed) > LARGEST:
        raise zstandard.ZstdError("it would be larger than any page")
    data: bytes = unpack.decompress(packed, max_output_size=size)
    return data


class StoredText(NamedTuple):
    """A page as searches see it."""

    url: str
    title: str
    text: str


class SqlitePages:
    """The PageStore over a file."""

    def __init__(self, file: Path, read_only: bool = False, as_of: str | None = None) -> None:
        self.file = file
        self.as_of = as_of
        """YYYY-MM-DD: the day whose versions are read, and for which answers are kept."""
        self._day = {"day": as_of or ""}
        self._stands = _RECORDED if as_of is None else _OF_DAY
        self._is_read_only = read_only
        self._image: tuple[object, ...] | None = None
        """What it is a copy of, and how many rows had been changed when it was."""
        self.connection = open_store(file, read_only)
        self._pack_body = zstandard.ZstdCompressor(level=_PACKED_BODY)
        self._pack_text = zstandard.ZstdCompressor(level=_PACKED_TEXT)
        self._unpack = zstandard.ZstdDecompressor()

    def close(self) -> None:
        """Give the file back."""
        self.connection.close()

    async def get(self, url: str) -> Page | None:
        outcome = self.outcome(url)
        return outcome if isinstance(outcome, Page) else None

    async def put(self, page: Page, asked: str | None = None) -> str:
        with self.writing():
            return self._put(page, asked or page.url)

    def put_all(self, pages: Iterable[Page]) -> list[str]:
        """Store many pages in one transaction; their digests in order."""
        with self.writing():
            return [self._put(page, page.url) for page in pages]

    def put_new(self, pages: Sequence[Page], source: Source) -> tuple[Source, list[bool | None]]:
        """Store those pages whose address gives none yet, and with them how far their source was
        read. Of each whether it was new; None where the store has it word for word."""
        with self.writing():
            is_new = [self._put_new(page) for page in pages]
            source = replace(
                source,
                pages=source.pages + is_new.count(True),
                left_out=source.left_out + is_new.count(False),
            )
            self._note_source(source)
        return source, is_new

    def _put_new(self, page: Page) -> bool | None:
        if (row := self._recorded("asked", page.url)) is None:
            self._put(page, page.url)
            return True
        return None if row.text_digest == _digest(page.text.encode()) else False

    def note_source(self, source: Source) -> None:
        """Keep how far a source was read."""
        with self.writing():
            self._note_source(source)

    def _note_source(self, source: Source) -> None:
        """Of an earlier file of its name that was not read whole no more is expected."""
        self.connection.execute(
            "DELETE FROM sources WHERE name = ? AND NOT is_whole", (source.name,)
        )
        self.connection.execute(
            f"INSERT OR REPLACE INTO sources VALUES ({', '.join('?' * 7)})", astuple(source)
        )

    def sources(self) -> list[Source]:
        """What was imported, by name."""
        with self._reading():
            rows = self.connection.execute("SELECT * FROM sources ORDER BY name, digest").fetchall()
        return [replace(Source(*row), is_whole=bool(row[-1])) for row in rows]

    def copy_from(self, image: bytes) -> None:
        """Take over all that an in-memory store holds, given as `sqlite3` serializes it."""
        with self._reading():
            if str(self.file) == ":memory:":
                self.connection.deserialize(image)
            else:
                with closing(sqlite3.connect(":memory:")) as source:
                    source.deserialize(image)
                    source.backup(self.connection)
        self._image = (hash(image), len(image), self.connection.total_changes)

    def outcome(self, url: str) -> Page | Failure | None:
        """What the address gives: as asked for, or as one that redirects led to."""
        with self._reading():
            row = self.row(url)
            if row is None:
                return None
            return self._page(row) if row.error is None else Failure(row.error)

    def row(self, url: str) -> Fetch | None:
        """What `outcome` gives, without the bytes."""
        with self._reading():
            row = self._row(url)
            for _ in range(MOST_REDIRECTS):
                if row is None or not row.leads_on or (target := self._row(row.url)) is None:
                    break
                row = target
            return row

    def recorded(self, url: str) -> Page | Failure | None:
        """What a run, as of the store's day if it has one, was given there."""
        with self._reading():
            row = self._recorded("asked", url) or self._recorded("url", url)
            if row is None:
                return None
            return self._page(row) if row.error is None else Failure(row.error)

    def version(self, url: str, until: str = "9999") -> Fetch | None:
        """The last version of an address that had begun by a time; None where there is none."""
        with self._reading():
            return self._version("asked", url, until)

    def keep(self, asked: str, outcome: Page | Failure, at: str) -> Page | Failure:
        """Store what an address gave, unless a page of it is there; what stands now."""
        with self.writing():
            row = self._recorded("asked", asked)
            if row is None or row.error is not None:
                if isinstance(outcome, Page):
                    self._put(outcome, asked)
                else:
                    self._add(replace(failed_fetch(asked, outcome, at), as_of=self.as_of))
        stored = self.recorded(asked)
        assert stored is not None  # written a line above
        return stored

    def searched(self, provider: str, query: str, limit: int) -> list[Hit] | Failure | None:
        """The stored results; those of a larger limit, cut, where this one was not asked for."""
        with self._reading():
            row = self.connection.execute(
                "SELECT most, hits, error FROM searches WHERE provider = ? AND query = ? "
                "AND (most = ? OR most > ? AND error IS NULL) ORDER BY most LIMIT 1",
                (provider, query, limit, limit),
            ).fetchone()
            if row is None:
                return None
            _, hits, error = row
            return Failure(str(error)) if error is not None else list(hits_of(hits)[:limit])

    def keep_search(
        self, provider: str, query: str, limit: int, outcome: Sequence[Hit] | Failure, at: str
    ) -> list[Hit] | Failure:
        """Store a search's outcome, unless results of it are there; what stands now."""
        failed = outcome.error if isinstance(outcome, Failure) else None
        hits = None if isinstance(outcome, Failure) else packed_hits(outcome)
        with self.writing():
            self.connection.execute(
                "INSERT INTO searches VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "searched_at = excluded.searched_at, hits = excluded.hits, error = excluded.error "
                "WHERE error IS NOT NULL",
                (provider, query, limit, at, hits, failed),
            )
        stored = self.searched(provider, query, limit)
        assert stored is not None  # written a line above
        return stored

    def urls(self) -> Iterator[str]:
        """All addresses that give a page, sorted."""
        rows = self.connection.execute(
            f"SELECT asked FROM fetches WHERE {self._stands} AND body IS NOT NULL ORDER BY asked",
            self._day,
        )
        for (url,) in rows:
            yield url

    def fetches(self, stands_only: bool = True) -> Iterator[Fetch]:
        """All rows, by address."""
        where = f"WHERE {self._stands}" if stands_only else ""
        with self._reading():
            rows = self.connection.execute(
                f"SELECT {COLUMNS} FROM fetches {where} ORDER BY asked, stands DESC, id", self._day
            )
            for row in rows:
                yield as_fetch(row)

    def recorded_days(self) -> list[str]:
        """The days as of which runs recorded here, sorted."""
        query = "SELECT DISTINCT as_of FROM fetches WHERE as_of IS NOT NULL ORDER BY as_of"
        with self._reading():
            return [str(day) for (day,) in self.connection.execute(query)]

    def first_day(self) -> str | None:
        """The day of the first version; None where there is none."""
        with self._reading():
            (first,) = self.connection.execute("SELECT min(valid_from) FROM fetches").fetchone()
            return None if first is None else str(first)[:10]

    def ties(self) -> int:
        """How many versions are passed over, as one of the same second was stored later."""
        query = """SELECT count(*) FROM fetches AS one WHERE EXISTS (SELECT 1 FROM fetches AS other
            WHERE other.asked = one.asked AND other.valid_from = one.valid_from
            AND other.id > one.id AND other.text IS NOT one.text)"""
        with self._reading():
            return int(self.connection.execute(query).fetchone()[0])

    def size(self) -> int:
        """How many addresses give a page."""
        query = f"SELECT count(*) FROM fetches WHERE {self._stands} AND body IS NOT NULL"
        with self._reading():
            return int(self.connection.execute(query, self._day).fetchone()[0])

    def texts(self) -> Iterator[StoredText]:
        """What can be searched of every page, in the order in which they were stored."""
        with self._reading():
            for url, title, *packed in self.connection.execute(
                "SELECT url, title, texts.text, size FROM fetches JOIN texts "
                f"ON texts.digest = fetches.text WHERE {self._stands} ORDER BY id",
                self._day,
            ):
                text = self._unpacked(tuple(packed)).decode(errors="replace")
                yield StoredText(url, title or "", text)

    def searches(self) -> Iterator[Search]:
        """All stored searches, by provider and query."""
        with self._reading():
            for row in self.connection.execute(
                "SELECT * FROM searches ORDER BY provider, query, most"
            ):
                yield as_search(row)

    def body(self, digest: str) -> bytes:
        """The bytes of this name."""
        with self._reading():
            row = self.connection.execute(
                "SELECT body, size FROM bodies WHERE digest = :digest UNION ALL "
                "SELECT text, size FROM texts WHERE digest = :digest",
                {"digest": digest},
            ).fetchone()
            return self._unpacked(row)

    def text(self, digest: str) -> str:
        """The extracted text of this name."""
        with self._reading():
            row = self.connection.execute(
                "SELECT text, size FROM texts WHERE digest = ?", (digest,)
            ).fetchone()
            return self._unpacked(row).decode(errors="replace")

    def page(self, row: Fetch) -> Page:
        """The page of a row that has one."""
        with self._reading():
            return self._page(row)

    def add(self, row: Fetch, body: bytes | None, text: str | None) -> bool:
        """Store a row for imports and merges, named by the digests of what it comes with; whether
        it was new. Where the address gives a page already, that one stands and this is kept
        beside it.
        """
        with self.writing():
            row = _timed(
                replace(
                    row,
                    digest=None if body is None else self._add_body(body, text),
                    text_digest=None if text is None else self._add_text(text),
                )
            )
            rows = self.connection.execute(
                f"SELECT {COLUMNS} FROM fetches WHERE asked = ? AND valid_from IS ?",
                (row.asked, row.valid_from),
            )
            if any(same_fetch(as_fetch(row_values), row) for row_values in rows.fetchall()):
                return False
            standing = self._one(
                f"SELECT {COLUMNS} FROM fetches WHERE asked = ? AND stands "
                "AND ifnull(as_of, '') = ?",
                row.asked, row.as_of or "",
            )  # fmt: skip
            wins = row.stands and (
                standing is None or (standing.error is not None and row.error is None)
            )
            self._add(row, stands=wins)
            return True

    def digest(self) -> str:
        """SHA-256 over what every address and search gives; times and headers do not count. Of a
        file that is only read, and of an image that nothing was added to, it is found once by a
        process, for each state of the file."""
        if self._is_read_only:
            key: tuple[object, ...] = (self.as_of, *_file_state(self.file))
        elif self._image is not None and self._image[-1] == self.connection.total_changes:
            key = (self.as_of, *self._image)
        else:
            return self._digest()
        if key not in _DIGESTS:
            _DIGESTS[key] = self._digest()
        return _DIGESTS[key]

    def _digest(self) -> str:
        total = hashlib.sha256()
        with self._reading():
            for query in (
                "SELECT asked, url, status, content_type, body, text, title, language, published, "
                f"modified, error FROM fetches WHERE {self._stands} ORDER BY asked",
                "SELECT provider, query, most, hits, error FROM searches "
                "ORDER BY provider, query, most",
            ):
                for row in self.connection.execute(query, self._day):
                    if any(isinstance(value, bytes) for value in row):
                        raise sqlite3.DatabaseError("a row holds bytes for a text")
                    total.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        return total.hexdigest()

    def _put(self, page: Page, asked: str) -> str:
        digest = self._add_body(page.body, page.text)
        row = Fetch(
            asked=asked,
            url=page.url,
            fetched_at=page.fetched_at,
            status=page.status,
            content_type=page.content_type,
            headers=json.dumps(page.headers) if page.headers else None,
            digest=digest,
            text_digest=self._add_text(page.text),
            extractor=page.extractor,
            title=page.title,
            language=page.language,
            published=page.published,
            modified=page.modified,
            dates=packed_days(page.dates),
            as_of=self.as_of,
            valid_from=page.valid_from,
            held_until=page.held_until,
        )
        self._add(_timed(row))
        return digest

    def _add(self, row: Fetch, stands: bool = True) -> None:
        if stands:
            self.connection.execute(
                "UPDATE fetches SET stands = 0 WHERE asked = ? AND stands "
                "AND ifnull(as_of, '') = ?",
                (row.asked, row.as_of or ""),
            )
        self.connection.execute(
            f"INSERT INTO fetches VALUES (NULL{', ?' * 19})",
            (
                stands, row.asked, row.url, row.fetched_at, row.status, row.content_type,
                row.headers, row.digest, row.text_digest, row.extractor, row.title, row.language,
                row.published, row.modified, row.error, row.dates, row.as_of,
                row.valid_from, row.held_until,
            ),
        )  # fmt: skip

    def _add_body(self, body: bytes, text: str | None) -> str:
        """A body that is its own text, as of a plain document, is stored as that text alone."""
        if text is not None and body == text.encode():
            return _digest(body)
        return self._add_bytes("bodies", body, self._pack_body)

    def _add_text(self, text: str) -> str:
        return self._add_bytes("texts", text.encode(), self._pack_text)

    def _add_bytes(self, table: str, data: bytes, pack: zstandard.ZstdCompressor) -> str:
        digest = _digest(data)
        if not self._has(table, digest):
            self.connection.execute(
                f"INSERT INTO {table} VALUES (?, ?, ?)", (digest, len(data), pack.compress(data))
            )
        return digest

    def _has(self, table: str, digest: str) -> bool:
        rows = self.connection.execute(f"SELECT 1 FROM {table} WHERE digest = ?", (digest,))
        return rows.fetchone() is not None

    def _row(self, url: str) -> Fetch | None:
        """What answers for an address on the store's day."""
        for column in ("asked", "url"):
            row = self._recorded(column, url)
            if row is None and self.as_of is not None:
                row = self._version(column, url, f"{self.as_of}T23:59:59Z")
            if row is not None:
                return row
        return None

    def _recorded(self, column: str, url: str) -> Fetch | None:
        query = f"SELECT {COLUMNS} FROM fetches WHERE {_of(column)} AND stands "
        return self._one(
            query + "AND ifnull(as_of, '') = ? ORDER BY id LIMIT 1", url, self._day["day"]
        )

    def _version(self, column: str, url: str, until: str) -> Fetch | None:
        query = f"SELECT {COLUMNS} FROM fetches WHERE {_of(column)} AND valid_from <= ? "
        return self._one(query + "ORDER BY valid_from DESC, id DESC LIMIT 1", url, until)

    def _one(self, query: str, *values: str | None) -> Fetch | None:
        row = self.connection.execute(query, values).fetchone()
        return None if row is None else as_fetch(row)

    def _page(self, row: Fetch) -> Page:
        assert row.digest is not None
        assert row.text_digest is not None
        assert row.status is not None
        return Page.model_construct(
            url=row.url,
            status=row.status,
            content_type=row.content_type or "",
            body=self.body(row.digest),
            title=row.title or "",
            text=self.text(row.text_digest),
            fetched_at=row.fetched_at,
            headers=json.loads(row.headers) if row.headers else {},
            language=row.language,
            published=row.published,
            modified=row.modified,
            dates=days_of(row.dates),
            valid_from=row.valid_from if row.valid_from != utc_second(row.fetched_at) else None,
            held_until=row.held_until if row.held_until != row.valid_from else None,
            extractor=row.extractor or "",
        )

    def _unpacked(self, row: tuple[bytes, int] | None) -> bytes:
        if row is None:
            raise StorageError(
                f"{self.file} lacks the bytes of a page; run agent-env web pages verify"
            )
        try:
            return unpacked(self._unpack, *row)
        except zstandard.ZstdError as exc:
            raise StorageError(
                f"{self.file} has a broken page; run agent-env web pages verify"
            ) from exc

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as exc:
            raise StorageError(f"cannot read the page store {self.file}: {exc}") from exc

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, taken at once, so that what is read in it still holds when it ends."""
        try:
            with self.connection:
                self.connection.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.Error as exc:
            raise StorageError(f"cannot write the page store {self.file}: {exc}") from exc


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _of(column: str) -> str:
    """By the address that was asked for, or by the one of a page."""
    return "asked = ?" if column == "asked" else "url = ? AND body IS NOT NULL"


def _timed(row: Fetch) -> Fetch:
    """The row with its times; a page without any holds from when it was fetched."""
    start = row.valid_from or (None if row.error else utc_second(row.fetched_at))
    return replace(row, valid_from=start, held_until=row.held_until or start)
