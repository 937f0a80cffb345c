"""Answers time questions from their wording, independently of the generator, so that the two check
each other. The sandbox runs this file as it is, so it imports nothing of the package."""

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
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
    clock, here, hours, minutes, seconds, there = m.groups()
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


def _months_between(m: Any, days: Any, table: Any, facts: Any, today: Any) -> int:
    first, last = _day(table[m[1]]), _day(table[m[2]])
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
    return str(periods[0][3 if word == "begin" else 4])


def _years_apart(m: Any, days: Any, table: Any, facts: Any, today: Any) -> int:
    starts = {f[:3]: f[3] for f in facts}
    return int(starts[m.groups()[3:]] - starts[m.groups()[:3]])


_RULES: tuple[tuple[str, Callable[..., Any]], ...] = (
    (r"came home (\d+) days later", lambda m, days, *_: str(days[0] + timedelta(days=int(m[1])))),
    (r"begun in (\d+) BC and finished (\d+) years later", _temple),
    (r"set out at (\S+) and arrived at (\S+) on", _race),
    (r"was (\d+) days old, how many days old",
     lambda m, days, *_: (days[1] + timedelta(days=int(m[1])) - days[0]).days),
    (r"(\d+) minutes and (\d+) seconds to bake (\d+) .* how long do (\d+) take", _oven),
    (r"sails every (\d+) days", _ferry),
    (r"takes off at (\S+) .*?\(UTC([+-]\d+)\) and flies for (\d+) hours, (\d+) minutes and (\d+) "
     r"seconds .*?\(UTC([+-]\d+)\)", _plane),
    (r"On how many days is it open", lambda m, days, *_: (days[1] - days[0]).days + 1),
    (r"On how many whole days was it closed", lambda m, days, *_: (days[1] - days[0]).days - 1),
    (r"How many full years old was .* at the entry “(.*?)”",
     lambda m, days, table, *_: _full_years(table["Born"], table[m[1]])),
    (r"How many full years before the current date was the entry “(.*?)”",
     lambda m, days, table, facts, today: _full_years(table[m[1]], today)),
    (r"In which year was the entry “(.*?)”", lambda m, days, table, *_: int(table[m[1]][-4:])),
    (r"On what date was the entry “(.*?)”", lambda m, days, table, *_: table[m[1]]),
    (r"How many days lie between the entries “(.*?)” and “(.*?)”",
     lambda m, days, table, *_: (_day(table[m[2]]) - _day(table[m[1]])).days),
    (r"How many full months lie between “(.*?)” and “(.*?)”", _months_between),
    (r"In which year did (\S+) (begin|cease) to be the (\S+) of (\S+)\?", _year_of_fact),
    (r"For how many years altogether was (\S+) the (\S+) of (\S+),",
     lambda m, days, table, facts, today: sum(f[4] - f[3] for f in facts if f[:3] == m.groups())),
    (r"after (\S+) began to be the (\S+) of (\S+) did (\S+) begin to be the (\S+) of (\S+)\?",
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
