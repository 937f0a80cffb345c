"""A page before it is written: its HTML, the text of an extraction, and how hard it is to read.

Both are made from the same blocks, so that an index of the sealed web is made without parsing HTML.
What a page is in truth (of the tables, or invented to mislead) is in a comment and a `meta`
element, which no extraction reads.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Literal

from agent_env.sdk.errors import ConfigError
from agent_env.temporal.days import PartialDate
from agent_env.temporal.written import MONTH, MONTHS, WEEKDAYS, month_number

Row = tuple[str, ...]
"""A heading and its cells."""
Link = tuple[str, str]
"""Text and address."""
BlockKind = Literal["p", "h2", "infobox", "table", "ul", "ol"]
Block = tuple[BlockKind, tuple[Row, ...]]
"""Lines of one kind: a paragraph, heading or item has one cell, a row of a table several."""

_MARKUP = re.compile("\ue000([^\ue000\ue001]*)\ue001([^\ue000-\ue002]*)\ue002|\ue003(\\d+)\ue004")
_DAY = re.compile(rf"\b(?:(\d\d?) (?=[A-Z])({MONTH})|(?=[A-Z])({MONTH}) (\d\d?),) (\d{{4}})\b")


def link(text: str, url: str) -> str:
    """A link within a sentence, a cell or an item."""
    return f"\ue000{text}\ue001{url}\ue002"


def note(number: int) -> str:
    """The mark of a note."""
    return f"\ue003{number}\ue004"


def lines(kind: BlockKind, *texts: str) -> Block:
    """Paragraphs, headings or items."""
    return kind, tuple((text,) for text in texts if text)


def table(*rows: Row) -> Block:
    """Rows of one table; those that follow one another with the same head share it."""
    return "table", rows


def infobox(*rows: Row) -> Block:
    """The table beside an article's beginning."""
    return "infobox", rows


@dataclass(frozen=True, slots=True)
class Sheet:
    url: str
    title: str
    blocks: tuple[Block, ...]
    truth: str = ""
    """What the page is, for who reads its source."""
    style: str = "encyclopedia"
    """Which site's dress the HTML wears."""
    since: date | None = None
    """The day on which it was written; None for what is always of the world's present."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all tables."""
        return tuple(
            row for kind, rows in self.blocks if kind in ("infobox", "table") for row in rows
        )

    @property
    def links(self) -> tuple[Link, ...]:
        """Every link, in the order of the page."""
        cells = (cell for _, rows in self.blocks for row in rows for cell in row)
        return tuple((m[1], m[2]) for cell in cells for m in _MARKUP.finditer(cell) if m[2])

    @property
    def text(self) -> str:
        """What `extract` gives for the HTML."""
        return "\n".join(
            _MARKUP.sub(_in_text, line) for kind, rows in self.blocks for line in _lines(kind, rows)
        )

    @property
    def html(self) -> str:
        """The page as its site serves it."""
        head, foot = _DRESS[self.style]
        title, truth = escape(self.title), escape(self.truth.replace("--", "–"))
        body = "".join(_html(kind, rows) for kind, rows in self.blocks)
        return (
            f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
            f'<title>{title}</title>\n<meta name="sealed-web" content="{truth}"></head>\n'
            f"<body>\n<!-- sealed web: {truth} -->\n{head.format(title=title)}{body}{foot}"
            "</body>\n</html>\n"
        )


def _lines(kind: BlockKind, rows: tuple[Row, ...]) -> Iterator[str]:
    for number, (head, *cells) in enumerate(rows, start=1):
        if cells:
            yield f"{head}: {' | '.join(cells)}"
        else:
            yield {"ul": "- ", "ol": f"{number}. "}.get(kind, "") + head


def _in_text(match: re.Match[str]) -> str:
    return f"[{match[3]}]" if match[3] else f"{match[1]} <{match[2]}>"


def _html(kind: BlockKind, rows: tuple[Row, ...]) -> str:
    if kind in ("p", "h2"):
        return "".join(f"<{kind}>{_inline(head)}</{kind}>\n" for head, *_ in rows)
    if kind in ("ul", "ol"):
        items = "".join(f"<li>{_inline(head)}</li>\n" for head, *_ in rows)
        return f"<{kind}>\n{items}</{kind}>\n"
    parts = [f'<table class="{kind}">\n']
    for head, group in groupby(rows, key=lambda row: row[0]):
        same = list(group)
        span = f' rowspan="{len(same)}"' if len(same) > 1 else ""
        for number, (_, *cells) in enumerate(same):
            first = "" if number else f"<th{span}>{_inline(head)}</th>"
            texts = "".join(f"<td>{_inline(cell)}</td>" for cell in cells)
            parts.append(f"<tr>{first}{texts}</tr>\n")
    return "".join([*parts, "</table>\n"])


def _inline(text: str) -> str:
    return _MARKUP.sub(_in_html, _DAY.sub(_time, escape(text)))


def _time(match: re.Match[str]) -> str:
    month = month_number(match[2] or match[3])
    return (
        f'<time datetime="{match[5]}-{month:02}-{int(match[1] or match[4]):02}">{match[0]}</time>'
    )


def _in_html(match: re.Match[str]) -> str:
    if match[3]:
        return f'<sup><a href="#note-{match[3]}">[{match[3]}]</a></sup>'
    return f'<a href="{match[2]}">{match[1]}</a>'


