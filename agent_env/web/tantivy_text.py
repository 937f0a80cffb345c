"""Full-text search with tantivy (the extra `search`), for stores where SQLite's becomes slow.

The index lies in a folder beside the store and can be deleted: it is made again from the texts
that the store holds. It is written to a folder of its own first and then put in its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent_env.errors import SearchError, StorageError
from agent_env.records.pages import Hit
from agent_env.records.safe_files import new_folder
from agent_env.web.full_text import CANDIDATES, COVERAGE, lead, titled_first, words_of

TITLE_BOOST = 4.0
WRITER_BYTES = 64 * 1024 * 1024
MARK = "made-from"
"""File in the folder that names the store's content."""


class TantivyText:
    """The SearchProvider over an index in a folder."""

    name = "sealed"
    index = "tantivy"
    """As run.json names it."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        self._tantivy: Any = tantivy
        self._analyzer = _analyzer(tantivy)
        self._index = tantivy.Index(_schema(tantivy), path=str(folder))
        self._index.register_tokenizer("words", self._analyzer)
        self._index.reload()
        self._schema = self._index.schema
        self._searcher = self._index.searcher()

    @classmethod
    def build(
        cls, folder: Path, content: str, texts: Iterable[tuple[str, str, str]]
    ) -> TantivyText:
        """Open the index of this content in `folder`, making it from (url, title, text) first
        where it is not there; StorageError where it cannot be written."""
        try:
            if not (folder / MARK).is_file() or (folder / MARK).read_text() != content:
                _make(folder, content, texts)
            return cls(folder)
        except (OSError, ValueError) as exc:
            raise StorageError(f"cannot keep the search index {folder}: {exc}") from exc

    async def search(self, query: str, limit: int) -> list[Hit]:
        """The pages that hold most of the query's words: first those titled just so, then by BM25
        with titles counting more."""
        words = dict.fromkeys(w for word in words_of(query) for w in self._analyzer.analyze(word))
        if not words:
            return []
        try:
            top = self._searcher.search(
                self._query(list(words)), limit=max(limit, CANDIDATES), count=False
            )
            docs = [(score, self._searcher.doc(at)) for score, at in top.hits]
        except ValueError as exc:
            raise SearchError(f"full-text search failed: {exc}") from exc
        docs.sort(key=lambda hit: (-hit[0], hit[1]["url"][0]))
        hits = [
            Hit(url=doc["url"][0], title=doc["title"][0], snippet=doc["lead"][0]) for _, doc in docs
        ]
        return titled_first(hits, query)[:limit]

    def _query(self, words: list[str]) -> Any:
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
        least = max(1, math.ceil(COVERAGE * len(words)))
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
            fields = {"url": url, "title": title, "text": text, "lead": lead(text)}
            writer.add_document(tantivy.Document(**fields))
        writer.commit()
        writer.wait_merging_threads()
        (part / MARK).write_text(content)


def _schema(tantivy: Any) -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw")
    builder.add_text_field("title", stored=True, tokenizer_name="words", index_option="freq")
    builder.add_text_field("text", stored=False, tokenizer_name="words", index_option="freq")
    builder.add_text_field("lead", stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


def _analyzer(tantivy: Any) -> Any:
    """Words in lower case without diacritics, as the FTS5 index has them."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold()).build()
