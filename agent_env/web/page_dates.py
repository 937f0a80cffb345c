"""Dates in the text of a page: moved together, and held against each other.

`moved` writes every date of a text anew, in the notation in which it stood, so that spans, ages and
orders stay as they were. `contradictions` finds where a page refutes itself: a day that no calendar
has, an end before its beginning, two dates of the same end, a weekday, a duration or an age that
does not fit, an address that bears another date. It reads English prose, labels and rows such as
those of the sealed web; what it does not read it does not refute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date

from agent_env.temporal.months import LONG_NAMES as MONTHS

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH, _WEEKDAY = "|".join(MONTHS), "|".join(WEEKDAYS)
_DATE = re.compile(
    rf"(?:\b(?P<weekday>{_WEEKDAY}),? )?(?:"
    rf"(?<!\w)(?P<day1>\d{{1,2}}) (?P<month1>{_MONTH}) (?P<year1>\d{{4}})(?!\d)"
    rf"|\b(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}}), (?P<year2>\d{{4}})(?!\d)"
    r"|(?<![\w/.-])(?P<year3>\d{4})-(?P<month3>\d\d)-(?P<day3>\d\d)(?![\w-]))"
    rf"|\b(?P<month4>{_MONTH}) (?P<year4>\d{{4}})(?!\d)"
    r"|(?<![\w/.])(?P<year5>1\d{3}|20\d{2})(?![\w/])"
)
_ADDRESS = re.compile(r"<https?://[^>\s]*>|https?://\S+")
_YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)")


class Mention:
    """A date as a text has it; month and day are None where it has none."""

    def __init__(self, match: re.Match[str]) -> None:
        its = match.groupdict()
        self.start, self.end, self.text = match.start(), match.end(), match[0]
        self.weekday = its["weekday"]
        self.form = next(n for n in range(1, 6) if its[f"year{n}"])
        self.year = int(its[f"year{self.form}"])
        month, day = its.get(f"month{self.form}"), its.get(f"day{self.form}")
        number = int(month) if month and month.isdigit() else None
        self.month = MONTHS.index(month) + 1 if month in MONTHS else number
        self.number = int(day) if day else None

    @property
    def day(self) -> date | None:
        """The day; None where it names none, or one that no calendar has."""
        if self.month is None or self.number is None:
            return None
        try:
            return date(self.year, self.month, self.number)
        except ValueError:
            return None

    def written(self, day: date) -> str:
        """Another day in the notation of this mention."""
        month = MONTHS[day.month - 1]
        before = ""
        if self.weekday is not None:
            comma = self.text[len(self.weekday) : self.text.index(" ") + 1]
            before = WEEKDAYS[day.weekday()] + comma
        return (
            before
            + {
                1: f"{day.day} {month} {day.year}",
                2: f"{month} {day.day}, {day.year}",
                3: day.isoformat(),
                4: f"{month} {day.year}",
                5: str(day.year),
            }[self.form]
        )


def mentions(text: str) -> Iterator[Mention]:
    """Every date of the text, those in addresses left out."""
    addresses = [match.span() for match in _ADDRESS.finditer(text)]
    for match in _DATE.finditer(text):
        if not any(start <= match.start() < end for start, end in addresses):
            yield Mention(match)


def moved(text: str, move: Callable[[date], date]) -> str:
    """The text with every date moved. A month or a year without a day goes where the first day of
    the text in it goes, else its own first day. Links whose addresses bear a year are left out, as
    they lead to pages with the old dates."""
    text = "\n".join(line for line in text.splitlines() if not _linked_years(line))
    found = list(mentions(text))
    known: dict[tuple[int, ...], date] = {}
    for day in (day for each in found if (day := each.day) is not None):
        known.setdefault((day.year, day.month), day)
        known.setdefault((day.year,), day)
    parts, last = [], 0
    for each in found:
        if each.number is not None and each.day is None:
            continue
        place = (each.year,) if each.month is None else (each.year, each.month)
        day = each.day or known.get(place) or date(each.year, each.month or 1, 1)
        parts += [text[last : each.start], each.written(move(day))]
        last = each.end
    return "".join([*parts, text[last:]])


def _linked_years(line: str) -> set[int]:
    """The years that the address bears, where the line is one of a page's links."""
    _, mark, address = line.rpartition("<http")
    is_link = line.startswith("- ") and mark and address.endswith(">")
    return set(map(int, _YEAR.findall(address))) if is_link else set()


# What refutes itself -----------------------------------------------------------------------------

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
_PAIRED = {"first day": "last day", "birth": "death"}
_LASTED = re.compile(r"\b(?:lasted|for|after) (\d+) (day|week|month|year)s?\b")
_AGE = re.compile(r"\b(?:aged|at the age of) (\d+)\b|\b(\d+) years old\b")
_DAYS = {"day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}


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
    for first, last in _PAIRED.items():
        own = spans[0] if len(spans) == 1 else None
        for name, of_span in ((first, own and own[0]), (last, own and own[1])):
            if own and ends[name] and of_span not in ends[name]:
                yield f"its text has {of_span} where its rows have {min(ends[name])} as {name}"
        if ends[first] and ends[last] and min(ends[first]) > max(ends[last]):
            yield f"its {first} is after its {last}"
    if len(spans) == 1:
        yield from _lengths(text, *spans[0])
    years = {each.year for each in found}
    near = {year // 10 for year in years}
    for line in text.splitlines() if years else ():
        dated = _linked_years(line)
        if dated and not any(year // 10 in near for year in dated):
            yield f"a link leads to {min(dated)}: {line}"
    took = re.search(r"took place in ([\d, and]+)\.", text)
    listed = re.search(r"^Years: ([\d, ]+)$", text, re.M)
    if took and listed and re.findall(r"\d{4}", took[1]) != re.findall(r"\d{4}", listed[1]):
        yield f"it took place in {took[1]}, and its years are {listed[1]}"


def _lengths(text: str, low: date, high: date) -> Iterator[str]:
    days = (high - low).days
    for match in _LASTED.finditer(text):
        unit = _DAYS[match[2]]
        if match[0].startswith("lasted") and abs(days - int(match[1]) * unit) > max(1.0, unit):
            yield f"it {match[0]}, from {low} to {high}"
    for match in _AGE.finditer(text) if re.search(r"\b[Bb]orn\b", text) else ():
        age = high.year - low.year - ((high.month, high.day) < (low.month, low.day))
        if abs(age - int(match[1] or match[2])) > 1:
            yield f"{match[0]}, born on {low} and dead on {high}"


def _marked(text: str, found: list[Mention]) -> tuple[str, Mapping[int, date]]:
    """The text with each full date as a mark, and the dates by mark."""
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
