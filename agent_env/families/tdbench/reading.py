"""Reads a question back: what it asks, of which rows, and what must be true of their time.

The opposite of `wording`, from the words alone: the scripted reference model answers by it, and a
question in other words is accepted only where this finds the same dates and relation in it.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache

from agent_env.families.tdbench import wording
from agent_env.families.tdbench.domains import DOMAINS, ENTRY, Ask, Domain, Verbs
from agent_env.families.tdbench.sample import Kind
from agent_env.families.tdbench.wording import NUMBERS, Offset

MARK = 7
"""A number that stands for any other while a pattern is made."""


@dataclass(frozen=True, slots=True, order=True)
class Bound:
    """What one date of a row has to be, compared as texts of one length."""

    side: str
    """`start` or `end`."""
    test: str
    """`<`, `=` or `>`."""
    day: str


@dataclass(frozen=True, slots=True)
class Read:
    """A question as it was understood."""

    table: str | None
    """None where its words fit any table."""
    kind: Kind
    asked: dict[str, str]
    """Columns and values."""
    answers: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()
    number: int = 0
    """For `nth` and `count`."""
    now: str = ""


def readings(question: str) -> tuple[Read, ...]:
    """All ways to understand the question, without repeats; none where its words are not ours.

    Words alone do not always say where a value ends or which table is meant: the rows have to.
    """
    found = [
        read
        for pattern, table, kind, ask in _patterns()
        if (match := pattern.fullmatch(question)) and (read := _read(match, table, kind, ask))
    ]
    found += [read for read in (_of_hops(question), _of_any_table(question)) if read]
    return tuple(read for place, read in enumerate(found) if read not in found[:place])


def read_bounds(text: str) -> tuple[Bound, ...]:
    """All that a condition says of starts and ends, in order; () where it says nothing."""
    return tuple(sorted(_bounds(text)))


def _read(match: re.Match[str], table: str, kind: Kind, ask: Ask) -> Read | None:
    groups = match.groupdict()
    asked = {name: groups[f"v{place}"] for place, name in enumerate(ask.asked)}
    bounds = read_bounds(groups["cond"]) if kind == "relation" else ()
    if kind == "relation" and not bounds:
        return None
    number = int(groups["number"]) if "number" in groups else 0
    now = iso(groups["now"]) if "now" in groups else ""
    return Read(table, kind, asked, ask.answers, bounds, number, now)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str, Kind, Ask], ...]:
    """Every sentence that the domains have, with groups for what varies."""
    return tuple(
        (_pattern(text, domain.verbs, some), domain.name, kind, ask)
        for domain in DOMAINS.values()
        for ask in domain.asks
        for kind, text in _sentences(domain, ask)
        for some in (".+", ".+?")
    )


def _sentences(domain: Domain, ask: Ask) -> Iterator[tuple[Kind, str]]:
    values = {name: f"<v{place}>" for place, name in enumerate(ask.asked)}
    for style in range(wording.STYLES):
        yield "nth", wording.nth_sentence(ask, domain.verbs, values, MARK, style)
        yield "count", wording.count_sentence(ask, domain.verbs, values, MARK, style)
        yield "longest", wording.longest_sentence(ask, domain.verbs, values, style)
    for head in ask.now_heads:
        yield "current", wording.filled(head, values, now="<now>")
    for head in ask.heads:
        yield "relation", wording.filled(head, values, cond="<cond>")


def _pattern(text: str, verbs: Verbs, some: str) -> re.Pattern[str]:
    verb = "|".join(map(re.escape, (*verbs.begin, *verbs.end)))
    pattern = re.sub(r"<(\w+)>", rf"(?P<\1>{some})", re.escape(text))
    pattern = pattern.replace(f"(?P<cond>{some})", f"(?P<cond>(?:{verb}) .+)")
    return re.compile(pattern.replace(f"{MARK}th", r"(?P<number>\d+)(?:st|nd|rd|th)"))


_HOPS = tuple(
    (re.escape(text).replace(r"\{role\}", "(?P<role>.+?)").replace(r"\{game\}", "(?P<game>.+?)"),
     column)
    for column, texts in (("round", wording.THREE_HOPS), ("games", wording.TWO_HOPS))
    for text in texts
)  # fmt: skip


def _of_hops(question: str) -> Read | None:
    for pattern, column in _HOPS:
        if match := re.fullmatch(pattern, question):
            asked = {column: match["game"], "role": match["role"]}
            return Read("offices", "hops", asked, ("name",))
    return None


_ANY = (
    r"Which (?P<answers>.+?) is recorded for (?P<pairs>.+) in an entry that (?P<cond>.+)\?",
    r"For (?P<pairs>.+), which (?P<answers>.+?) stands in an entry that (?P<cond>.+)\?",
    r"Name any (?P<answers>.+?) recorded for (?P<pairs>.+) in an entry that (?P<cond>.+)\.",
)


def _of_any_table(question: str) -> Read | None:
    """A question in the plain words for a user's table; values with ` and ` in them are not read
    apart and so not understood."""
    for pattern in _ANY:
        match = re.fullmatch(pattern, question)
        if match and (bounds := read_bounds(match["cond"])):
            pairs = [pair.split(" ", 1) for pair in match["pairs"].split(" and ")]
            if all(len(pair) == 2 for pair in pairs):
                answers = tuple(match["answers"].split(" and "))
                return Read(None, "relation", dict(pairs), answers, bounds)
    return None


# Conditions -------------------------------------------------------------------------------------

MONTHS = {name: number for number, name in enumerate(calendar.month_name) if name}
MONTH = "|".join(MONTHS)
DATE = (
    rf"\d{{1,2}} (?:{MONTH}) \d{{1,4}}|(?:{MONTH}) \d{{1,2}}, \d{{1,4}}|"
    rf"(?:{MONTH}) (?:of )?\d{{1,4}}|\d{{4}}-\d{{2}}-\d{{2}}|\d{{4}}-\d{{2}}|\d{{4}}"
)
EXACT = r"(?:exactly |precisely |no more and no less than )?"
NUMBER = "|".join([*NUMBERS, r"\d+"])


@cache
def _tokens() -> re.Pattern[str]:
    every = [*(domain.verbs for domain in DOMAINS.values()), ENTRY]
    return re.compile(
        rf"\b(?:(?P<begin>{_either(every, 'begin')})|(?P<stay>{_either(every, 'stay')})"
        rf"|(?P<end>{_either(every, 'end')})"
        rf"|{EXACT}(?P<count>{NUMBER}) (?P<unit>day|month|year)s? "
        rf"(?P<way>before|after) (?P<far>{DATE})"
        rf"|(?P<test>until after|before|earlier than|after|later than|on|in) (?P<day>{DATE}))\b"
    )


def _either(every: list[Verbs], side: str) -> str:
    words = {phrase for verbs in every for phrase in getattr(verbs, side)}
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def _bounds(text: str) -> Iterator[Bound]:
    side = ""
    for match in _tokens().finditer(text):
        if match["begin"]:
            side = "start"
        elif match["end"] or match["stay"]:
            side = "end"
        elif side and match["far"]:
            yield Bound(side, "=", shifted(match))
        elif side and (day := iso(match["day"])):
            yield Bound(side, _TESTS[match["test"]], day)


_TESTS: Mapping[str, str] = {
    "before": "<",
    "earlier than": "<",
    "after": ">",
    "later than": ">",
    "until after": ">",
    "on": "=",
    "in": "=",
}


def shifted(match: re.Match[str]) -> str:
    far = iso(match["far"])
    count = NUMBERS.index(match["count"]) + 1 if match["count"] in NUMBERS else int(match["count"])
    offset = Offset(count, match["unit"])  # type: ignore[arg-type]
    whole = date.fromisoformat((far + "-01-01")[:10])
    return offset.from_day(whole, -1 if match["way"] == "before" else 1).isoformat()[: len(far)]


def iso(text: str) -> str:
    """A date in one of our notations as YYYY, YYYY-MM or YYYY-MM-DD; other texts as they are."""
    words = text.replace(",", " ").replace(" of ", " ").split()
    month = next((MONTHS[word] for word in words if word in MONTHS), None)
    if month is None:
        return text
    numbers = [int(word) for word in words if word.isdecimal() and len(word) <= 4]
    if not numbers:
        return text
    if len(numbers) == 1:
        return f"{numbers[0]:04d}-{month:02d}"
    return f"{numbers[1]:04d}-{month:02d}-{numbers[0]:02d}"
