"""The reader of dates and numbers that all parsers state their forms to."""

import pytest

from agent_env.temporal import written
from agent_env.temporal.days import PartialDate

FORMS = written.DateForms(
    rf"(?P<d>\d{{1,2}}) (?P<m>{written.ANY_MONTH})(?: (?P<y>\d{{4}}))?",
    r"(?P<a>\d{1,2})(?P<sep>[/-])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4})",
    r"(?P<y>\d{4})",
    before=r"(?<!\w)",
    after=r"(?!\w)",
)


def test_dates_months_and_numbers_in_words():
    found = list(FORMS.find("on 5 Sept 1990, 13/02/2003 and in 1817"))
    assert [(each.form, each.at, each.date) for each in found] == [
        (0, (3, 14), PartialDate(1990, 9, 5)),
        (1, (16, 26), PartialDate(2003, 2, 13)),
        (2, (34, 38), PartialDate(1817)),
    ]
    assert found[1].parts == {"a": "13", "sep": "/", "b": "02", "y": "2003"}
    ambiguous, impossible, without_year = FORMS.find("01/02/2003, 30 Feb 2001, 5 May")
    assert (ambiguous.date, impossible.date, without_year.date) == (None, None, None)
    assert [ambiguous.is_unclear, impossible.is_unclear, without_year.is_unclear] == [
        True,
        False,
        False,
    ]
    assert (without_year.month, without_year.day) == (5, 5)
    assert FORMS.read("1/2/1990", written.DAY_FIRST) == next(
        FORMS.find("1/2/1990", written.DAY_FIRST)
    )
    assert FORMS.read("in 1990") is None
    texts = ("September", "sep", "Sept.", "09", "Septem", "x")
    assert [written.month_number(text) for text in texts] == [9, 9, 9, 9, None, None]
    texts = ("one hundred and five", "twenty-five", "two thousand", "five six", "x")
    assert [written.in_words(text) for text in texts] == [105, 25, 2000, None, None]


@pytest.mark.parametrize(
    ("first", "second", "order", "expected"),
    [
        (13, 2, None, (13, 2)),
        (2, 13, None, (13, 2)),
        (2, 2, None, (2, 2)),
        (1, 2, None, None),
        (1, 2, written.DAY_FIRST, (1, 2)),
        (1, 2, written.MONTH_FIRST, (2, 1)),
        (1, 13, written.DAY_FIRST, (13, 1)),
    ],
)
def test_the_order_decides_only_where_both_are_possible(first, second, order, expected):
    assert written.day_and_month(first, second, order) == expected
