"""What the name of an event is, a noun phrase or a clause, and the sentences about it."""

from __future__ import annotations

import re

POINT_KINDS = frozenset(
    "accident assassination attack award battle birth coronation coup death disaster discovery "
    "earthquake election eruption explosion foundation launch match referendum robbery treaty "
    "victory wedding".split()
)
"""Kinds of events that do not last still where only their first day is stated."""

_VERB = re.compile(
    r"\b(?:was|were|is|are|became|(?:has|had|have) been|belongs? to|belonged to"
    r"|(?:played|plays?|worked|works?) for|(?:studied|lived|worked) (?:at|in)"
    r"|(?:held|holds|served|serves|attended|owned|owns|won|led|headed|managed|coached|chaired"
    r"|represented|joined|ruled|governed) (?:as )?(?:the|an?|his|her|[A-Z]\w*))\b"
)
_RELATIVE = re.compile(r"\b(?:who|whom|whose|which|that|where|when|while)\b")


def is_clause(name: str) -> bool:
    """Whether the name is a sentence, such as "Ada Byron was the Countess of Lovelace": by rule of
    thumb, it has a finite verb before any relative pronoun."""
    verb = _VERB.search(name)
    return verb is not None and verb.start() > 0 and not _RELATIVE.search(name[: verb.start()])


def is_point(name: str, kind: str) -> bool:
    """Whether an event of which only a first day is stated is over: by its kind, or because its
    name is a clause in the past."""
    past = (
        is_clause(name) and re.search(r"\b(?:is|are|holds|serves|belongs?|plays?)\b", name) is None
    )
    return past or kind in POINT_KINDS


_NUMBER = re.compile(r"\b\d+(?:st|nd|rd|th) ")


def series_of(name: str) -> str:
    """The name without its number, which all events of a series share."""
    return _NUMBER.sub("", name)


def day_of(name: str, edge: str) -> str:
    """`the first day of …`, or `… on which …` before a clause."""
    return f"the {edge} day {'on which' if is_clause(name) else 'of'} {name}"


def years_of(name: str) -> str:
    """The constraint that the year is one of the event's."""
    if is_clause(name):
        return f"For at least part of that year, {name}."
    return f"That year saw at least part of {name}."
