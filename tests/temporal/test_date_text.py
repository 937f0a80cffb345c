"""Dates in any usual form; one that can mean two days is asked for and never guessed."""

import pytest

from agent_env.errors import ConfigError
from agent_env.temporal.date_text import DateReader, date_reader
from tests.tables import tables

CASES = tables(__file__)


@pytest.mark.parametrize(("text", "date"), CASES["dates"])
def test_usual_forms_are_read_to_the_precision_written(text, date):
    assert str(DateReader().read(text)) == date


@pytest.mark.parametrize(("text", "reason"), CASES["no_dates"])
def test_what_is_no_date_is_told_why(text, reason):
    with pytest.raises(ValueError, match=reason):
        DateReader().read(text)


def test_the_order_of_days_and_months_is_settled_asked_for_or_stated():
    for other, day in (("31/01/1992", "1992-02-01"), ("01-31-1992", "1992-01-02")):
        assert str(date_reader(["01/02/1992", other], None, "f").read("01/02/1992")) == day
    with pytest.raises(ConfigError) as caught:
        date_reader(["x", "01/02/1992", "05/05/1990"], None, "own.csv")
    assert str(caught.value) == (
        "own.csv: no date tells whether '01/02/1992' has the day or the month first; say "
        "--option date-format=day-first or month-first"
    )
    with pytest.raises(ConfigError, match="'13/02/1992' has the day first and '02/13/1992' the"):
        date_reader(["13/02/1992", "02/13/1992"], None, "own.csv")
    assert str(date_reader([], "month-first", "f").read("01/02/1992")) == "1992-01-02"
    assert str(date_reader([], "%d.%m.%y", "f").read("4.8.68")) == "2068-08-04"
    assert str(date_reader([], "%b %Y", "f").read("Aug 1968")) == "1968-08"
    with pytest.raises(ValueError, match="is not a date of the form %Y"):
        date_reader([], "%Y", "f").read("1968-08")
    with pytest.raises(ConfigError, match="date-format 'european' is unknown"):
        date_reader([], "european", "f")
