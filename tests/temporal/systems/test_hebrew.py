from datetime import date

import pytest
from convertdate import hebrew as convertdate_hebrew

from agent_env.temporal.systems.base import CalendarDate, NoSuchDate
from agent_env.temporal.systems.hebrew import Hebrew

from .oracles import disagreements


@pytest.mark.parametrize(
    ("when", "day"),
    [
        (CalendarDate(5708, 2, 5), "1948-05-14"),  # declaration of independence
        (CalendarDate(5784, 7, 1), "2023-09-16"),  # Rosh Hashanah
        (CalendarDate(5785, 7, 1), "2024-10-03"),
        (CalendarDate(5784, 9, 25), "2023-12-08"),  # Hanukkah
        (CalendarDate(5784, 13, 14), "2024-03-24"),  # Purim
        (CalendarDate(5784, 1, 15), "2024-04-23"),  # Passover
    ],
)
def test_known_days_convert_both_ways(when, day):
    assert Hebrew().to_gregorian(when) == date.fromisoformat(day)
    assert Hebrew().from_gregorian(date.fromisoformat(day)) == when


def test_adar_is_adar_one_only_in_a_leap_year():
    assert Hebrew().month_name(CalendarDate(5784, 12, 1)) == "Adar I"
    assert Hebrew().month_name(CalendarDate(5784, 13, 1)) == "Adar II"
    assert Hebrew().month_name(CalendarDate(5783, 12, 1)) == "Adar"


def test_a_common_year_has_no_adar_two():
    with pytest.raises(NoSuchDate, match=r"no month 13 \(Adar II\) in year 5783"):
        Hebrew().to_gregorian(CalendarDate(5783, 13, 1))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_month_of_the_range_agrees_with_convertdate():
    def other(day):
        return convertdate_hebrew.from_gregorian(day.year, day.month, day.day)

    assert disagreements(Hebrew(), other) == []
