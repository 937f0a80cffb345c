"""A web that was built into a store, and its full-text search; nothing leaves the machine.

Where SQLite's becomes slow there is tantivy (the extra `search`): its index lies in a folder beside
the store, is made again from the texts that the store holds, and is put in its place when whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

from agent_env.errors import ConfigError, SearchError, StorageError, ToolError
from agent_env.records.pages import Hit, Page
from agent_env.records.safe_files import new_folder
from agent_env.web.full_text import (
    CANDIDATES,
    COVERAGE,
    FullText,
    covers,
    rare_words,
    snippet,
    titled_first,
    words_of,
)
from agent_env.web.opened import Web
from agent_env.web.page_store import SqlitePages

MANY = 20_000
"""Pages above which tantivy is used."""
BATCH = 500
"""Pages that are written in one transaction."""
Note = Callable[[str], None]
TextIndex: TypeAlias = "FullText | TantivyText"


def index_of(store: SqlitePages, note: Note) -> TextIndex:
    """The search over a built store: FTS5, or above MANY pages tantivy in the folder beside its
    file, made where it is not there. `note` says why a large one is served by the slower kind."""
    if _goes_by_tantivy(store, note):
        try:
            return TantivyText.build(store, note)
        except StorageError as exc:
            note(f"{store.size()} pages are searched by FTS5: {exc}")
    return FullText(store.connection) if _is_indexed(store) else FullText.in_memory(store.texts())


def make_index(store: SqlitePages, note: Note) -> None:
    """Indexes what was stored without an index, in the store's file or beside it."""
    if _has_index(store):
        FullText(store.connection).remove()
    if _goes_by_tantivy(store, note):
        index_of(store, note)
    else:
        index = FullText(store.connection)
        index.add(store.texts())
        index.finish()


def _goes_by_tantivy(store: SqlitePages, note: Note) -> bool:
    is_large, is_there = store.size() > MANY, find_spec("tantivy") is not None
    if is_large and not is_there:
        note(f"{store.size()} pages are searched by FTS5; faster: pip install 'agent-env[search]'")
    return is_large and is_there


def _has_index(store: SqlitePages) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE name = 'search'"
    return store.connection.execute(query).fetchone() is not None


def _is_indexed(store: SqlitePages) -> bool:
    """Whether the store's file has an FTS5 index of all its pages."""
    return _has_index(store) and FullText(store.connection).size() == store.size()


def _check_built(store: SqlitePages) -> None:
    sources = store.sources()
    for each in sources:
        if not each.is_whole:
            raise ConfigError(
                f"{store.file} holds {each.documents} documents of {each.name} and not the rest; "
                "import it again: it continues from there"
            )
    if not sources and not _has_index(store):
        raise ConfigError(
            f"{store.file} is not a built web: it has no search index; "
            "for pages that a run recorded use --web frozen"
        )


class PagesOfDay(Protocol):
    """What a built web serves on a day."""

    def has(self, url: str) -> bool: ...
    def as_web(self) -> Web: ...


class BuiltWeb:
    """Fetcher over a store that is never added to, with the search over it."""

    def __init__(self, store: SqlitePages, search: TextIndex, is_new: bool = False) -> None:
        self.store = store
        self.search = search
        self.is_new = is_new
        """Whether its file had no page."""

    @classmethod
    def begun(cls, file: Path, image: Callable[[], bytes] | None = None) -> Self:
        """The web in `file`, to be built where that is new; a new one begins as the image, and one
        that began so is only read from then on."""
        store = SqlitePages(file)
        is_new = next(store.urls(), None) is None
        if image is not None and not is_new:
            store.close()
            return cls.opened(file)
        if image is not None:
            store.copy_from(image())
        return cls(store, FullText(store.connection), is_new)

    @classmethod
    def opened(cls, file: Path, note: Callable[[str], None] = lambda text: None) -> Self:
        """The web that was built in `file`, for reading; ConfigError where it is none. `note` is
        told where a large one is searched by the slower of two indexes."""
        store = SqlitePages(file, read_only=True)
        try:
            _check_built(store)
            return cls(store, index_of(store, note))
        except BaseException:
            store.close()
            raise

    def add(self, pages: Iterable[Page]) -> int:
        """Stores and indexes all pages, a batch at a time; how many."""
        assert isinstance(self.search, FullText)  # as of one that was begun
        rest, count = iter(pages), 0
        while batch := list(islice(rest, BATCH)):
            self.store.put_all(batch)
            self.search.add(batch)
            count += len(batch)
        self.search.finish()
        return count

    async def fetch(self, url: str) -> Page:
        page = await self.store.get(url.split("#", 1)[0].strip())
        if page is None:
            raise self.no_page(url)
        return page

    @staticmethod
    def no_page(url: str) -> ToolError:
        """That there is none."""
        return ToolError(f"there is no page at {url}; open addresses that web_search gave")

    def has(self, url: str) -> bool:
        """Whether there is a page at this address."""
        row = self.store.row(url)
        return row is not None and row.error is None

    def on(self, day: str) -> PagesOfDay:
        """The web as it was on that day, YYYY-MM-DD; ConfigError where it has no such day."""
        raise ConfigError("this sealed web has no days; leave --today out")

    def close(self) -> None:
        """Gives the file back."""
        self.store.close()

    def as_web(self) -> Web:
        """What tools search and open; its store is to be closed."""
        return Web(
            self.search,
            self,
            foreign=False,
            store=self.store,
            index=self.search.index,
            days=lambda day: self.on(day).as_web(),
        )


