"""The one grammar of constraint texts: a sentence, ours or foreign, becomes a `Meaning`.

Each form matches a whole sentence, so that a text is either understood to its last word or unread
(None). The forms, in forms.toml, are those of our own wordings, of the published puzzles (implicit
and explicit), and common rephrasings of both. A meaning is a fact, whose fields are read like those
of a meta entry, or one of four conditions that no fact type has.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.meta_entries import ANIMALS, FieldError, read_entry
from agent_env.temporal.written import MONTH, DateForms, month_number

Ends = Literal["included", "excluded", "unstated"]


@dataclass(frozen=True, slots=True)
class YearSet:
    years: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class YearRule:
    """The year leaves a remainder, within optional bounds, with exceptions."""

    modulus: int = 1
    remainder: int = 0
    first: int | None = None
    last: int | None = None
    """Included, as `first`."""
    exceptions: tuple[int, ...] = ()

    def holds(self, year: int) -> bool:
        return (
            year % self.modulus == self.remainder
            and (self.first is None or year >= self.first)
            and (self.last is None or year <= self.last)
            and year not in self.exceptions
        )


@dataclass(frozen=True, slots=True)
class DateSpans:
    """The date lies in one of these spans; a single date is a span of one day."""

    spans: tuple[tuple[date, date], ...]
    ends: Ends = "included"
    """Whether the first and last day of each span belong to it; `unstated` ends are included."""


@dataclass(frozen=True, slots=True)
class EventMention:
    """The date has its year, month or day of the month in common with an event to look up."""

    phrase: str
    """What the text calls the event: a noun phrase, or a clause."""
    edge: Literal["first", "last", "any"]
    """Its first day, its last day, or any of its years."""
    level: ft.Level

    @property
    def aspect(self) -> str:
        """The aspect of a `KbEvent` with this edge."""
        return {"first": "start", "last": "end", "any": "multi_year"}[self.edge]


Meaning = ft.Fact | YearSet | YearRule | DateSpans | EventMention

ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
)
DATES = DateForms(
    r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)",
    rf"(?P<m>{MONTH}) (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})",
    rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{MONTH}),? (?P<y>\d{{4}})",
    before=r"\b",
)
_NO_NAME = re.compile(r"\b(?:not|never|nobody|that|it|is|was|were|when|while|who|and|or)\b", re.I)
"""Words that show that a longer sentence stands where a name is expected."""


def _years_in(text: str) -> tuple[int, ...]:
    """The years of a list, ranges with both ends included, sorted and distinct; none of year 0."""
    years: set[int] = set()
    pattern = r"between (\d{4}) and (\d{4})|(\d{4})(?: ?(?:-|~|to|through) ?(\d{4}))?"
    for low, high, first, last in re.findall(pattern, text, re.I):
        years.update(range(int(low or first), int(high or last or first) + 1))
    return tuple(sorted(years - {0}))


def _dates_in(text: str) -> tuple[date, ...]:
    """The dates of a text in order; none if one of them does not exist."""
    found = DATES.find(text)
    try:
        return tuple(date(each.year or 0, each.month or 0, each.day or 0) for each in found)
    except ValueError:
        return ()


def _fact(kind: str, **fields: Any) -> ft.Fact | None:
    if _NO_NAME.search(fields.get("person", "")):
        return None
    for name in {"n", "month"} & fields.keys():
        fields[name] = _number(fields[name])
    return read_entry({**fields, "type": kind}).fact


def _number(text: str) -> str:
    """The value of `3rd` or `third`; another text as it is."""
    if (ordinal := text.casefold()) in ORDINALS:
        return str(ORDINALS.index(ordinal) + 1)
    return re.sub(r"(?<=\d)(?:st|nd|rd|th)", "", ordinal)


def _event_mention(event: str, edge: str = "any", what: str = "year") -> Meaning:
    level: Any = what.casefold().removeprefix("calendar ").partition(" ")[0]
    side: Any = edge.casefold()
    return EventMention(event, side, level)


def _years(years: str) -> Meaning | None:
    numbers = _years_in(years)
    if len(numbers) == 1:
        return ft.ExplicitYear(year=numbers[0])
    return YearSet(numbers) if numbers else None


def _year_rule(rule: str) -> Meaning | None:
    fields: dict[str, Any] = {"exceptions": ()}
    for atom in re.finditer(_PARTS["atom"], rule, re.I):
        if atom["modulus"]:
            if "modulus" in fields or not int(atom["modulus"]):
                return None
            fields |= {"modulus": int(atom["modulus"]), "remainder": int(atom["rest"])}
        elif (operator := atom["operator"]) in (">", ">=", "≥"):
            fields["first"] = int(atom["bound"]) + (operator == ">")
        elif operator:
            fields["last"] = int(atom["bound"]) - (operator == "<")
        else:
            fields["exceptions"] += _years_in(atom["exceptions"])
    return YearRule(**fields)


def _western_zodiac(sign: str, day1: str, month1: str, day2: str, month2: str) -> Meaning | None:
    """The sign, if the text states the days that our facts give it."""
    first, last = (month_number(month1), int(day1)), (month_number(month2), int(day2))
    return (
        _fact("western_zodiac", sign=sign) if ft.SIGNS[sign.capitalize()] == (first, last) else None
    )


def _weekdays(value: str) -> Meaning | None:
    names = list(dict.fromkeys(re.findall(_PARTS["weekday"], value.title())))
    if len(names) == 1:
        return _fact("weekday", weekday=names[0])
    return _fact("multi_weekday", value="/".join(names))


def _dates(dates: str) -> Meaning | None:
    days = _dates_in(dates)
    return DateSpans(tuple((day, day) for day in days)) if days else None


def _spans(spans: str, ends: str = "unstated") -> Meaning | None:
    dates, words = _dates_in(spans), ends.casefold()
    pairs = tuple(zip(dates[::2], dates[1::2], strict=False))
    if not pairs or len(dates) % 2 or any(first > last for first, last in pairs):
        return None
    if words == "unstated":
        return DateSpans(pairs, "unstated")
    return DateSpans(pairs, "excluded" if "not" in words or "ex" in words else "included")


_BUILDERS: Mapping[str, Callable[..., Meaning | None]] = {
    "event_mention": _event_mention,
    "years": _years,
    "year_rule": _year_rule,
    "western_zodiac": _western_zodiac,
    "weekdays": _weekdays,
    "dates": _dates,
    "spans": _spans,
}
"""By the key of a form: what makes its meaning of the groups; for other keys, `_fact`."""


def _filled(pattern: str) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda match: _PARTS[match[1]], pattern)


def _either(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, names))


_FILE = tomllib.loads(Path(__file__).with_name("forms.toml").read_text(encoding="utf-8"))
_PARTS = {
    "animals": _either(ANIMALS),
    "date": DATES.text,
    "month": MONTH,
    "nth": rf"(?:\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(ORDINALS)})",
    "signs": _either(ft.SIGNS),
    "weekday": f"(?:{'|'.join(ft.WEEKDAYS)})",
}
for _name, _pattern in _FILE["parts"].items():
    _PARTS[_name] = _filled(_pattern)
_PARTS["any_atom"] = re.sub(r"\?P<\w+>", "?:", _PARTS["atom"])


def _forms() -> Iterator[tuple[str, Callable[..., Meaning | None], Mapping[str, str]]]:
    for key, forms in _FILE["forms"].items():
        build = _BUILDERS.get(key) or partial(_fact, key)
        for form in forms:
            fields = {"form": form} if isinstance(form, str) else dict(form)
            yield _filled(fields.pop("form")), build, fields


LONGEST = 1000
"""Characters of the longest text that is read."""
_FORMS = tuple(_forms())
"""A pattern for a whole sentence, what makes its meaning of its groups (None leaves it to other
forms), and fields beside them."""


@lru_cache(maxsize=8192)
def compile_text(text: str) -> Meaning | None:
    """The meaning of a constraint's sentence; None if any part of it is not understood."""
    if len(text) > LONGEST:
        return None
    sentence = _normal(text)
    for pattern, build, fields in _FORMS:
        if (match := re.fullmatch(pattern, sentence, re.I)) is None:
            continue
        groups = {name: text for name, text in match.groupdict().items() if text is not None}
        try:
            meaning = build(**{**fields, **groups})
        except FieldError:  # an unknown name, or a number out of range, such as the 32nd of a month
            continue
        if meaning is not None:
            return meaning
    return None


def _normal(text: str) -> str:
    """The sentence with plain spaces, quotes and dashes, without its full stop."""
    for marks, plain in (("’‘`", "'"), ("–—−‐‑", "-"), ("“”", '"')):
        text = re.sub(f"[{marks}]", plain, text)
    return " ".join(text.split()).removesuffix(".").rstrip()
