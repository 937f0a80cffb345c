"""How the tests compare a calendar with a library of other origin."""

from collections.abc import Callable
from datetime import date

Convert = Callable[[date], tuple[int, int, int]]


def disagreements(calendar, other):
    """Where `other` does not see the first day of a month, or the last of all, as one.

    Where all months begin alike, all their days agree, as both sides count them off; the
    comparison of each single day is made by benchmarks/calendar_agreement.py.
    """
    begins = [span.first for span in calendar.months_between(calendar.first, calendar.last)]
    found = []
    for day in (*begins, calendar.last):
        ours, theirs = calendar.from_gregorian(day), other(day)
        if theirs != (ours.year, ours.month, ours.day):
            found.append(f"{day}: {ours} against {theirs}")
    return found
