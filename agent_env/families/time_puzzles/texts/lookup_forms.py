"""The forms of constraints that need a lookup: events, lives, presidencies."""

from __future__ import annotations

import re
from typing import Any

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.texts.meanings import EventMention, Form, Match, Meaning


def _event(match: Match) -> Meaning:
    what = match["what"].casefold()
    level: Any = "day" if what.startswith("day") else what.removeprefix("calendar ")
    edge: Any = match["edge"].casefold()
    return EventMention(match["event"], edge, level)


def _years_of_event(match: Match) -> Meaning:
    return EventMention(match["event"], "any", "year")


_NO_NAME = re.compile(r"\b(?:not|never|nobody|that|it|is|was|were|when|while|who|and|or)\b", re.I)
"""Words that show that a longer sentence stands where a name is expected."""


def _alive(match: Match) -> Meaning | None:
    name = match["person"]
    return None if _NO_NAME.search(name) else ft.PersonAlive(person=name)


def _president(match: Match) -> Meaning | None:
    name = match["person"]
    return None if _NO_NAME.search(name) else ft.UsPresident(person=name)


_EDGE = r"(?P<edge>first|last) day (?:that|of|when|on which) (?P<event>.+?)"
_COUNTRY = r"(?:(?:the )?(?:united states(?: of america)?|u\.s\.(?:a\.)?|usa?))"
_TERM = (
    r"(?:, the first and last day of a term not counted"
    r"|, in the midst of a term \(its first and last day do not count\))?"
)

LOOKUP_FORMS: tuple[Form, ...] = (
    (rf"(?:it|the date) is (?:in |on )?the same (?P<what>year|month|day) as the {_EDGE}", _event),
    (
        r"the (?P<what>day of the month|month|year) is the same as that of the "
        rf"{_EDGE}(?: \(in any year\))?",
        _event,
    ),
    (
        r"it is the (?P<what>calendar month|month|year)(?:, of whatever year,)? in which the "
        rf"{_EDGE} fell",
        _event,
    ),
    (rf"it has the (?P<what>day number within the month) that the {_EDGE} had", _event),
    (
        r"(?:it is a year|the year is one of those|it is one of the years) (?:in|during) which "
        r"(?P<event>.+?)(?: took place)?(?:, in whole or in part|, at least in part)?",
        _years_of_event,
    ),
    (r"the year is one of those of (?P<event>.+?), in whole or in part", _years_of_event),
    (
        r"on that day (?P<person>.+?) had been born and had not died yet"
        r"(?: \(neither day itself counts\))?",
        _alive,
    ),
    (
        r"(?P<person>.+?) (?:is|was) (?:still )?alive"
        r"(?:, the days of birth and death not counted)?",
        _alive,
    ),
    (
        rf"(?P<person>.+?) (?:is|was) (?:the )?president of {_COUNTRY}{_TERM}",
        _president,
    ),
    (rf"the president of {_COUNTRY} (?:is|was) (?P<person>.+?){_TERM}", _president),
    (rf"(?P<person>.+?) (?:is|was) (?:the )?{_COUNTRY} president", _president),
)
