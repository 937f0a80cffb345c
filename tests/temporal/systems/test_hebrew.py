import pytest
from convertdate import hebrew as convertdate_hebrew

from agent_env.temporal.systems.base import CalendarDate, NoSuchDate
from agent_env.temporal.systems.hebrew import Hebrew

from .oracles import disagreements


def test_adar_is_one_or_two_by_the_year():
    assert Hebrew().month_name(CalendarDate(5784, 12, 1)) == "Adar I"
    assert Hebrew().month_name(CalendarDate(5784, 13, 1)) == "Adar II"
    assert Hebrew().month_name(CalendarDate(5783, 12, 1)) == "Adar"
    with pytest.raises(NoSuchDate, match=r"no month 13 \(Adar II\) in year 5783"):
        Hebrew().to_gregorian(CalendarDate(5783, 13, 1))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_month_of_the_range_agrees_with_convertdate():
    def other(day):
        return convertdate_hebrew.from_gregorian(day.year, day.month, day.day)

    assert disagreements(Hebrew(), other) == []
