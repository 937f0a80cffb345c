"""Finds where a page refutes itself: a day that no calendar has, an end before its beginning, two
dates of the same end, a weekday, a duration or an age that does not fit. It reads English prose,
labels and rows such as those of the sealed web; what it does not read it does not refute."""

import re
from collections.abc import Iterator, Mapping
from datetime import date

from agent_env.features.evidence.attack_pages import Mention, mentions
from agent_env.temporal.written import WEEKDAYS

_SPANS = (
    r"from {a}(?: on)? (?:\| )?(?:to|until|till) {b}", r"between {a} and {b}",
    r"began (?:on|in) {a} and ended (?:on|in) {b}",
    r"opened (?:on|in) {a},? (?:came to its end|closed|ended) (?:on|in) {b}",
    r"opened (?:on|in) {a} and closed (?:on|in) {b}",
    r"born (?:on |in )?{a}(?: and|,) died (?:on |in )?{b}",
)  # fmt: skip
_ENDS = {
    "first day": (r"First day(?: in office)?: {a}", r"Expected first day: {a}"),
    "last day": (r"Last day(?: in office)?: {a}", r"Expected last day: {a}"),
    "birth": (r"Born: {a}",),
    "death": (r"Died: {a}",),
}  # fmt: skip
_LASTED = re.compile(r"\b(?:lasted|for|after) (\d+) (day|week|month|year)s?\b")
_AGE = re.compile(r"\b(?:aged|at the age of) (\d+)\b|\b(\d+) years old\b")


def contradictions(text: str) -> tuple[str, ...]:
    """What of the page cannot be true together, in words; () for a page at peace with itself."""
    return tuple(dict.fromkeys(_contradictions(text)))


def _contradictions(text: str) -> Iterator[str]:
    found = list(mentions(text))
    for each in found:
        if each.number is not None and each.day is None:
            yield f"no calendar has {each.text}"
        elif each.weekday and each.day and WEEKDAYS[each.day.weekday()] != each.weekday:
            yield f"{each.text} was a {WEEKDAYS[each.day.weekday()]}"
    marked, places = _marked(text, found)
    spans = list(_spans(marked, places))
    for low, high in spans:
        if low > high:
            yield f"it ends on {high} before it begins on {low}"
    ends = {
        name: {day for form in forms for (day,) in _read(form, marked, places)}
        for name, forms in _ENDS.items()
    }
    for first, last in {"first day": "last day", "birth": "death"}.items():
        own = spans[0] if len(spans) == 1 else None
        for name, of_span in ((first, own and own[0]), (last, own and own[1])):
            if own and ends[name] and of_span not in ends[name]:
                yield f"its text has {of_span} where its rows have {min(ends[name])} as {name}"
        if ends[first] and ends[last] and min(ends[first]) > max(ends[last]):
            yield f"its {first} is after its {last}"
    if len(spans) == 1:
        yield from _lengths(text, *spans[0])


def _lengths(text: str, low: date, high: date) -> Iterator[str]:
    days = (high - low).days
    for match in _LASTED.finditer(text):
        unit = {"day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}[match[2]]
        if match[0].startswith("lasted") and abs(days - int(match[1]) * unit) > max(1.0, unit):
            yield f"it {match[0]}, from {low} to {high}"
    lives = "\n".join(
        line for line in text.splitlines() if "born" in line.lower() and "died" in line
    )
    for match in _AGE.finditer(lives):
        age = high.year - low.year - ((high.month, high.day) < (low.month, low.day))
        if abs(age - int(match[1] or match[2])) > 1:
            yield f"{match[0]}, born on {low} and dead on {high}"


def _marked(text: str, found: list[Mention]) -> tuple[str, Mapping[int, date]]:
    parts, last = [], 0
    places: dict[int, date] = {}
    for number, each in enumerate(found):
        if (day := each.day) is not None:
            places[number] = day
            parts += [text[last : each.start], f"\x00{number}\x00"]
            last = each.end
    return "".join([*parts, text[last:]]), places


def _read(form: str, marked: str, places: Mapping[int, date]) -> Iterator[tuple[date, ...]]:
    mark = "\x00(\\d+)\x00"
    for match in re.finditer(form.replace("{a}", mark).replace("{b}", mark), marked):
        yield tuple(places[int(number)] for number in match.groups())


def _spans(marked: str, places: Mapping[int, date]) -> Iterator[tuple[date, date]]:
    for form in _SPANS:
        yield from ((low, high) for low, high in _read(form, marked, places))
