"""What the web costs: the page store, full-text search, extraction, guards; figures by CPU time.
What the sealed web is: its words, its repeated sentences, and how it is found by search.

    python -m benchmarks.web            # all; about four minutes
    python -m benchmarks.web --small    # a tenth of it
    python -m benchmarks.web --sealed   # the sealed web alone

Pages are made from a seed with a vocabulary of 20,000 words drawn by Zipf's law, as texts are.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

from agent_env.families.time_puzzles.candidates import event_facts
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.guarantees import proofs_of
from agent_env.families.time_puzzles.reference_lookups import find_thoroughly, read_constraint
from agent_env.families.time_puzzles.wording import Wording
from agent_env.features.facts.fiction.world import make_world
from agent_env.features.facts.sealed import SealedWeb, shipped_image
from agent_env.features.facts.site.render import render_all
from agent_env.features.facts.site.sheet import LEVELS
from agent_env.features.facts.tables.articles import article_url, event_title
from agent_env.features.facts.tables.tables import EventRow, FactTables, shipped_tables
from agent_env.features.reference.turns import History, _hits
from agent_env.records.manifest import WebSettings
from agent_env.records.pages import Page
from agent_env.temporal.days import PUZZLE_DAYS
from agent_env.testing import puzzle
from agent_env.tools.builtin.open_page import OpenPage
from agent_env.tools.builtin.web_search import WebSearch
from agent_env.web.extract import extract
from agent_env.web.full_text import FullText
from agent_env.web.guards import Guard
from agent_env.web.page_store import SqlitePages
from benchmarks.extraction import pages as built_pages

WORDS = [hashlib.sha256(str(n).encode()).hexdigest()[: 3 + n % 8] for n in range(20_000)]
WEIGHTS = [1 / (n + 1) for n in range(len(WORDS))]
SIZE = 100_000
ADDRESS = re.compile(r" <https?://[^>]*>")
SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")


def main() -> None:
    if "--sealed" in sys.argv:
        sealed_web()
        return
    part = 10 if "--small" in sys.argv else 1
    with tempfile.TemporaryDirectory() as where:
        store_speed(Path(where), 1000 // part)
        shared_page(Path(where))
        search_speed(Path(where), 50_000 // part)
    extraction_speed()
    guard_speed()
    sealed_web()


def sealed_web() -> None:
    """Each world by itself; then the store of the shipped one, and a first run of 60 episodes."""
    for name, tables in {"real": shipped_tables(), "fictional": make_world(400, seed=3)}.items():
        for level in ("medium", "hard"):
            sheets = list(render_all(tables, LEVELS[level]))
            own = {article_url(event_title(row.event)) for row in tables.events if row.start}
            plain = {sheet.url: ADDRESS.sub("", sheet.text) for sheet in sheets}
            lengths = [len(plain[url].split()) for url in sorted(own)]
            prose = (
                {each for line in text.splitlines() if line[-1:] in ".!?"
                 for each in SENTENCE_END.split(line)} for text in plain.values()
            )  # fmt: skip
            sentences = Counter(each for page in prose for each in page)
            again = sum(count > 1 for count in sentences.values()) / len(sentences)
            web = SealedWeb.build(Path(":memory:"), tables, LEVELS[level])
            ranks = Counter(rank_of(web, row) for row in tables.events)
            proved = list(proofs_found(web, tables))
            web.close()
            print(
                f"sealed web, {name}, {level}: {len(sheets)} pages, {len(own)} articles of events"
            )
            print(
                f"  words of an article        {statistics.median(lengths):9.0f} median, least "
                f"{min(lengths)}"
            )
            print(
                f"  sentences on several pages {again:9.2%}; the commonest is on "
                f"{max(sentences.values()) / len(sheets):.2%} of the pages"
            )
            first, among = (n / ranks.total() for n in (ranks[0], ranks.total() - ranks[None]))
            print(f"  found by description       {among:9.1%} in the first 10, {first:.1%} first")
            print(f"  proof by four searches     {sum(proved) / len(proved):9.1%} of the events")
    shipped_tables()
    told("the shipped web, built", [spent(shipped_image.__wrapped__) for _ in range(7)])
    with tempfile.TemporaryDirectory() as where:
        command = [sys.executable, "-m", "agent_env", "run", "time-puzzles", "--model", "reference",
                   "--condition", "web", "--limit", "60", "--out"]  # fmt: skip
        took = []
        for n in range(5):
            before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            subprocess.run([*command, f"{where}/{n}"], check=True, capture_output=True)
            took.append((sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before) * 1000)
    told("a first run of 60 episodes", took)


def rank_of(web: SealedWeb, row: EventRow) -> int | None:
    """Where the article stands among the first ten results for the event's description."""
    hits = asyncio.run(web.search.search(row.hint or row.event, 10))
    url = article_url(event_title(row.event))
    return next((n for n, hit in enumerate(hits) if hit.url == url), None)


