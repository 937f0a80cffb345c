"""Answers on labelled lines: what is read, and what is not guessed at."""

import pytest

from agent_env.features.facts.event_facts import Unreadable, labelled, read_bound, read_years
from tests.tables import each

DAY = ["1805-10-21", "21 October 1805", "October 21st, 1805", "1805/10/21", "1805–10–21"]
DATES = {
    "1805-10-21": DAY,
    "1805-10": ["1805-10", "October 1805"],
    "1805": ["1805"],
    "unknown": ["unknown"],
    "ongoing": ["ONGOING", "still lasts"],
}
YEARS = {
    "1908;1948;2012": ["1908, 1948, 2012", "2012; 1908 and 1948"],
    "1914~1918": ["1914-1918", "1914 to 1916, 1917, and 1918"],
    "1908": ["1908, 1908"],
    "unknown": ["Unknown"],
}
NONE = {
    read_bound: [
        "c. 1805", "1805 or 1806", "in the autumn", "1805-13-01", "10/11/1805", "180",
        "1805-10-21, 1805-10-22", "none", "not before 1805-10-21", "490 BC", "",
    ],
    read_years: ["", "1908, 48", "three times", "1948-1908", "19088", "1908?"],
}  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), each(DATES))
def test_a_date_is_read_at_its_own_precision(line, expected):
    assert read_bound(line) == expected


@pytest.mark.parametrize(("line", "expected"), each(YEARS))
def test_years_are_read_as_a_list_or_as_spans(line, expected):
    assert read_years(line) == expected


@pytest.mark.parametrize(("line", "read"), each(NONE))
def test_a_line_that_names_no_one_date_or_is_no_list_of_years_is_unreadable(line, read):
    with pytest.raises(Unreadable):
        read(line)


def test_the_last_label_of_its_own_line_counts():
    text = "FIRST: 1800\nI think again.\n**First:** 1805\n> last : `1806`\n"
    assert labelled(text, ("FIRST", "LAST")) == {"FIRST": "1805", "LAST": "1806`"}
    assert labelled("My FIRST: guess", ("FIRST",)) == labelled("", ("FIRST",)) == {}
