"""What a page says of itself."""

from dataclasses import replace

import pytest

from agent_env.web.extract import extract
from agent_env.web.metadata import Metadata, all_dates, day_of

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


ARTICLE = '{"@type": "NewsArticle", "datePublished": "2015-03-14", "dateModified": "2016-01-01"}'
BOOK = '{"@type": ["Book"], "datePublished": "1999-01-01"}'
X = "https://a.example/x"
FETCHED = "2024-05-06T10:00:00+00:00"
DATED_PAGES = [
    (f"{LINKED % ARTICLE}<p>x", X, {}, "2015-03-14 published json-ld, 2016-01-01 modified json-ld"),
    (f"{LINKED % BOOK}<p>x", X, {}, ""),
    (
        "<meta property='article:published_time' content='2015-04-14'>"
        f"{LINKED % ARTICLE}<meta name=lastmod content='2017-01-01'><p>x",
        X, {},
        "2015-04-14 published meta, 2017-01-01 modified meta, 2015-03-14 published json-ld, "
        "2016-01-01 modified json-ld",
    ),
    ("<meta name=date content='03/04/2015'><p>x", X, {}, ""),
    ("<meta name=date content='1970-01-01'><p>x", X, {}, ""),
    ("<meta name=date content='2031-01-01'><p>x", X, {}, ""),
    ("<meta name=date content='2024-05-07'><p>x", X, {}, "2024-05-07 published meta"),
    ("<p><time itemprop=datePublished datetime=2015-03-14T08:00>x</time>", X, {},
     "2015-03-14 published time"),
    ("<p>On <time datetime=1969-07-20>that day</time> and <time>2015-01-01</time>.", X, {}, ""),
    ("<h1>T</h1><p>Published 3 March 2015", X, {}, "2015-03-03 published text"),
    ("<h1>T</h1><p>Posted by Ann Lee on March 3rd, 2015 at 5 pm", X, {},
     "2015-03-03 published text"),
    ("<h1>T</h1><p>Last updated: <b>2016-01-02</b>", X, {}, "2016-01-02 modified text"),
    ("<h1>T</h1><p>Updated 10:30 GMT, Tuesday, 3 March 2015", X, {}, "2015-03-03 modified text"),
    ("<h1>T</h1><p>By Ann Lee | 3 March 2015<p>Text.", X, {}, "2015-03-03 unspecified text"),
    ("<h1>T</h1><p>March 2015</p><p>Text.", X, {}, "2015-03 unspecified text"),
    ("<h1>T</h1><p>Founded 3 March 2015 in Oslo.<p>3 March 1969", X, {}, ""),
    ("<p>Text.<footer>This page was last edited on 14 March 2017, at 10:00. © 2001–2023 A</footer>",
     X, {}, "2017-03-14 modified text, 2023 copyright text"),
    ("<p>The novel was published in March 1925 and the law changed on 3 March 2015.", X, {}, ""),
    ("<p>She was born 3 March 1925. Published works: 12.", X, {}, ""),
    ("<table><tr><td>Siege<td>3 March 2015</table><ul><li>4 March 2015</ul>", X, {}, ""),
    ("<p>News | Updated 3 March 2015", X, {}, "2015-03-03 modified text"),
    ("<p>x", "https://a.example/2015/03/14/slug", {}, "2015-03-14 published url"),
    ("<p>x", "https://a.example/news/2015-03-14-slug.html", {}, "2015-03-14 published url"),
    ("<p>x", "https://a.example/blog/2015/03/slug", {}, "2015-03 published url"),
    ("<p>x", "https://a.example/2015/13/slug?day=2015-03-14#2015-03-14", {}, ""),
    ("<p>x", "https://a.example/on/1969-07-20", {}, ""),
    ("<p>x", X, {"last-modified": "Sat, 14 Mar 2015 10:00:00 GMT"}, "2015-03-14 modified header"),
    ("<p>x", X, {"last-modified": "Thu, 01 Jan 1970 00:00:01 GMT"}, ""),
    ("<p>x", X, {"last-modified": "Tue, 01 Jan 1980 00:00:00 GMT"}, ""),
    ("<p>x", X, {"last-modified": "Mon, 06 May 2024 09:55:00 GMT"}, ""),
    ("<p>x", X, {"last-modified": "Sat, 14 Mar 2015 10:00:00 GMT",
                 "date": "Sat, 14 Mar 2015 10:00:01 GMT"}, ""),
    ("<p>x", X, {"date": "Sat, 14 Mar 2015 10:00:00 GMT"}, ""),
    ("<meta name=date content=2020-01-01><p>x", X,
     {"memento-datetime": "Sat, 14 Mar 2015 10:00:00 GMT"}, "2015-03-14 captured archive"),
]  # fmt: skip


@pytest.mark.parametrize(("html", "url", "headers", "dates"), DATED_PAGES)
def test_every_date_is_read_with_its_source_and_what_is_none_is_not(html, url, headers, dates):
    found = all_dates(extract(html).metadata.dates, url, headers, FETCHED)
    assert ", ".join(f"{each.day} {each.kind} {each.source}" for each in found) == dates


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2020-02-30", None),
        ("2020-02-29", "2020-02-29"),
        ("Mon, 06 Jan 2020 10:00:00 GMT", "2020-01-06"),
        ("Jan 6, 2020", "2020-01-06"),
        ("September 16, 2020", "2020-09-16"),
        ("3 days ago", None),
        ("20200102", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_a_day_is_read_or_not_at_all(text, day):
    assert day_of(text) == day
