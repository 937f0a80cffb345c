"""Pages of a day: which are later, which bear no date, and which mention later days."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.records.pages import StatedDay
from agent_env.testing import page
from agent_env.web.as_of import AsOf, dates_of, later_mention
from tests.tables import tables

DAY, SEEN = "2020-06-30", "2026-01-01T00:00:00Z"
CASES = tables(__file__)


@pytest.mark.parametrize("text", CASES["later"])
def test_a_text_that_speaks_of_later_days_is_seen(text):
    found = later_mention(f"The town is old. It was founded in 1300.\n{text}\nThe end.", DAY, SEEN)
    assert found is not None
    assert found in text


@pytest.mark.parametrize("text", CASES["not_later"])
def test_days_before_plans_and_other_numbers_are_not(text):
    assert later_mention(f"The town is old.\n{text}\nThe end.", DAY, SEEN) is None


def test_what_lies_after_the_fetch_cannot_be_known_and_is_no_later_day():
    text = "In 2022 he became mayor."
    assert later_mention(text, DAY, "2021-12-31T00:00:00Z") is None
    assert later_mention(text, DAY, "2022-01-01T00:00:00Z") == text
    assert later_mention(text, DAY, None) == text


@given(st.text(alphabet="in since2019 20.-–:()©\n", max_size=80))
def test_no_text_speaks_of_days_after_the_last_year_that_it_names(text):
    assert later_mention(text, "2099-12-31", None) is None


def look(asked, page):
    return asked.look(dates_of(page), page.text, page.fetched_at)


def made(text="Text.", url="https://a.example/", **fields):
    return page(url, text).model_copy(update=fields)


def dated(*days, **fields):
    """A page with these dates, each `day kind`."""
    stated = [each.split() for each in days]
    dates = tuple(StatedDay(day=day, kind=kind, source="meta") for day, kind in stated)
    return made(dates=dates, **fields)


@pytest.mark.parametrize(("days", "flags"), CASES["dates"])
def test_the_latest_of_all_dates_decides_and_an_earlier_capture_proves(days, flags):
    asked = AsOf(DAY)
    assert look(asked, dated(*days)).flags == tuple(flags)
    assert (asked.reason(flags) is None) == (not {"later", "undated"} & set(flags))


def test_a_page_without_a_date_is_withheld_counted_or_served_unless_fetched_by_then():
    found = {way: look(AsOf(DAY, way), made()).flags for way in ("withhold", "count", "serve")}
    assert found == {"withhold": ("undated",), "count": ("undated",), "serve": ()}
    reason = "it has no date, so it may be from a day after 2020-06-30"
    assert AsOf(DAY).reason(("undated",)) == reason
    assert AsOf(DAY, "count").reason(("undated",)) is None
    old = made("In 2022 he was mayor.", fetched_at="2020-06-30T23:00:00Z")
    assert look(AsOf(DAY), old).flags == ()


def test_dates_that_nobody_looked_for_are_found_in_the_body_address_and_fields():
    body = b"<meta name=date content=2014-01-01><p>Text."
    days = {"modified": "2024-05-06", "published": "2014-01-01"}
    old = made("", "https://a.example/2015/03/14/x", body=body, **days)
    assert [(each.day, each.source) for each in dates_of(old)] == [
        ("2014-01-01", "meta"), ("2015-03-14", "url"), ("2024-05-06", "fetcher"),
    ]  # fmt: skip
    clock = {"last-modified": "Tue, 31 Dec 2025 23:59:59 GMT"}
    assert dates_of(made(modified="2025-12-31", headers=clock)) == ()


def test_the_latest_date_and_the_words_that_show_a_leak_are_told():
    leaky = dated("2015-01-01 published", text="One. In 2022 he became mayor. Two.")
    found = look(AsOf(DAY), leaky)
    assert (found.flags, found.mention) == (("mentions-later",), "In 2022 he became mayor.")
    assert found.latest == StatedDay(day="2015-01-01", kind="published", source="meta")
