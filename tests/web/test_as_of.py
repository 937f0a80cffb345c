"""Pages of a day: which are later, which bear no date, and which mention later days."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.records.pages import StatedDay
from agent_env.testing import page
from agent_env.web.as_of import AsOf, dates_of, later_mention

DAY, SEEN = "2020-06-30", "2026-01-01T00:00:00Z"
LATER = [
    "Ann Lee has led the ministry since 2021.",
    "The bridge was closed on 3 July 2020.",
    "It opened again in March 2021, after repairs.",
    "In 2022 he became mayor.",
    "She was president until 2023 and then retired.",
    "The record (Miller et al. 2021) stands.",
    "Governor, 2018–2022",
    "2021: Oslo | 3",
    "Copyright 2019-2024 The Authors",
    "© 2023",
    "Retrieved 2021-02-03 from the archive.",
    "More <https://a.example/2021/03/05/news>",
    "He died on July 4th, 2021.",
    "Jan. 2021 was cold.",
    "It fell in late 2021.",
]
NOT_LATER = [
    "The war of 1982 ended on 14 June 1982.",
    "It opened on 30 June 2020.",
    "In 2020 it was closed.",
    "The Games will take place on 23 July 2021.",
    "Completion is expected in 2023, as was said in May.",
    "By 2025 the town plans to have two bridges.",
    "See pp. 2019–2022 of the report.",
    "ISBN 978-0-2021-2022-3, ISO 8601:2021, RFC 2022",
    "The hall, Room 2022, was painted.",
    "It weighed 2021 kg and cost $2,023 or 12.2021.",
    "Phone: 555 2021 2022",
    "In 2021 BC the king was crowned.",
    "Forecasts for 2050 were made.",
    "It was finished in 2027.",
    "The model 2021 was sold.",
]


@pytest.mark.parametrize("text", LATER)
def test_a_text_that_speaks_of_later_days_is_seen(text):
    found = later_mention(f"The town is old. It was founded in 1300.\n{text}\nThe end.", DAY, SEEN)
    assert found is not None
    assert found in text


@pytest.mark.parametrize("text", NOT_LATER)
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


def dated(*days):
    """A page with these dates, each `day kind`."""
    stated = [each.split() for each in days]
    dates = tuple(StatedDay(day=day, kind=kind, source="meta") for day, kind in stated)
    return page("https://a.example/", "Text.").model_copy(update={"dates": dates})


@pytest.mark.parametrize(
    ("days", "flags"),
    [
        (["2020-07-01 published"], ("later",)),
        (["2020-06-30 published"], ()),
        (["2015-01-01 published", "2025-01-01 modified"], ("later", "changed")),
        (["2020-06 published"], ("later",)),
        (["2020-05 published"], ()),
        (["2020 unspecified"], ("later",)),
        (["2019 unspecified"], ()),
        ([], ("undated",)),
        (["2015 copyright"], ("undated",)),
        (["2015-01-01 published", "2024 copyright"], ("mentions-later",)),
        (["2019-01-01 captured", "2015-01-01 published"], ()),
        (["2019-01-01 captured"], ()),
        (["2021-01-01 captured", "2015-01-01 published"], ("later", "changed")),
    ],
)
def test_the_latest_of_all_dates_decides_and_an_earlier_capture_proves(days, flags):
    asked = AsOf(DAY)
    found = look(asked, dated(*days))
    assert found.flags == flags
    assert (asked.reason(flags) is None) == (not {"later", "undated"} & set(flags))


def test_a_page_without_a_date_is_withheld_counted_or_served_unless_fetched_by_then():
    plain = page("https://a.example/", "Text.")
    found = {way: look(AsOf(DAY, way), plain).flags for way in ("withhold", "count", "serve")}
    assert found == {"withhold": ("undated",), "count": ("undated",), "serve": ()}
    assert AsOf(DAY).reason(("undated",)) == (
        "it has no date, so it may be from a day after 2020-06-30"
    )
    assert AsOf(DAY, "count").reason(("undated",)) is None
    old = page("https://a.example/", "In 2022 he was mayor.").model_copy(
        update={"fetched_at": "2020-06-30T23:00:00Z"}
    )
    assert look(AsOf(DAY), old).flags == ()


def test_dates_that_nobody_looked_for_are_found_in_the_body_address_and_fields():
    old = page("https://a.example/2015/03/14/x", "").model_copy(
        update={
            "body": b"<meta name=date content=2014-01-01><p>Text.",
            "modified": "2024-05-06",
            "published": "2014-01-01",
        }
    )
    assert [(each.day, each.source) for each in dates_of(old)] == [
        ("2014-01-01", "meta"), ("2015-03-14", "url"), ("2024-05-06", "fetcher"),
    ]  # fmt: skip
    clock = {"last-modified": "Tue, 31 Dec 2025 23:59:59 GMT"}
    made = page("https://a.example/", "x").model_copy(
        update={"modified": "2025-12-31", "headers": clock}
    )
    assert dates_of(made) == ()


def test_the_latest_date_and_the_words_that_show_a_leak_are_told():
    leaky = dated("2015-01-01 published").model_copy(
        update={"text": "One. In 2022 he became mayor. Two."}
    )
    found = look(AsOf(DAY), leaky)
    assert (found.flags, found.mention) == (("mentions-later",), "In 2022 he became mayor.")
    assert found.latest == StatedDay(day="2015-01-01", kind="published", source="meta")
