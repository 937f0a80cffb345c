from __future__ import annotations

from datetime import date

import pytest
from convertdate import coptic as convertdate_coptic

from agent_env.temporal.systems.base import CalendarDate, NoSuchDate
from agent_env.temporal.systems.coptic import Coptic

from .oracles import disagreements


@pytest.mark.parametrize(
    ("when", "day"),
    [
        (CalendarDate(1740, 1, 1), "2023-09-12"),  # Nayrouz after a leap year
        (CalendarDate(1741, 1, 1), "2024-09-11"),
        (CalendarDate(1740, 4, 29), "2024-01-08"),
        (CalendarDate(1739, 13, 6), "2023-09-11"),
    ],
)
def test_known_days_convert_both_ways(when: CalendarDate, day: str) -> None:
    assert Coptic().to_gregorian(when) == date.fromisoformat(day)
    assert Coptic().from_gregorian(date.fromisoformat(day)) == when


def test_the_little_month_has_a_sixth_day_only_in_leap_years() -> None:
    with pytest.raises(NoSuchDate, match="no day 6; its days are 1 to 5"):
        Coptic().to_gregorian(CalendarDate(1740, 13, 6))


def test_every_month_of_the_range_agrees_with_convertdate() -> None:
    def other(day: date) -> tuple[int, int, int]:
        return convertdate_coptic.from_gregorian(day.year, day.month, day.day)

    assert disagreements(Coptic(), other) == []