TITLE_BOOST = 4.0
POSTINGS = 100_000
"""Places of words that one search looks through, its rarest word apart."""
WRITER_BYTES = 64 * 1024 * 1024
MARK = "made-from.3"
"""File in the folder that names the store's content."""


class TantivyText:
    """The SearchProvider over an index in a folder."""

    name = "sealed"
    index = "tantivy"
    """As run.json names it."""

    def __init__(self, folder: Path, store: SqlitePages) -> None:
        import tantivy

        self._store = store
        self._tantivy: Any = tantivy
        self._analyzer = _analyzer(tantivy)
        self._index = tantivy.Index(_schema(tantivy), path=str(folder))
        self._index.register_tokenizer("words", self._analyzer)
        self._index.reload()
        self._schema = self._index.schema
        self._searcher = self._index.searcher()

    @classmethod
    def build(cls, store: SqlitePages, note: Note) -> TantivyText:
        """The index of the store's pages in the folder beside its file, made first where it is not
        there; StorageError where it cannot be written."""
        folder = store.file.with_name(f"{store.file.name}.tantivy")
        mark = folder / MARK
        try:
            content = store.digest()
            if not mark.is_file() or mark.read_text() != content:
                note(f"indexing the pages of {store.file}")
                _make(folder, content, store.texts())
            return cls(folder, store)
        except (OSError, ValueError) as exc:
            raise StorageError(f"cannot keep the search index {folder}: {exc}") from exc

    def with_words(self, words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """Address, title and text of every page that holds all these words."""
        folded = [w for word in words for w in self._analyzer.analyze(word)]
        if folded:
            query = self._query(folded, len(folded))
            for _, at in self._searcher.search(query, limit=self._searcher.num_docs).hits:
                doc = self._searcher.doc(at)
                yield doc["url"][0], doc["title"][0], self._text(doc["url"][0])

    def _text(self, url: str) -> str:
        row = self._store.row(url)
        return "" if row is None or row.text_digest is None else self._store.text(row.text_digest)

    async def search(self, query: str, limit: int) -> list[Hit]:
        """The pages that hold most of the query's words: first those titled just so, then by BM25
        with titles counting more."""
        words = words_of(query)
        folded = list(dict.fromkeys(w for word in words for w in self._analyzer.analyze(word)))
        if not folded:
            return []
        rare = rare_words(folded, self._pages_with, POSTINGS)
        least = math.ceil(COVERAGE * len(folded)) - (len(folded) - len(rare))
        try:
            top = self._searcher.search(
                self._query(rare, max(1, least)), limit=max(limit, CANDIDATES), count=False
            )
            docs = [(score, self._searcher.doc(at)) for score, at in top.hits]
        except ValueError as exc:
            raise SearchError(f"full-text search failed: {exc}") from exc
        docs.sort(key=lambda hit: (-hit[0], hit[1]["url"][0]))
        hits = [Hit(url=doc["url"][0], title=doc["title"][0], snippet="") for _, doc in docs]
        shown: list[Hit] = []
        for hit in titled_first(hits, query):
            if len(shown) == limit:
                break
            text = self._text(hit.url)
            if len(rare) == len(folded) or covers(hit.title, text, words):
                shown.append(hit.model_copy(update={"snippet": snippet(text, words)}))
        return shown

    def _pages_with(self, word: str) -> int:
        return int(self._searcher.doc_freq("text", word))

    def _query(self, words: Sequence[str], least: int) -> Any:
        """Pages that hold at least so many of the words."""
        should, query = self._tantivy.Occur.Should, self._tantivy.Query
        either = [
            query.boolean_query(
                [
                    (should, query.boost_query(self._term("title", word), TITLE_BOOST)),
                    (should, self._term("text", word)),
                ]
            )
            for word in words
        ]
        return query.boolean_query(
            [(should, one) for one in either], minimum_number_should_match=least
        )

    def _term(self, field: str, word: str) -> Any:
        return self._tantivy.Query.term_query(self._schema, field, word, "freq")


def _make(folder: Path, content: str, texts: Iterable[tuple[str, str, str]]) -> None:
    import tantivy

    with new_folder(folder) as part:
        index = tantivy.Index(_schema(tantivy), path=str(part))
        index.register_tokenizer("words", _analyzer(tantivy))
        writer = index.writer(heap_size=WRITER_BYTES, num_threads=1)
        for url, title, text in texts:
            fields = {"url": url, "title": title, "text": text}
            writer.add_document(tantivy.Document(**fields))
        writer.commit()
        writer.wait_merging_threads()
        (part / MARK).write_text(content)


def _schema(tantivy: Any) -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw")
    builder.add_text_field("title", stored=True, tokenizer_name="words", index_option="freq")
    builder.add_text_field("text", stored=False, tokenizer_name="words", index_option="freq")
    return builder.build()


def _analyzer(tantivy: Any) -> Any:
    """Words in lower case without diacritics, as the FTS5 index has them."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold()).build()
