"""Whether the sealed web of a day tells nothing later, and what such days cost.

Run: python benchmarks/aging_worlds.py (a minute, one core). Reads every page of the shipped tables,
of an invented world and of temporal tables on 20 days. The reader of dates below shares nothing
with the code that writes pages.
"""

from __future__ import annotations

import asyncio
import html
import re
import statistics
import time
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from random import Random

from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.features.facts.fiction.world import make_world
from agent_env.features.facts.sealed import AgingWorld, DayWeb, SealedWeb
from agent_env.features.facts.site.sheet import LEVELS
from agent_env.features.facts.tables.tables import FactTables, shipped_tables

MONTHS = (
    "january february march april may june july august september october november december".split()
)
_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
_DATES = re.compile(
    r"(?P<iso>\b[12]\d{3}([-/])\d\d(?:\2\d\d)?\b)"
    rf"|\b(?P<day>\d\d?)(?:st|nd|rd|th)? (?P<month>{_MONTH})\.?,? (?P<year>[12]\d{{3}})\b"
    rf"|\b(?P<us_month>{_MONTH})\.? (?P<us_day>\d\d?)(?:st|nd|rd|th)?, (?P<us_year>[12]\d{{3}})\b"
    rf"|\b(?P<only_month>{_MONTH})\.?,? (?P<of_year>[12]\d{{3}})\b"
    r"|(?<![\dA-Za-z])(?P<bare>[12]\d{3})(?:s|'s)?(?![\dA-Za-z])",
    re.IGNORECASE,
)
_YEAR = re.compile(r"[12]\d{3}")
_BLOCK = re.compile(r"</?(?:p|tr|li|ul|table|main|article|title|head|body)\b[^>]*>")
_PLAN = re.compile(r"\bis planned\b|^\W*Planned ")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n")


def later_dates(text: str, today: date) -> Iterator[str]:
    """Every date, month and year of the text that begins after the day, with its sentence; in a
    sentence that says planned, those that do not."""
    for sentence in filter(_YEAR.search, _SENTENCE.split(text)):
        is_plan = _PLAN.search(sentence) is not None
        for match in _DATES.finditer(sentence):
            first = _first_day(match)
            if first is not None and (first > today) != is_plan:
                yield f"{match[0]} in: {sentence.strip()[:160]}"


def _first_day(match: re.Match[str]) -> date | None:
    """None for numbers that are no date."""
    if match["iso"]:
        year, month, day = (*map(int, re.split("[-/]", match["iso"])), 1)[:3]
    elif match["bare"]:
        year, month, day = int(match["bare"]), 1, 1
    else:
        name = match["month"] or match["us_month"] or match["only_month"]
        month = [each[:3] for each in MONTHS].index(name[:3].lower()) + 1
        year = int(match["year"] or match["us_year"] or match["of_year"])
        day = int(match["day"] or match["us_day"] or 1)
    try:
        return date(year, month, day)
    except ValueError:
        return None


def leaks(pages: Iterable[tuple[str, str, str, str]], today: date) -> list[str]:
    """What pages (address, title, text, HTML) say of later days."""
    return [
        f"{url}: {leak}"
        for url, title, text, body in pages
        for part in (
            url,
            title,
            text,
            html.unescape(re.sub("<[^>]*>", " ", _BLOCK.sub("\n", body))),
        )
        for leak in later_dates(part, today)
    ]


# What is measured -------------------------------------------------------------------------------

ENTITIES, SEED = 370, 3
"""Of an invented world of 1,300 pages."""


def main() -> None:
    """Print every figure."""
    shipped, invented = shipped_tables(), make_world(ENTITIES, SEED)
    cost("shipped", shipped, 1806)
    cost("invented", invented, 1802)
    search_and_open(shipped)
    reading(shipped, invented)


def random_days(count: int, first: int) -> list[date]:
    """Days of these years, drawn with a fixed seed, in order."""
    rng = Random(first)
    return sorted(
        date(rng.randint(first, 2025), rng.randint(1, 12), rng.randint(1, 28)) for _ in range(count)
    )


def reading(shipped: FactTables, invented: FactTables) -> None:
    """Every page of 20 days by the reader above."""
    temporal = make(60, SEED, TdbenchOptions(rows=80)).tables
    worlds = {
        "shipped, medium": AgingWorld(shipped, LEVELS["medium"]),
        "shipped, hard, with tables": AgingWorld(shipped, LEVELS["hard"], temporal),
        "invented, hard": AgingWorld(invented, LEVELS["hard"]),
    }
    days = random_days(20, 1830)
    for name, world in worlds.items():
        pages, found, planned = 0, [], 0
        for day in days:
            sheets = world.on(day).sheets.values()
            pages += len(sheets)
            planned += sum("is planned and" in sheet.text for sheet in sheets)
            found += leaks(((s.url, s.title, s.text, s.html) for s in sheets), day)
        print(f"{name}: {pages} pages on 20 days, {planned} announcements, {len(found)} leaks")
        print(*found[:5], sep="\n", end="")


def cost(name: str, tables: FactTables, first: int) -> None:
    """CPU and memory of 50 days with their searches."""
    full = sum(1 for _ in AgingWorld(tables, LEVELS["medium"]).on(date(2026, 1, 2)).urls())
    days = random_days(50, first)
    memory, began = resident_mb(), time.process_time()
    world = AgingWorld(tables, LEVELS["medium"])
    pages = 0
    for day in days:
        web = world.on(day)
        asyncio.run(web.search("first of its kind", 1))
        pages += len(web.sheets)
    spent = time.process_time() - began
    print(
        f"{name}, {full} pages in the end: 50 days with {pages} pages in {spent:.2f} CPU-s, "
        f"{resident_mb() - memory:.0f} MB more"
    )
    began = time.process_time()
    world.on(date(2026, 1, 2))
    print(f"{name}: one more day in {1000 * (time.process_time() - began):.0f} ms of CPU")


def resident_mb() -> float:
    """What the process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def search_and_open(tables: FactTables) -> None:
    """The same queries and addresses on the web without a day and on a day after all of it."""
    plain = SealedWeb.shipped(Path(":memory:"))
    aged = AgingWorld(tables, LEVELS["medium"]).on(date(2026, 1, 2))
    queries = [row.hint or row.event for row in tables.events]
    urls = [url for url in plain.urls() if url in aged.sheets]

    async def ask(web: SealedWeb | DayWeb, kind: str) -> list[float]:
        spent = []
        for each in queries if kind == "search" else urls:
            began = time.process_time()
            if kind == "open":
                await web.fetch(each)
            else:
                await (web.search.search if isinstance(web, SealedWeb) else web.search)(each, 5)
            spent.append(1000 * (time.process_time() - began))
        return spent

    asyncio.run(aged.search("once, to make the index", 1))
    for kind in ("search", "open"):
        rounds = [(ask(plain, kind), ask(aged, kind)) for _ in range(3)]
        medians = [
            min(statistics.median(asyncio.run(one[place])) for one in rounds) for place in (0, 1)
        ]
        print(f"{kind}: {medians[0]:.3f} ms of CPU without a day, {medians[1]:.3f} on a day")
    plain.close()


if __name__ == "__main__":
    main()
