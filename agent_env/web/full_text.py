"""Full-text search over stored pages with SQLite's FTS5; nothing leaves the machine."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Protocol

from agent_env.errors import SearchError
from agent_env.records.pages import Hit, Page

SNIPPET = 240
"""Characters of a page that a hit shows."""
BEFORE = 40
"""Characters of these before the first of the query's words."""
CANDIDATES = 60
MANY = 10_000
"""From so many pages on, a query's commonest words are not searched by."""
POSTINGS = 8_000
"""Places of words that one search of so large an index looks through, its rarest word apart."""
COVERAGE = 0.6
"""Part of a query's words that a page must hold to be a hit."""

_ADDRESS = re.compile(r" <https?://[^>\s]*>")
_WORD = re.compile(r"[^\W_]+")
_COMMON = frozenset(
    """a an and are as at be by date dates day days did do does during end ended exact first for
    from had has have he her his how in is it its last month of on or out she start started take
    that the their them then there they this to took was were what when where which who whole
    whose why will with year years""".split()
)


def words_of(text: str) -> list[str]:
    """The words that a search goes by, in lower case; common ones left out."""
    return [word for word in _WORD.findall(text.lower()) if word not in _COMMON]


class TitledText(Protocol):
    """What can be indexed, such as a page."""

    @property
    def url(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...


class FullText:
    """The SearchProvider over an index beside the pages."""

    name = "sealed"
    index = "fts5"
    """As run.json names it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5"
            "(title, text, url UNINDEXED, tokenize = 'unicode61 remove_diacritics 2')"
        )
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_words "
            "USING fts5vocab(main, search, row)"
        )

    @classmethod
    def in_memory(cls, pages: Iterable[TitledText]) -> FullText:
        """An index of these pages that is in no file."""
        index = cls(sqlite3.connect(":memory:"))
        index.add(pages)
        return index

    def close(self) -> None:
        """Give back what is in memory."""
        self._db.close()

    def add(self, pages: Iterable[TitledText]) -> None:
        """Index pages; each must be added once."""
        with self._db:
            self._db.executemany(
                "INSERT INTO search (title, text, url) VALUES (?, ?, ?)",
                ((page.title, page.text, page.url) for page in pages),
            )

    def finish(self) -> None:
        """Put the index in one piece, after the last page."""
        with self._db:
            self._db.execute("INSERT INTO search (search) VALUES ('optimize')")

    def size(self) -> int:
        """How many pages are indexed."""
        row = self._db.execute("SELECT count(*) FROM search_docsize").fetchone()
        return int(row[0])

    def remove(self) -> None:
        """Take the index out of the file."""
        with self._db:
            self._db.execute("DROP TABLE temp.search_words")
            self._db.execute("DROP TABLE search")

    def with_words(self, words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """Address, title and text of every page that holds all these words."""
        if words:
            yield from self._db.execute(
                "SELECT url, title, text FROM search WHERE search MATCH ? ORDER BY rowid",
                (" AND ".join(f'"{word}"' for word in words),),
            ).fetchall()

    async def search(self, query: str, limit: int) -> list[Hit]:
        """The pages that hold most of the query's words: first those titled just so, then by BM25
        with titles counting more."""
        words = list(dict.fromkeys(words_of(query)))
        if not words:
            return []
        try:
            rows = self._ranked(words)
            hits = titled_first(
                [Hit(url=url, title=title, snippet="") for url, title in rows], query
            )
            texts = ((hit, self._text(rows[hit.url, hit.title])) for hit in hits)
            shown = ((hit, text) for hit, text in texts if covers(hit.title, text, words))
            return [
                hit.model_copy(update={"snippet": snippet(text, words)})
                for hit, text in islice(shown, limit)
            ]
        except sqlite3.Error as exc:
            raise SearchError(f"full-text search failed: {exc}") from exc

    def _ranked(self, words: list[str]) -> dict[tuple[str, str], int]:
        """Address and title of the CANDIDATES by BM25, equal ones by address, with their rows. What
        is stored of a page is read for these alone: a word may be on thousands."""
        scores = self._db.execute(
            "SELECT bm25(search, 4.0, 1.0), rowid FROM search WHERE search MATCH ?",
            (" OR ".join(f'"{word}"' for word in self._rare_words(words)),),
        ).fetchall()
        if not scores:
            return {}
        last, _ = nsmallest(CANDIDATES, scores)[-1]
        by_row = {row: score for score, row in scores if score <= last}
        pages = self._db.execute(
            "SELECT rowid, url, title FROM search WHERE rowid IN (SELECT value FROM json_each(?))",
            (json.dumps([*by_row]),),
        ).fetchall()
        pages.sort(key=lambda page: (by_row[page[0]], page[1]))
        return {(url, title): row for row, url, title in pages[:CANDIDATES]}

    def _text(self, row: int) -> str:
        return str(
            self._db.execute("SELECT text FROM search WHERE rowid = ?", (row,)).fetchone()[0]
        )

    def _rare_words(self, words: list[str]) -> list[str]:
        return words if self.size() < MANY else rare_words(words, self._pages_with, POSTINGS)

    def _pages_with(self, word: str) -> int:
        row = self._db.execute(
            "SELECT doc FROM temp.search_words WHERE term = ?", (word,)
        ).fetchone()
        return 0 if row is None else int(row[0])


def rare_words(words: Iterable[str], pages_with: Callable[[str], int], most: int) -> list[str]:
    """The rarest words of a query, until together they are on `most` pages: in a large index
    pages are ranked by them anyhow, and each common one costs as much as the index is large."""
    spent, rare = 0, list[str]()
    for count, word in sorted((pages_with(word), word) for word in words):
        if rare and spent + count > most:
            break
        spent += count
        rare.append(word)
    return rare


def covers(title: str, text: str, words: list[str]) -> bool:
    """Whether a page holds enough of a query's words to be a hit."""
    page = f"{title} {text}".lower()
    held = sum(next(_places(page, word), None) is not None for word in words)
    return held >= COVERAGE * len(words)


def _places(text: str, word: str) -> Iterator[int]:
    """Where the word of letters and digits stands in the text as a whole word."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
            yield at
        at = text.find(word, end)


def hit_of(page: Page, words: Sequence[str]) -> Hit | None:
    """The page as the search shows it; None where it holds too few of a query's words."""
    if not covers(page.title, page.text, list(words)):
        return None
    return Hit(url=page.url, title=page.title, snippet=snippet(page.text, words))


def titled_first(hits: list[Hit], query: str) -> list[Hit]:
    """The hits in their order, but those first whose title is the query: a long article on a person
    says the name seldom for its length, and ranks below every short page that mentions it."""
    query_words = words_of(query)
    return sorted(hits, key=lambda hit: words_of(hit.title) != query_words)


def snippet(text: str, words: Iterable[str]) -> str:
    """The part of a page that holds most of the query's words, the first one of several; from the
    beginning of a line or a little before these words to the end of the line where they end. The
    addresses of links are left out."""
    plain = _ADDRESS.sub("", text)
    if len(plain) <= SNIPPET:
        return plain.replace("\n", " ")
    lower = plain.lower()
    places = [(0, ""), *sorted((at, word) for word in {*words} for at in _places(lower, word))]
    best, most, last = (0, 0), 0, 0
    held: Counter[str] = Counter()
    for at, word in places:
        while last < len(places) and places[last][0] < at + SNIPPET - BEFORE:
            held[places[last][1]] += 1
            last += 1
        if len(held) > most:
            best, most = (at, places[last - 1][0]), len(held)
        held[word] -= 1
        held += Counter()  # without zeros
    at, until = best
    begin = plain.rfind(" ", 0, max(at - BEFORE, 1)) + 1
    begin = max(begin, plain.rfind("\n", 0, at) + 1)
    line_end = plain.find("\n", max(until, begin + SNIPPET // 3))
    part = plain[begin : begin + SNIPPET]
    if 0 <= line_end <= begin + SNIPPET:
        part = plain[begin:line_end]
    elif begin + SNIPPET < len(plain):
        part = part.rsplit(" ", 1)[0] + " …"
    return ("… " if begin else "") + part.replace("\n", " ")
