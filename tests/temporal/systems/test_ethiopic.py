from __future__ import annotations

from datetime import date

import pytest
from convertdate import coptic as convertdate_coptic

from agent_env.temporal.systems.base import CalendarDate
from agent_env.temporal.systems.ethiopic import Ethiopic

from .oracles import disagreements


@pytest.mark.parametrize(
    ("when", "day"),
    [
        (CalendarDate(1888, 6, 23), "1896-03-01"),  # the battle of Adwa
        (CalendarDate(2000, 1, 1), "2007-09-12"),  # the millennium
        (CalendarDate(2016, 1, 1), "2023-09-12"),
        (CalendarDate(2017, 1, 1), "2024-09-11"),  # Enkutatash
        (CalendarDate(2017, 1, 17), "2024-09-27"),  # Meskel
    ],
)
def test_known_days_convert_both_ways(when: CalendarDate, day: str) -> None:
    assert Ethiopic().to_gregorian(when) == date.fromisoformat(day)
    assert Ethiopic().from_gregorian(date.fromisoformat(day)) == when


def test_every_month_of_the_range_is_convertdates_coptic_one_276_years_on() -> None:
    def other(day: date) -> tuple[int, int, int]:
        year, month, number = convertdate_coptic.from_gregorian(day.year, day.month, day.day)
        return year + 276, month, number

    assert disagreements(Ethiopic(), other) == []
