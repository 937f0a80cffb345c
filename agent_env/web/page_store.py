"""Pages in one SQLite file: each distinct body once, compressed, named by its digest.

Guaranteed: a put is atomic and survives a killed process; readers need no lock. One writer.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard

from agent_env.errors import StorageError
from agent_env.schema import Page

_SCHEMA = """
CREATE TABLE IF NOT EXISTS bodies (digest TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (
    url TEXT PRIMARY KEY, digest TEXT NOT NULL REFERENCES bodies, status INTEGER NOT NULL,
    content_type TEXT NOT NULL, title TEXT NOT NULL, text BLOB NOT NULL, fetched_at TEXT NOT NULL
) WITHOUT ROWID;
"""


class SqlitePages:
    """The PageStore over a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._pack = zstandard.ZstdCompressor(level=3)
        self._unpack = zstandard.ZstdDecompressor()
        try:
            self.connection = sqlite3.connect(file)
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.executescript(_SCHEMA)
        except sqlite3.Error as exc:
            raise StorageError(f"cannot open the page store {file}: {exc}") from exc

    def close(self) -> None:
        """Give the file back."""
        self.connection.close()

    async def get(self, url: str) -> Page | None:
        row = self.connection.execute(
            "SELECT url, status, content_type, body, title, text, fetched_at "
            "FROM pages JOIN bodies USING (digest) WHERE url = ?",
            (url,),
        ).fetchone()
        return None if row is None else self._page(row)

    async def put(self, page: Page) -> str:
        (digest,) = self.put_all([page])
        return digest

    def put_all(self, pages: Iterable[Page]) -> list[str]:
        """Store many pages in one transaction; their digests in order."""
        try:
            with self.connection:
                return [self._put(page) for page in pages]
        except sqlite3.Error as exc:
            raise StorageError(f"cannot write the page store {self.file}: {exc}") from exc

    def _put(self, page: Page) -> str:
        digest = hashlib.sha256(page.body).hexdigest()
        self.connection.execute(
            "INSERT OR IGNORE INTO bodies VALUES (?, ?)", (digest, self._pack.compress(page.body))
        )
        self.connection.execute(
            "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                page.url,
                digest,
                page.status,
                page.content_type,
                page.title,
                self._pack.compress(page.text.encode()),
                page.fetched_at,
            ),
        )
        return digest

    def urls(self) -> Iterator[str]:
        """All addresses, sorted."""
        for (url,) in self.connection.execute("SELECT url FROM pages ORDER BY url"):
            yield url

    def _page(self, row: tuple[str, int, str, bytes, str, bytes, str]) -> Page:
        url, status, content_type, body, title, text, fetched_at = row
        return Page(
            url=url,
            status=status,
            content_type=content_type,
            body=self._unpack.decompress(body),
            title=title,
            text=self._unpack.decompress(text).decode(),
            fetched_at=fetched_at,
        )
