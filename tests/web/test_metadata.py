"""What a page says of itself."""

from dataclasses import replace

import pytest

from agent_env.web.extract import extract
from agent_env.web.metadata import Metadata, all_dates, day_of
from tests.tables import tables

LINKED = '<script type="application/ld+json">%s</script>'


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<html lang=EN_us><p>x", Metadata("en-us")),
        ("<meta http-equiv=content-language content='de, en'><p>x", Metadata("de")),
        ("<html lang='no language at all'><p>x", Metadata()),
        (
            "<meta property='article:published_time' content='2020-02-03T10:00:00+02:00'>"
            "<meta property='article:modified_time' content='2021-02-03'><p>x",
            Metadata(None, "2020-02-03", "2021-02-03"),
        ),
        ("<meta name=citation_date content='2019/5/7'><p>x", Metadata(None, "2019-05-07")),
        ("<meta name=date content='nonsense'><p>x", Metadata()),
        (
            LINKED % '{"@graph": [{"@type": "X"}, {"datePublished": "2001-06-06T00:00:00Z",'
            '"dateModified": "2024-01-01"}]}',
            Metadata(None, "2001-06-06", "2024-01-01"),
        ),
        (LINKED % '{"datePublished": ["2001-06-06"]}', Metadata()),
        (LINKED % "{broken", Metadata()),
        (LINKED % ("[" * 5000), Metadata()),
        ("<article><time datetime=2018-01-02T03:04></article>", Metadata(None, "2018-01-02")),
        ("<article><time datetime=2018-01-02></time><time datetime=2019-01-02></time>", Metadata()),
    ],
)  # fmt: skip
def test_language_and_days_are_read_where_they_are_told(html, found):
    assert replace(extract(html.encode()).metadata, dates=()) == found


CASES = tables(__file__)


@pytest.mark.parametrize(("html", "url", "headers", "dates"), CASES["pages"])
def test_every_date_is_read_with_its_source_and_what_is_none_is_not(html, url, headers, dates):
    found = all_dates(extract(html).metadata.dates, url, headers, "2024-05-06T10:00:00+00:00")
    assert ", ".join(f"{each.day} {each.kind} {each.source}" for each in found) == dates


@pytest.mark.parametrize(("text", "day"), [*CASES["days"], (None, None), (7, None)])
def test_a_day_is_read_or_not_at_all(text, day):
    assert day_of(text) == (day or None)
