"""Answers time questions from their wording, independently of the generator, so that the two check
each other. The sandbox runs this file as it is, so it imports nothing of the package."""

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

_LONGEST = 2000
"""Characters of a question that are searched."""


def solve(question: str, table: Any, facts: Any, today: str) -> dict[str, Any] | None:
    """The answer's parts by key; None for an unknown question.

    `table`: dates as text, by entry; `facts`: (subject, relation, object, start, end).
    """
    days = [date.fromisoformat(d) for d in re.findall(r"\d{4}-\d\d-\d\d", question)]
    for pattern, rule in _RULES:
        if match := re.search(pattern, question[:_LONGEST]):
            answer = rule(match, days, table, facts, today)
            return answer if isinstance(answer, dict) else {"answer": answer}
    return None


def _plane(m: Any, days: Any, table: Any, facts: Any, today: Any) -> dict[str, Any]:
    here, clock, hours, minutes, seconds, there = m.groups()
    start = datetime.strptime(f"2001-01-10 {clock}", "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007
    flight = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
    lands = start - timedelta(hours=int(here)) + flight + timedelta(hours=int(there))
    return {"day": (lands.date() - start.date()).days, "time": lands.strftime("%H:%M:%S")}


def _race(m: Any, days: Any, table: Any, facts: Any, today: Any) -> dict[str, Any]:
    start, end = (datetime.strptime(t, "%H:%M:%S") for t in m.groups())  # noqa: DTZ007
    return _hms(int((end - start).total_seconds()))


def _oven(m: Any, days: Any, table: Any, facts: Any, today: Any) -> dict[str, Any]:
    minutes, seconds, batch, ordered = map(int, m.groups())
    return _hms((60 * minutes + seconds) * ordered // batch)


def _temple(m: Any, days: Any, table: Any, facts: Any, today: Any) -> str:
    after = int(m[2]) - int(m[1])
    return f"{-after} BC" if after < 0 else str(after + 1)


def _ferry(m: Any, days: Any, table: Any, facts: Any, today: Any) -> str:
    when = days[0]
    while when <= days[1]:
        when += timedelta(days=int(m[1]))
    return str(when)


def _full_months(first: date, last: date) -> int:
    months = 0
    while (first.year * 12 + first.month + months + 1, first.day) <= (
        last.year * 12 + last.month,
        last.day,
    ):
        months += 1
    return months


def _year_of_fact(m: Any, days: Any, table: Any, facts: Any, today: Any) -> str:
    who, word, what, whom = m.groups()
    periods = [f for f in facts if f[:3] == (who, what, whom)]
    return str(periods[0][3 if word == "become" else 4])


def _years_apart(m: Any, days: Any, table: Any, facts: Any, today: Any) -> int:
    starts = {f[:3]: f[3] for f in facts}
    return int(starts[m.groups()[3:]] - starts[m.groups()[:3]])


def _clock_shift(m: Any, days: Any, table: Any, facts: Any, today: Any) -> dict[str, Any]:
    clock, here, there = m.groups()
    start = datetime.strptime(f"2001-01-10 {clock}", "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007
    then = start - timedelta(hours=int(here)) + timedelta(hours=int(there))
    return {"day": (then.date() - start.date()).days, "time": then.strftime("%H:%M:%S")}


def _night(m: Any, days: Any, table: Any, facts: Any, today: Any) -> dict[str, Any]:
    start, end = (datetime.strptime(t, "%H:%M:%S") for t in m.groups())  # noqa: DTZ007
    return _hms(int((end + timedelta(days=1) - start).total_seconds()))


def _shifts(m: Any, days: Any, table: Any, facts: Any, today: Any) -> dict[str, Any]:
    start, end = (datetime.strptime(t, "%H:%M:%S") for t in m.groups()[:2])  # noqa: DTZ007
    each = end - start - timedelta(minutes=int(m[3]))
    return _hms(int(sum((each for _ in range(int(m[4]))), timedelta()).total_seconds()))


def _bus(m: Any, days: Any, table: Any, facts: Any, today: Any) -> int:
    first, now = (datetime.strptime(t, "%H:%M:%S") for t in (m[2], m[3]))  # noqa: DTZ007
    while first < now:
        first += timedelta(minutes=int(m[1]))
    return int((first - now).total_seconds()) // 60


def _lease(m: Any, days: Any, table: Any, facts: Any, today: Any) -> str:
    month = days[0].replace(day=1)
    for _ in range(int(m[1])):
        month = (month + timedelta(days=31)).replace(day=1)
    last = (month + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return str(min(last, month + timedelta(days=days[0].day - 1)))


def _meeting(m: Any, days: Any, table: Any, facts: Any, today: Any) -> str:
    nth = ["first", "second", "third", "fourth"].index(m[1])
    when = datetime.strptime(f"1 {m[3]}", "%d %B %Y").date()  # noqa: DTZ007
    all_days = (when + timedelta(days=k) for k in range(31))
    return str([d for d in all_days if f"{d:%A}" == m[2]][nth])


def _both_bells(m: Any, days: Any, table: Any, facts: Any, today: Any) -> str:
    one = other = days[0] + timedelta(days=int(m[1]))
    other = days[0] + timedelta(days=int(m[2]))
    while one != other:
        if one < other:
            one += timedelta(days=int(m[1]))
        else:
            other += timedelta(days=int(m[2]))
    return str(one)


def _leap_birthday(m: Any, days: Any, table: Any, facts: Any, today: Any) -> int:
    when, left = days[0], int(m[1])
    while left:
        when += timedelta(days=1)
        left -= (when.month, when.day) == (2, 29)
    return int(when.year)


def _every(days: Any) -> list[date]:
    """All days from the first to the second, both included."""
    return [days[0] + timedelta(days=k) for k in range((days[1] - days[0]).days + 1)]


def _anniversary(m: Any, days: Any, table: Any, facts: Any, today: Any) -> str:
    when = _day(table[_entry(m[2], m[3])])
    then = when.year + int(m[1])
    try:
        day = date(then, when.month, when.day)
    except ValueError:
        day = date(then, 2, 28)
    return f"{day:%B %d, %Y}"


def _spans(facts: Any, what: str, whom: str) -> list[tuple[int, int]]:
    return sorted((f[3], f[4]) for f in facts if f[1:3] == (what, whom))


def _vacant(m: Any, days: Any, table: Any, facts: Any, today: Any) -> int:
    spans = _spans(facts, m[1], m[2])
    return sum(after[0] - before[1] for before, after in pairwise(spans))


def _next_start(m: Any, days: Any, table: Any, facts: Any, today: Any) -> int:
    what, whom, who = m.groups()
    ((start, _),) = [f[3:] for f in facts if f[:3] == (who, what, whom)]
    starts = [first for first, _ in _spans(facts, what, whom)]
    return starts[starts.index(start) + 1]


def _overlap(m: Any, days: Any, table: Any, facts: Any, today: Any) -> int:
    a, b = m.groups()[:3], m.groups()[3:]
    years = [{y for f in facts if f[:3] == fact for y in range(f[3], f[4])} for fact in (a, b)]
    return len(years[0] & years[1])


def _career(table: Any) -> list[str]:
    return [when for entry, when in table.items() if entry not in ("Born", "Died")]


def _first_career(table: Any) -> str:
    dates = _career(table)
    return min(dates) if len(dates[0]) == 4 else min(dates, key=_day)


_DO = r"(join|leav|begin|ceas|tak)(?:e|n?ing)? (.+?)"
_DONE = {"join": "Joined", "leav": "Left", "begin": "Began", "ceas": "Ceased", "tak": "Took"}


def _entry(verb: str, rest: str) -> str:
    """The table's entry for `join X` or `leaving X`."""
    return f"{_DONE[verb]} {rest}"


def _then(m: Any, table: Any) -> str:
    """The date of the second of two entries."""
    return str(table[_entry(m[3], m[4])])


_RULES: tuple[tuple[str, Callable[..., Any]], ...] = (
    (r"returned (\d+) days later", lambda m, days, *_: str(days[0] + timedelta(days=int(m[1])))),
    (r"began in (\d+) BC and took (\d+) years", _temple),
    (r"set out at (\S+) and arrived at (\S+) on", _race),
    (r"was (\d+) days old, how many days old",
     lambda m, days, *_: (days[1] + timedelta(days=int(m[1])) - days[0]).days),
    (r"(\d+) minutes and (\d+) seconds to bake (\d+) .* how long do (\d+) take", _oven),
    (r"sails every (\d+) days", _ferry),
    (r"takes off .*?\(UTC([+-]\d+)\) at (\S+) local time and flies for (\d+) hours, "
     r"(\d+) minutes and (\d+) seconds .*?\(UTC([+-]\d+)\)", _plane),
    (r"On how many days is it open\?", lambda m, days, *_: (days[1] - days[0]).days + 1),
    (r"On how many whole days was it closed", lambda m, days, *_: (days[1] - days[0]).days - 1),
    (r"call takes place at (\S+) .*?\(UTC([+-]\d+)\).*?\(UTC([+-]\d+)\)", _clock_shift),
    (r"watch begins at (\S+) and ends at (\S+) on the following day", _night),
    (r"travels (\d+) km at a steady (\d+) km/h",
     lambda m, *_: _hms(int(timedelta(hours=1).total_seconds() * int(m[1]) / int(m[2]) + 1e-6))),
    (r"works from (\S+) to (\S+) with a break of (\d+) minutes, on (\d+) days", _shifts),
    (r"Buses leave every (\d+) minutes, the first at (\S+)\. .* at (\S+)\. How", _bus),
    (r"What is the date (\d+) weeks after",
     lambda m, days, *_: str(date.fromordinal(days[0].toordinal() + 7 * int(m[1])))),
    (r"was ordered (\d+) days earlier",
     lambda m, days, *_: str(date.fromordinal(days[0].toordinal() - int(m[1])))),
    (r"lease begins on \S+ and ends (\d+) months later", _lease),
    (r"power in (\d+) BC and died in AD (\d+)",
     lambda m, *_: len(range(1 - int(m[1]), int(m[2])))),
    (r"How many days after \S+ is", lambda m, days, *_: days[1].toordinal() - days[0].toordinal()),
    (r"How old, in full years, was \S+ on",
     lambda m, days, *_: _full_years(str(days[0]), str(days[1]))),
    (r"How many full months are there between",
     lambda m, days, *_: _full_months(days[0], days[1])),
    (r"meets on the (\w+) (\w+) of every month\. .* meet in (\w+ \d{4})", _meeting),
    (r"rings every (\d+) days, another every (\d+) days", _both_bells),
    (r"the (\d+)\w\w 29 February after that day", _leap_birthday),
    (r"open from Monday to Friday",
     lambda m, days, *_: sum(d.weekday() < 5 for d in _every(days))),
    (r"How often does 29 February occur",
     lambda m, days, *_: sum((d.month, d.day) == (2, 29) for d in _every(days))),
    (rf"How old was .*, in full years, on {_DO}\?$",
     lambda m, days, table, *_: _full_years(table["Born"], table[_entry(m[1], m[2])])),
    (r"How old was .*, in full years, at the start of the career in the table",
     lambda m, days, table, *_: _full_years(table["Born"], _first_career(table))),
    (rf"How many full years before the current date did .*? {_DO}\?$",
     lambda m, days, table, facts, today: _full_years(table[_entry(m[1], m[2])], today)),
    (rf"In which year did .*? {_DO}\?$",
     lambda m, days, table, *_: int(table[_entry(m[1], m[2])][-4:])),
    (r"In which year was the (first|last) event in",
     lambda m, days, table, *_: sorted(int(w[-4:]) for w in _career(table))[-(m[1] == "last")]),
    (rf"On what date did .*? {_DO}\?$",
     lambda m, days, table, *_: table[_entry(m[1], m[2])]),
    (rf"How many days after {_DO} did .*? {_DO}\?$",
     lambda m, days, table, *_: (_day(_then(m, table)) - _day(table[_entry(m[1], m[2])])).days),
    (rf"How many full years after {_DO} did .*? {_DO}\?$",
     lambda m, days, table, *_: _full_years(table[_entry(m[1], m[2])], _then(m, table))),
    (rf"How many full months after {_DO} did .*? {_DO}\?$",
     lambda m, days, table, *_: _full_months(_day(table[_entry(m[1], m[2])]),
                                             _day(_then(m, table)))),
    (rf"How many days old was .*? on {_DO}\?$",
     lambda m, days, table, *_: (_day(table[_entry(m[1], m[2])]) - _day(table["Born"])).days),
    (r"On what date was .* exactly (\d+) days old",
     lambda m, days, table, *_: f"{_day(table['Born']) + timedelta(days=int(m[1])):%B %d, %Y}"),
    (rf"On what date is the (\d+)th anniversary of .*? {_DO}\?$", _anniversary),
    (r"In which year did the first (\S+) of (\S+) start",
     lambda m, days, table, facts, today: _spans(facts, m[1], m[2])[0][0]),
    (r"In which year did the last (\S+) of (\S+) end",
     lambda m, days, table, facts, today: max(e for _, e in _spans(facts, m[1], m[2]))),
    (r"In which year did the next (\S+) of (\S+) after (\S+) start", _next_start),
    (r"In which year did (\S+) (become|stop being) the (\S+) of (\S+)\?", _year_of_fact),
    (r"For how many years in total was (\S+) the (\S+) of (\S+) \(",
     lambda m, days, table, facts, today: sum(f[4] - f[3] for f in facts if f[:3] == m.groups())),
    (r"longest single term of any (\S+) of (\S+) last",
     lambda m, days, table, facts, today: sorted(e - s for s, e in _spans(facts, m[1], m[2]))[-1]),
    (r"start of its first (\S+) and the end of its last, for how many years in total did (\S+) ",
     _vacant),
    (r"For how many years was (\S+) the (\S+) of (\S+) while (\S+) was the (\S+) of (\S+)\?",
     _overlap),
    (r"after (\S+) became the (\S+) of (\S+) did (\S+) become the (\S+) of (\S+)\?",
     _years_apart),
)  # fmt: skip


def _hms(seconds: int) -> dict[str, Any]:
    return {"X": seconds // 3600, "Y": seconds % 3600 // 60, "Z": seconds % 60}


def _day(text: str) -> date:
    form = "%Y-%m-%d" if text[:4].isdigit() else "%B %d, %Y"
    return datetime.strptime(text, form).date()  # noqa: DTZ007


def _full_years(first: str, last: str) -> int:
    if len(first) == 4 or len(last) == 4:
        return int(last[:4] if last[:4].isdigit() else last[-4:]) - int(
            first[:4] if first[:4].isdigit() else first[-4:]
        )
    one, other = _day(first), _day(last)
    years = other.year - one.year
    return years if (other.month, other.day) >= (one.month, one.day) else years - 1