_DRESS = {
    "encyclopedia": (
        "<nav><a href='/'>Front page</a> <a href='/random'>Random article</a> "
        "<a href='/changes'>Recent changes</a></nav>\n"
        "<header role='banner'><h1>{title}</h1></header>\n<main>\n",
        "</main>\n<footer>Text may be copied with its source. <a href='/about'>About</a>"
        "</footer>\n",
    ),
    "gazette": (
        "<header role='banner'><a href='/'>The Gazette</a> <a href='/today'>Today</a></header>\n"
        "<article>\n",
        "</article>\n<footer>Printed and sold at the sign of the goose.</footer>\n",
    ),
    "almanac": ("<div class='menu'><a href='/'>All lists</a></div>\n<main>\n", "</main>\n"),
    "notes": ("<main>\n", "</main>\n<aside>Thanks for stopping by.</aside>\n"),
}
"""What is before and behind the body; all of it is clutter to a reader."""


class Writer:
    """Writes one page: one style of dates, and wordings drawn for it."""

    def __init__(self, *names: str) -> None:
        self.rng = chance(*names)
        self._is_us = self.rng.random() < 0.5

    def day(self, day: PartialDate | date) -> str:
        """A date as precisely as it is known."""
        if isinstance(day, PartialDate):
            if day.month is None:
                return str(day.year)
            if day.day is None:
                return f"{MONTHS[day.month - 1]} {day.year}"
            day = day.first
        month = MONTHS[day.month - 1]
        if self._is_us:
            return f"{month} {day.day}, {day.year}"
        return f"{day.day} {month} {day.year}"

    def on(self, day: PartialDate | date) -> str:
        """`on` a day, `in` a month or a year."""
        return f"{'on' if _is_day(day) else 'in'} {self.day(day)}"

    def weekday(self, day: PartialDate | date) -> str:
        """The date with its weekday, where it is a day."""
        first = day.first if isinstance(day, PartialDate) else day
        before = f"{WEEKDAYS[first.weekday()]}, " if _is_day(day) else ""
        return before + self.day(day)

    def span(self, start: PartialDate | date, end: PartialDate | date | None) -> str:
        """`on` one day or `in` one month or year, else `from … to …` or `since`."""
        if end is None:
            return f"since {self.day(start)}"
        return self.on(start) if start == end else f"from {self.day(start)} to {self.day(end)}"

    def say(self, key: str, **values: object) -> str:
        """One of the wordings of phrases.toml, filled in."""
        text = self.rng.choice(phrases()[key]).format(**values)
        return capital(text)


def _is_day(day: PartialDate | date) -> bool:
    return not isinstance(day, PartialDate) or day.day is not None


@cache
def phrases() -> dict[str, list[str]]:
    """Wordings by what they state."""
    text = Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8")
    parts = tomllib.loads(text).items()
    return {f"{part}.{key}": value for part, own in parts for key, value in own.items()}


@cache
def stories() -> dict[str, str]:
    """What happened, by the name of an event or a person of the shipped tables; without dates."""
    text = Path(__file__).with_name("stories.toml").read_text(encoding="utf-8")
    return {name: " ".join(story.split()) for name, story in tomllib.loads(text).items()}


def chance(*names: str) -> Random:
    """Chance that depends on the names alone."""
    return Random(hashlib.sha256("/".join(names).encode()).digest())


def a(noun: str) -> str:
    """The noun with its indefinite article, unless it has one."""
    if noun.split(" ", 1)[0].lower() in ("a", "an", "the"):
        return noun
    return f"an {noun}" if noun[0].lower() in "aeiou" else f"a {noun}"


def capital(text: str) -> str:
    """With a capital first letter, that of a link's text too."""
    at = 1 if text[:1] == "\ue000" else 0
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :]


def listed(parts: Iterable[str]) -> str:
    """`x`, `x and y`, `x, y and z`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def plural(noun: str) -> str:
    """Of the kind of an event."""
    known = {"crisis": "crises", "office": "terms of office", "games": "games", "talks": "talks"}
    end = "es" if noun.endswith(("ss", "ch")) else "s"
    return known.get(noun) or re.sub(r"(?<=[^aeiou])y$", "ie", noun) + end


@dataclass(frozen=True, slots=True)
class Difficulty:
    """What changes between levels; pages that prove something exist on all of them."""

    name: str
    copies: float
    """Chance that an event has an outdated copy with other dates."""
    namesakes: float
    """Chance that something else bears its name."""
    anniversaries: float
    """Chance of a report on its commemoration many years later."""
    late_dates: float
    """Part of the articles whose dates are in a later section alone, so that hardly a snippet
    shows them and the page must be opened."""

    def hides_dates(self, title: str) -> bool:
        """Whether the article of this title has its dates in a later section."""
        return chance("late dates", title).random() < self.late_dates


LEVELS = {
    level.name: level
    for level in (
        Difficulty("easy", 0.0, 0.0, 0.0, late_dates=0.0),
        Difficulty("medium", 0.3, 0.25, 0.2, late_dates=0.5),
        Difficulty("hard", 0.6, 0.5, 0.6, late_dates=1.0),
    )
}
DEFAULT = "medium"
LIKELY_FIRST = sorted(LEVELS.values(), key=lambda level: level.name != DEFAULT)
"""Where a web does not say its level."""


def difficulty(name: str) -> Difficulty:
    """The level of this name; ConfigError lists the known ones."""
    if name not in LEVELS:
        raise ConfigError(f"unknown difficulty '{name}'; known: {', '.join(LEVELS)}")
    return LEVELS[name]
