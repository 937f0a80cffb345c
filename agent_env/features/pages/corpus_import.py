"""Files of other programs into a page store, with the index that searches them.

A batch of pages, their index and how far the source was read are one transaction: what was
imported stays whatever happens next, and the same command continues after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from agent_env.features.pages.corpus import documents, form_of, parse_columns, source_digest
from agent_env.features.pages.warc import import_warc
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.inside import BATCH, Source, make_index, now
from agent_env.sdk.web import Page, SqlitePages

CACHE_KIB = 262_144
"""Of SQLite, so that the indexes of a million addresses are not read again and again."""
Note = Callable[[str], None]


def import_files(
    store: Path, files: Sequence[Path], columns: str, note: Note, is_strict: bool = False
) -> Iterator[Source]:
    """Adds what each file holds, and then makes the index; how far each source was read, before it
    is and after each batch. `note` gets a line for each document that is left out; with `is_strict`
    the first of them is a ConfigError. `columns`: such as `url=link,text=body`."""
    named = parse_columns(columns)
    forms = {file: form_of(file) for file in files}  # refused before anything is read
    is_new = not store.exists()
    with closing(SqlitePages(store)) as pages:
        pages.connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        try:
            for file, form in forms.items():
                if form == "warc":
                    yield from _import_warc(pages, file, note)
                else:
                    yield from _import_documents(pages, file, columns, named, note, is_strict)
        except ConfigError:
            if is_new and not pages.size():
                pages.close()
                store.unlink()
            raise
        make_index(pages, note)


def _import_warc(store: SqlitePages, file: Path, note: Note) -> Iterator[Source]:
    source = _source(store, file, "")
    if source.is_whole:
        yield source
        return
    result = import_warc(store, file, note)
    left_out = sum(result.left_out.values())
    source = replace(source, documents=result.pages + left_out, pages=result.pages,
                     left_out=left_out, is_whole=True)  # fmt: skip
    store.note_source(source)
    skipped = ", ".join(f"{n} {why}" for why, n in result.left_out.items()) or "nothing"
    also = "".join(f", {n} {what}" for what, n in result.without_page.items())
    note(f"{result.pages} pages and {result.searches} searches are new{also}; left out: {skipped}")
    if result.ties:
        note(f"{result.ties} versions share their second with one stored later, which is served")
    yield source


def _import_documents(
    store: SqlitePages,
    file: Path,
    columns: str,
    named: Mapping[str, str],
    note: Note,
    is_strict: bool,
) -> Iterator[Source]:
    source = _source(store, file, columns)
    yield source
    rows = iter(()) if source.is_whole else documents(file, named, source.documents, now())
    for batch in _batches(rows):
        reasons = {place: row for place, row in batch if isinstance(row, str)}
        if is_strict and reasons:
            first = next(iter(reasons))
            batch, reasons = _until(first, batch), {first: reasons[first]}
        pages = {place: row for place, row in batch if isinstance(row, Page)}
        source, is_new = store.put_new(list(pages.values()), replace(
            source, documents=source.documents + len(batch),
            left_out=source.left_out + len(batch) - len(pages),
        ))  # fmt: skip
        for (place, page), new in zip(pages.items(), is_new, strict=True):
            if new is False:
                reasons[place] = f"another document has its address {page.url}"
        for place, reason in reasons.items():
            problem = f"{file.name}, {place}: {reason}"
            if is_strict:
                raise ConfigError(f"{problem}; what came before is imported")
            note(f"left out {problem}")
        yield source
    if not source.is_whole:
        source = replace(source, is_whole=True)
        store.note_source(source)
        yield source


_Batch = list[tuple[str, Page | str]]


def _until(place: str, batch: _Batch) -> _Batch:
    return batch[: [each for each, _ in batch].index(place)]


def _batches(rows: Iterable[tuple[str, Page | str]]) -> Iterator[_Batch]:
    """Also what was read before an error ends the reading."""
    batch: _Batch = []
    try:
        for row in rows:
            batch.append(row)
            if len(batch) == BATCH:
                yield batch
                batch = []
    except ConfigError:
        yield batch
        raise
    yield batch


def _source(store: SqlitePages, file: Path, columns: str) -> Source:
    """How far the file was read before; ConfigError where it cannot be."""
    digest = source_digest(file)
    known = {(each.digest, each.columns): each for each in store.sources()}
    return known.get((digest, columns)) or Source(digest, columns, file.name)
