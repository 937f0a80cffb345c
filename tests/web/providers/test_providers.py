"""Each live provider: what it sends and what it makes of a reply in the documented shape."""

import json

import pytest

from agent_env.errors import SearchError, ToolError
from agent_env.records.pages import Hit
from tests.tables import tables
from tests.web.providers.services import KEY, NAMES, body_of, reply, row_of, search, two_results

FOUND = [
    Hit(url="https://a.example/1", title="Full moon", snippet="It rose at 5 & set."),
    Hit(url="https://b.example/2", title="New moon", snippet="Dark."),
]


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"wikipedia"}))
def test_every_provider_gives_title_address_and_plain_snippet(name):
    assert search(name, reply(two_results(name)))[0] == FOUND


def test_wikipedia_makes_the_address_from_the_title():
    match = '<span class="searchmatch">Battle</span> of 1643 &quot;won&quot;'
    title = "Battle of Rocroi (1643) & after?"
    rows = [row_of("wikipedia", None, title, match)]
    hits, service = search("wikipedia", reply(body_of("wikipedia", rows)))
    url = f"{service.url}/wiki/Battle_of_Rocroi_(1643)_%26_after%3F"
    assert hits == [Hit(url=url, title=title, snippet='Battle of 1643 "won"')]


REQUESTS = tables(__file__)["requests"]


HEADERS = {
    "brave": ("x-subscription-token", KEY),
    "tavily": ("authorization", f"Bearer {KEY}"),
    "exa": ("x-api-key", KEY),
    "serper": ("x-api-key", KEY),
    "openai": ("authorization", f"Bearer {KEY}"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_request_is_what_the_service_documents_with_the_key_in_its_header_alone(name):
    _, service = search(name, reply(two_results(name)))
    (asked,) = service.asked
    parts = asked.body if asked.method == "POST" else asked.parameters
    assert [asked.method, asked.path, parts] == REQUESTS[name]
    header, value = HEADERS.get(name, ("x-none", None))
    assert asked.headers.pop(header, None) == value
    assert KEY not in json.dumps([asked.path, asked.parameters, asked.headers, asked.body])


EMPTY = [
    *((name, body_of(name, rows)) for name in NAMES for rows in ([], None)),
    ("brave", {"type": "search", "query": {"original": "x"}}),
    ("brave", {"type": "search", "web": None}),
    ("serper", {"searchParameters": {"q": "x"}, "credits": 1}),
]


@pytest.mark.parametrize(("name", "body"), EMPTY)
def test_nothing_found_is_no_error_and_brave_and_serper_may_leave_the_list_out(name, body):
    assert search(name, reply(body))[0] == []


def test_searxng_without_results_names_the_engines_that_are_down():
    body = body_of("searxng", [])
    body["unresponsive_engines"] = [["bing", "timeout"], ["qwant", "CAPTCHA"]]
    with pytest.raises(ToolError, match="did not answer: bing, qwant; try again later"):
        search("searxng", reply(body))


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_are_half_empty_are_read_as_far_as_they_go(name):
    rows = [
        row_of(name, "https://a.example/1", None, "lost"),
        row_of(name, "https://b.example/2", "Kept", None),
        {},
        None,
        "text",
        row_of(name, 7, 7, ["x", None]),
        row_of(name, "https://b.example/2", "Kept", "again"),
    ]
    hits, service = search(name, reply(body_of(name, rows)))
    lost = ("https://a.example/1", "https://a.example/1", "lost")
    kept = ("https://b.example/2", "Kept", "")
    expected = [(f"{service.url}/wiki/Kept", "Kept", "")] if name == "wikipedia" else [lost, kept]
    assert [(hit.url, hit.title, hit.snippet) for hit in hits] == expected


def test_exa_reads_a_summary_or_the_text_where_there_are_no_highlights():
    parts = (
        {"highlights": ["One.", "Two."]},
        {"highlights": [], "summary": "Sum."},
        {"text": "Whole text."},
    )
    rows = [{"url": f"https://a.example/{n}", "title": "A"} | row for n, row in enumerate(parts)]
    hits, _ = search("exa", reply(body_of("exa", rows)))
    assert [hit.snippet for hit in hits] == ["One. … Two.", "Sum.", "Whole text."]


@pytest.mark.parametrize("name", NAMES)
def test_no_more_hits_than_asked_for(name):
    rows = [row_of(name, f"https://a.example/{n}", f"T{n}", "s") for n in range(30)]
    assert len(search(name, reply(body_of(name, rows)), limit=3)[0]) == 3


@pytest.mark.parametrize("name", NAMES)
def test_a_service_is_not_asked_for_more_than_it_gives(name):
    _, service = search(name, reply(two_results(name)), limit=500)
    sent = service.asked[0].body or service.asked[0].parameters
    fields = ("count", "max_results", "numResults", "num", "srlimit")
    most = {"brave": ["20"], "tavily": [20], "exa": [100], "serper": [100], "wikipedia": ["50"]}
    assert [sent[field] for field in fields if sent.get(field)] == most.get(name, [])


@pytest.mark.parametrize("name", NAMES)
def test_results_of_another_shape_are_not_taken_for_an_empty_list(name):
    renamed = body_of(name, [{"uri": "https://a.example/1", "heading": "A"}])
    for body in ({}, {"status": "ok"}, body_of(name, {"a": 1}), renamed):
        with pytest.raises(SearchError, match="check that the base URL is right"):
            search(name, reply(body))


@pytest.mark.parametrize("name", NAMES)
def test_queries_that_cannot_be_sent_are_the_models_to_mend(name):
    answer = reply(two_results(name))
    with pytest.raises(ToolError, match="the query is empty"):
        search(name, answer, query=" \n ")
    with pytest.raises(ToolError, match=r"the query has \d+ characters; write at most \d+"):
        search(name, answer, query="moon " * 1000)


@pytest.mark.parametrize("name", NAMES)
def test_odd_letters_in_a_query_are_sent_as_they_can_be(name):
    _, service = search(name, reply(two_results(name)), query="春节\ud800 &q=1#?")
    sent = service.asked[0].body or service.asked[0].parameters
    assert any(str(value).endswith("春节� &q=1#?") for value in sent.values())


def test_openais_consulted_pages_follow_the_cited_ones():
    body, third = two_results("openai"), "https://c.example/3"
    sources = [{"type": "url", "url": url} for url in ("https://b.example/2", third)]
    body["output"][0]["action"]["sources"] = sources
    hits, _ = search("openai", reply(body))
    assert [hit.url for hit in hits] == ["https://a.example/1", "https://b.example/2", third]
    assert [hit.title for hit in hits] == ["Full moon", "New moon", third]


@pytest.mark.parametrize(
    ("name", "field", "day"),
    [
        ("brave", "page_age", "2020-05-02T10:00:00"),
        ("tavily", "published_date", "Sat, 02 May 2020 10:00:00 GMT"),
        ("exa", "publishedDate", "2020-05-02T00:00:00.000Z"),
        ("serper", "date", "May 2, 2020"),
        ("searxng", "publishedDate", "2020-05-02T00:00:00"),
    ],
)
def test_the_day_that_a_service_gives_a_page_is_kept(name, field, day):
    rows = [
        row_of(name, f"https://a.example/{n}", "A", "x") | {field: text}
        for n, text in enumerate((day, "3 days ago"))
    ]
    hits, _ = search(name, reply(body_of(name, rows)))
    assert [hit.published for hit in hits] == ["2020-05-02", None]
