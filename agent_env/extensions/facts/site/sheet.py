"""A page before it is written: its HTML, the text of an extraction, and how hard it is to read.

Both are made from the same blocks, so that no page of the sealed web is ever extracted.
"""

from __future__ import annotations

import hashlib
from calendar import month_name
from dataclasses import dataclass
from datetime import date
from html import escape
from random import Random

from agent_env.sdk.errors import ConfigError
from agent_env.temporal.days import PartialDate

Row = tuple[str, ...]
"""A heading and its cells."""
Link = tuple[str, str]
"""Text and address."""


@dataclass(frozen=True, slots=True)
class Sheet:
    url: str
    title: str
    paragraphs: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    links: tuple[Link, ...] = ()
    style: str = "encyclopedia"
    """Which site's dress the HTML wears."""
    since: date | None = None
    """The day on which it was written; None for what is always of the world's present."""

    @property
    def text(self) -> str:
        """What `extract` gives for the HTML."""
        rows = (f"{head}: {' | '.join(cells)}" for head, *cells in self.rows)
        links = (f"- {text} <{url}>" for text, url in self.links)
        return "\n".join((*self.paragraphs, *rows, *links))

    @property
    def html(self) -> str:
        """The page as its site serves it."""
        head, foot = _DRESS[self.style]
        parts = [f"<p>{escape(text)}</p>\n" for text in self.paragraphs]
        if self.rows:
            parts.append("<table>\n")
            for name, *cells in self.rows:
                texts = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
                parts.append(f"<tr><th>{escape(name)}</th>{texts}</tr>\n")
            parts.append("</table>\n")
        if self.links:
            items = (f'<li><a href="{escape(u)}">{escape(t)}</a></li>\n' for t, u in self.links)
            parts += ["<ul>\n", *items, "</ul>\n"]
        return (
            f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
            f"<title>{escape(self.title)}</title></head>\n<body>\n{head}{''.join(parts)}{foot}"
            "</body>\n</html>\n"
        )


_DRESS = {
    "encyclopedia": ("<nav><a href='/'>Front page</a></nav>\n<main>\n", "</main>\n"),
    "gazette": (
        "<header><a href='/'>The Gazette</a> <a href='/today'>Today</a></header>\n<article>\n",
        "</article>\n<footer>Printed and sold at the sign of the goose.</footer>\n",
    ),
    "almanac": ("<div class='menu'><a href='/'>All lists</a></div>\n<main>\n", "</main>\n"),
    "notes": ("<main>\n", "</main>\n<aside>Thanks for stopping by.</aside>\n"),
}
"""What stands before and behind the body; all of it is clutter to a reader."""


def date_text(day: PartialDate | date, rng: Random) -> str:
    """A date in one of the ways in which sites write it."""
    if isinstance(day, PartialDate):
        if day.month is None:
            return str(day.year)
        if day.day is None:
            return f"{month_name[day.month]} {day.year}"
        day = day.first
    month = month_name[day.month]
    return rng.choice([f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}"])


def on_date(day: PartialDate | date, rng: Random) -> str:
    """`on` a day, `in` a month or a year."""
    is_day = not isinstance(day, PartialDate) or day.day is not None
    return f"{'on' if is_day else 'in'} {date_text(day, rng)}"


def chance(*names: str) -> Random:
    """Chance that depends on the names alone."""
    return Random(hashlib.sha256("/".join(names).encode()).digest())


def a(noun: str) -> str:
    """The noun with its indefinite article, unless it has one."""
    if noun.split(" ", 1)[0].lower() in ("a", "an", "the"):
        return noun
    return f"an {noun}" if noun[0].lower() in "aeiou" else f"a {noun}"


def capital(text: str) -> str:
    """With a capital first letter."""
    return text[0].upper() + text[1:]


def listed(parts: list[str]) -> str:
    """`x`, `x and y`, `x, y and z`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True, slots=True)
class Difficulty:
    """What changes between levels; pages that prove something exist on all of them."""

    name: str
    keywords: float
    """Part of the words of an allusion to an event that its article gives."""
    copies: float
    """Chance that an event has an outdated copy with other dates."""
    namesakes: float
    """Chance that something else bears its name."""
    anniversaries: float
    """Chance of a report on its commemoration many years later."""
    late_dates: float
    """Part of the articles whose dates stand in running text behind a long passage, so that no
    snippet shows them and the page must be opened."""

    def hides_dates(self, title: str) -> bool:
        """Whether the article of this title has its dates behind a long passage."""
        return chance("late dates", title).random() < self.late_dates


LEVELS = {
    level.name: level
    for level in (
        Difficulty("easy", 1.0, 0.0, 0.0, 0.0, late_dates=0.0),
        Difficulty("medium", 2 / 3, 0.3, 0.25, 0.2, late_dates=0.5),
        Difficulty("hard", 1 / 2, 0.6, 0.5, 0.6, late_dates=1.0),
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
