"""What a page says of itself."""

from dataclasses import replace

import pytest

from agent_env.web.extract import extract
from agent_env.web.metadata import Metadata, all_dates, day_of
from tests.tables import tables

CASES = tables(__file__)
NESTED = '<script type="application/ld+json">' + "[" * 5000 + "</script>"


@pytest.mark.parametrize(
    ("html", "language", "published", "modified"), [*CASES["told"], (NESTED, "", "", "")]
)
def test_language_and_days_are_read_where_they_are_told(html, language, published, modified):
    found = Metadata(language or None, published or None, modified or None)
    assert replace(extract(html.encode()).metadata, dates=()) == found


@pytest.mark.parametrize(("html", "url", "headers", "dates"), CASES["pages"])
def test_every_date_is_read_with_its_source_and_what_is_none_is_not(html, url, headers, dates):
    found = all_dates(extract(html).metadata.dates, url, headers, "2024-05-06T10:00:00+00:00")
    assert ", ".join(f"{each.day} {each.kind} {each.source}" for each in found) == dates


@pytest.mark.parametrize(("text", "day"), [*CASES["days"], (None, None), (7, None)])
def test_a_day_is_read_or_not_at_all(text, day):
    assert day_of(text) == (day or None)