def proofs_found(web: SealedWeb, tables: FactTables) -> Iterator[bool]:
    """Of each event, whether the reference opens a proving page after at most four searches."""
    sets = DaySets(PUZZLE_DAYS, tables)
    wording = Wording(tables, sets)
    tools = {"web_search": WebSearch(web.search), "open_page": OpenPage(web)}
    for fact in filter(None, (next(iter(event_facts(row)), None) for row in tables.events)):
        lookup, history = read_constraint(wording.implicit(fact)), History()
        while (state := find_thoroughly(lookup, history, set(tools))).call:
            name, arguments = state.call
            output = asyncio.run(tools[name].run(dict(arguments))).output
            if name == "web_search":
                history.searches[arguments["query"]] = _hits(output)
            else:
                history.pages[arguments["url"]] = output
        urls = proofs_of([fact], sets)[0].urls
        yield state.url in urls and len(history.searches) <= 4


def text_of(rng: Random, size: int) -> str:
    words = rng.choices(WORDS, WEIGHTS, k=size // 6)
    return " ".join(words)[:size]


def made(number: int, size: int) -> Page:
    text = text_of(Random(number), size)
    return Page(
        url=f"https://site{number % 97}.example/{number}",
        status=200,
        content_type="text/html; charset=utf-8",
        body=f"<html><body><p>{text}</p></body></html>".encode(),
        title=" ".join(text.split()[:6]),
        text=text,
        fetched_at="2026-01-01T00:00:00+00:00",
        extractor="x/1",
    )


def store_speed(where: Path, count: int) -> None:
    pages = [made(n, SIZE) for n in range(count)]
    store = SqlitePages(where / "store.db")
    wrote = [spent(lambda page=page: store.keep(page.url, page, "")) for page in pages]
    store.close()
    store = SqlitePages(where / "store.db", read_only=True)
    read = [spent(lambda page=page: store.outcome(page.url)) for page in pages]
    size = (where / "store.db").stat().st_size
    print(f"store: {count} pages of {SIZE // 1000} kB, each written for itself, then read")
    told("write", wrote)
    told("read, bytes and text", read)
    print(f"  file                       {size / 1e6:9.1f} MB of {count * SIZE * 2 / 1e6:.0f}")
    took = spent(store.digest)
    print(f"  digest of the whole store  {took:9.2f} ms")
    store.close()


def shared_page(where: Path) -> None:
    """Three pages, each read by 200 episodes that record."""
    store = SqlitePages(where / "shared.db")
    pages = [made(n, SIZE) for n in range(3)]
    for _ in range(200):
        for page in pages:
            store.keep(page.url, page, "")
    (bodies,) = store.connection.execute("SELECT count(*) FROM bodies").fetchone()
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = (where / "shared.db").stat().st_size
    print(
        f"shared: 3 pages cited by 200 episodes: {bodies} bodies, {size / 200:.0f} bytes an episode"
    )
    store.close()


def search_speed(where: Path, count: int) -> None:
    store = SqlitePages(where / "search.db")
    index = FullText(store.connection)
    since = time.process_time()
    for first in range(0, count, 1000):
        index.add(made(n, 1500) for n in range(first, min(count, first + 1000)))
    print(f"search: {count} pages of 1.5 kB, indexed in {time.process_time() - since:.0f} s (CPU)")
    rng = Random(1)
    for name, kinds in {
        "three rare words": [(500, 20_000)] * 3,
        "a common and two rare": [(5, 50), (500, 20_000), (500, 20_000)],
        "five words of all kinds": [(5, 50), (50, 500), (50, 500), (500, 20_000), (500, 20_000)],
        "three common words": [(5, 50)] * 3,
    }.items():
        queries = [" ".join(WORDS[rng.randrange(*kind)] for kind in kinds) for _ in range(60)]
        told(name, [spent(lambda q=q: asyncio.run(index.search(q, 5))) for q in queries])
    store.close()


def extraction_speed() -> None:
    pages = [page.html.encode() for page in built_pages()]
    took = [
        spent(lambda html=html: extract(html)) / len(html) * SIZE for html in pages for _ in "123"
    ]
    print(f"extraction: {len(pages)} pages, for 100 kB")
    told("with language and dates", took)


def guard_speed() -> None:
    page, guard = made(1, SIZE), Guard.of(puzzle(), WebSettings(as_of="2020-01-01"))
    print("guards: a page of 100 kB")
    told("all of them", [spent(lambda: guard.page(page)) for _ in range(30)])


def spent(act: Callable[[], object]) -> float:
    """CPU milliseconds."""
    since = time.process_time()
    act()
    return (time.process_time() - since) * 1000


def told(name: str, figures: Iterable[float]) -> None:
    ordered = sorted(figures)
    p90 = ordered[int(len(ordered) * 0.9)]
    print(f"  {name:26} {statistics.median(ordered):9.2f} ms median, {p90:.2f} p90")


if __name__ == "__main__":
    main()
