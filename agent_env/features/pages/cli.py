"""Stored pages and searches."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.sdk.commands import Opt, say
from agent_env.sdk.inside import can_redraw, raw

if TYPE_CHECKING:
    from agent_env.sdk.inside import Fetch, Source
    from agent_env.sdk.web import SqlitePages

Store = Annotated[Path, typer.Argument(help="A page store, or the folder of a run.")]
AsJson = Annotated[bool, Opt("Print JSON, for machines.", flag="--json")]
AsOf = Annotated[str | None, Opt("YYYY-MM-DD: the versions of that day.", flag="--as-of")]


def _open(file: Path, read_only: bool = True, as_of: str | None = None) -> SqlitePages:
    from agent_env.sdk.inside import as_of_day, store_path
    from agent_env.sdk.web import SqlitePages

    day = None if as_of is None else as_of_day(as_of)
    return SqlitePages(store_path(file), read_only, day)


def list_pages(
    file: Store,
    every: Annotated[bool, Opt("All versions and earlier answers.", flag="--all")] = False,
    searches: Annotated[bool, Opt("Searches, not pages.")] = False,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """List what a store holds, a line each.

    Example: agent-env web pages list runs/first
    """
    store = _open(file, as_of=as_of)
    if searches:
        for search in store.searches():
            outcome = search.error or f"{len(search.hits or ())} results"
            row = [search.provider, str(search.limit), search.query, outcome]
            print(json.dumps(row) if as_json else "  ".join(row))
        return
    for fetch in store.fetches(stands_only=not every):
        print(json.dumps(_as_json(fetch)) if as_json else _line(fetch, store.as_of))


def _as_json(fetch: Fetch) -> dict[str, object]:
    from dataclasses import asdict

    fields = asdict(fetch)
    return {**fields, "headers": json.loads(fetch.headers) if fetch.headers else {}}


def _line(fetch: Fetch, as_of: str | None) -> str:
    from agent_env.sdk.inside import days_before

    digest = fetch.digest[:12] if fetch.digest else "-" * 12
    address = fetch.asked if fetch.asked == fetch.url else f"{fetch.asked} -> {fetch.url}"
    note = fetch.error or fetch.title or ""
    at = fetch.valid_from or fetch.fetched_at
    if as_of is not None and (days := days_before(fetch.held_until or "", as_of)) is not None:
        at += f" ({days} days before)"
    return f"{digest}  {fetch.status or '---'}  {at}  {address}  {note}"


def show(
    file: Store,
    page: Annotated[str, typer.Argument(help="An address, or the beginning of a digest.")],
    raw: Annotated[bool, Opt("The bytes as they came.")] = False,
    as_of: AsOf = None,
) -> None:
    """Print a page as models read it, or its bytes.

    Example: agent-env web pages show runs/first https://example.org/
    """
    from agent_env.sdk.errors import ConfigError
    from agent_env.sdk.web import page_key

    store = _open(file, as_of=as_of)
    key = page_key(page)
    fetch = next(
        (
            row
            for row in store.fetches(stands_only=as_of is not None)
            if key in (row.asked, row.url)
            or (len(page) >= 6 and (row.digest or "").startswith(page))
        ),
        None,
    )
    if fetch is None:
        raise ConfigError(f"{store.file} has no page {page}; agent-env web pages list names them")
    if fetch.digest is None:
        print(f"{fetch.asked}\nnot stored: {fetch.error}")
    elif raw:
        body = store.body(fetch.digest)
        if sys.stdout.isatty():
            print(body.decode(errors="replace"))
        else:
            sys.stdout.buffer.write(body)
    else:
        fields = {k: v for k, v in _as_json(fetch).items() if v is not None}
        print("\n".join(f"{name}: {value}" for name, value in fields.items()), end="\n\n")
        print(store.text(fetch.text_digest or ""))


def verify(file: Store, as_json: AsJson = False) -> None:
    """Check every page against its digest; exit code 1 where something is wrong.

    Example: agent-env web pages verify runs/first
    """
    from dataclasses import asdict

    from agent_env.sdk.inside import problems

    store = _open(file)
    defects = list(problems(store))
    counts = Counter("failures" if row.error else "pages" for row in store.fetches())
    summary = {
        "pages": counts["pages"],
        "failures": counts["failures"],
        "searches": sum(1 for _ in store.searches()),
        "digest": store.digest(),
        "sources": [asdict(source) for source in store.sources()],
        "problems": defects,
    }
    if as_json:
        print(json.dumps(summary))
    else:
        for name, value in summary.items():
            print(f"{name:10} {len(value) if isinstance(value, list) else value}")
        for problem in defects:
            print(problem)
    if defects:
        sys.exit(1)


def leaks(
    file: Store,
    as_of: Annotated[str, Opt("YYYY-MM-DD: pages as of this day.")],
    as_json: AsJson = False,
) -> None:
    """Count and list a store's pages that may tell of days after one, with what shows it.

    Example: agent-env web pages leaks runs/first --as-of 2020-01-01
    """
    from agent_env.sdk.inside import CHANGED, LATER, MENTIONS, NO_DATE, as_of_day, dates_of
    from agent_env.sdk.inside import AsOf as WebAsOf

    day = WebAsOf(as_of_day(as_of))
    store = _open(file, as_of=day.day)
    if next(store.fetches(), None) is None:  # nothing of the day: what there is now
        store = _open(file)
    findings = {
        row.asked: day.look(dates_of(page), f"{page.title}\n{page.text}", page.fetched_at)
        for row in store.fetches()
        if row.error is None and (page := store.page(row))
    }
    flags = Counter(flag for each in findings.values() for flag in each.flags)
    names = {"dated later": LATER, "changed later": CHANGED, "undated": NO_DATE,
             "mentioning later days": MENTIONS}  # fmt: skip
    counts = {"pages": len(findings), **{name: flags[flag] for name, flag in names.items()}}
    flagged = {url: each for url, each in findings.items() if each.flags}
    if as_json:
        leaky = [
            {"url": url, "flags": each.flags, "mention": each.mention,
             "latest": None if each.latest is None else each.latest.model_dump()}
            for url, each in flagged.items()
        ]  # fmt: skip
        print(json.dumps({"as_of": day.day, **counts, "flagged": leaky}))
        return
    for name, count in counts.items():
        print(f"{name:22} {count}")
    for url, each in flagged.items():
        date = each.latest
        what = None if date is None else f"{date.day} {date.kind} ({date.source})"
        print("  ".join(filter(None, [",".join(each.flags), url, what, each.mention])))


def merge(
    out: Annotated[Path, typer.Argument(help="The store to add to; created if missing.")],
    others: Annotated[list[Path], typer.Argument(help="Stores to merge in.")],
) -> None:
    """Take other stores into one; where both have an answer, that of the first is kept.

    Example: agent-env web pages merge all.db runs/first runs/second
    """
    from agent_env.sdk.inside import merge as merge_stores

    sources = [_open(other) for other in others]
    store = _open(out, read_only=False)
    ties = store.ties()
    for source in sources:
        result = merge_stores(store, source)
        print(
            f"{source.file}: {result.pages} pages and {result.searches} searches were new, "
            f"{result.differing} differ from what stands"
        )
    if count := store.ties() - ties:
        print(f"{count} versions share their second with one stored later, which is served")
    if store.sources():
        from agent_env.sdk.inside import make_index

        make_index(store, say)


def export(
    file: Store,
    warc: Annotated[Path, typer.Argument(help="The WARC file to write; .warc.gz is compressed.")],
) -> None:
    """Write a store as a WARC file.

    Example: agent-env web pages export runs/first first.warc.gz
    """
    from agent_env.features.pages.warc import export_warc

    print(f"{export_warc(_open(file), warc)} pages in {warc}")


def import_pages(
    file: Annotated[Path, typer.Argument(help="The store to add to; created if missing.")],
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Files (.jsonl, .jsonl.gz, .jsonl.zst, .parquet, .warc, .warc.gz), or folders of "
            ".html, .md and .txt."
        ),
    ],
    columns: Annotated[
        str, Opt("ROLE=COLUMN,…: url, id, title, text, html; default: by their usual names.")
    ] = "",
    strict: Annotated[bool, Opt("Stop at the first document that cannot be imported.")] = False,
) -> None:
    """Add documents of other programs to a store, and make the index that searches them. An import
    that was stopped continues where it was.

    Example: agent-env web pages import corpus.db wiki.parquet --columns url=link,text=body
    """
    from agent_env.features.pages.corpus_import import import_files

    line = _Progress()
    read: dict[str, Source] = {}
    try:
        for source in import_files(file, sources, columns, line.above, strict):
            read[source.digest] = source
            line.show(source)
    except KeyboardInterrupt:
        line.end()
        say(f"stopped; what was read is kept in {file}: run the same command to continue")
        raise
    finally:
        line.end()
    for source in read.values():
        print(
            f"{source.name} ({source.digest[:12]}): {source.documents} documents, {source.pages} "
            f"pages, {source.duplicates} there already, {source.left_out} left out"
        )


class _Progress:
    """A line on the terminal that says how far the import is; nothing without a terminal."""

    def __init__(self) -> None:
        self._redraws = can_redraw(sys.stderr)
        self._began, self._shown, self._first = monotonic(), 0.0, 0
        self._name: str | None = None

    def show(self, source: Source) -> None:
        """How far a source was read, at most twice a second."""
        now = monotonic()
        if source.name != self._name:
            self._name, self._began, self._first = source.name, now, source.documents
        if self._redraws and now - self._shown > 0.5:
            rate = (source.documents - self._first) / max(now - self._began, 0.001)
            text = f"{source.name}: {source.documents:,} documents, {rate:,.0f} a second"
            self._shown = now
            print(f"\r{text}\x1b[K", end="", file=raw(sys.stderr), flush=True)

    def above(self, text: str) -> None:
        """A line for the user, above that one."""
        self.end()
        say(text)

    def end(self) -> None:
        """Leaves the terminal's line."""
        if self._shown:
            print("\r\x1b[K", end="", file=raw(sys.stderr), flush=True)
        self._shown = 0.0
