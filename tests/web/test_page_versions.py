"""Versions: how far from the day they are, what is an error page, and a frozen web of a day."""

from contextlib import AsyncExitStack

import pytest

from agent_env.errors import ConfigError, ToolError
from agent_env.testing import page
from agent_env.web.as_of import days_before, is_challenge_page, is_error_page
from agent_env.web.opened import open_frozen
from agent_env.web.page_store import SqlitePages
from agent_env.wiring.web import WebOptions, settings_of
from tests.loops import in_loop
from tests.tables import tables

A, B = "https://a.example/", "https://b.example/"


CASES = tables(__file__)
LONG = ("HTTP 404", "HTTP 404 is a status code. " * 100, False)
MOMENT = ("Just a moment", "One sentence. " * 200, False)


@pytest.mark.parametrize(("title", "text", "is_one"), [*CASES["errors"], LONG])
def test_a_short_page_that_only_says_that_there_is_none(title, text, is_one):
    assert is_error_page(title, text) is is_one


@pytest.mark.parametrize(("title", "text", "is_one"), [*CASES["checks"], MOMENT])
def test_a_page_that_only_checks_its_reader_is_known(title, text, is_one):
    assert is_challenge_page(title, text) is is_one


def test_the_distance_is_in_days_and_never_negative():
    assert days_before("2015-03-01T23:59:59Z", "2015-03-31") == 30
    assert days_before("2015-03-01T00:00:00Z", "2015-03-01") == 0
    assert days_before("2026-01-01T00:00:00Z", "2015-03-01") == 0
    assert days_before("no time", "2015-03-01") is None


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "pages.db"
    store = SqlitePages(file)
    rows = (
        (A, "Anna.", "2010-05-01"),
        (A, "Boris.", "2020-05-01"),
        (B, "asked in 2021.", "2021-01-01"),
    )
    for url, text, day in rows:
        at = f"{day}T00:00:00+00:00"
        store.put_all([page(url, f"The mayor is {text}").model_copy(update={"fetched_at": at})])
    store.close()
    return file


@in_loop
async def frozen(file, as_of, does, days=()):
    async with AsyncExitStack() as stack:
        settings = settings_of(WebOptions("frozen", pages=file, as_of=as_of), days)
        assert settings.search == "stored"
        return await does(open_frozen(settings, file, stack))


async def reads(web):
    hits = await web.search.search("mayor", 5)
    return sorted((hit.url, hit.snippet) for hit in hits), (await web.fetcher.fetch(A)).text


ANNA, BORIS, ASKED = (f"The mayor is {name}" for name in ("Anna.", "Boris.", "asked in 2021."))
OF_DAYS = {
    "2015-01-01": ([(A, ANNA)], ANNA),
    "2020-12-31": ([(A, BORIS)], BORIS),
    "2022-01-01": ([(A, BORIS), (B, ASKED)], BORIS),
}


@pytest.mark.parametrize("day", OF_DAYS)
def test_a_frozen_web_opens_and_ranks_what_was_there_that_day(file, day):
    assert frozen(file, day, reads) == OF_DAYS[day]


def test_a_frozen_web_of_no_day_gives_that_of_each_day_of_the_conditions(file):
    days = ["2015-01-01", "2022-01-01"]

    async def in_turn(web):
        assert web.on(days[0]) is web.on(days[0])
        return [await reads(web.on(day)) for day in (*days, days[0])]

    assert frozen(file, None, in_turn, days) == [OF_DAYS[day] for day in (*days, days[0])]
    with pytest.raises(ConfigError, match=r"as of 2009-01-01: .* its first is of 2010-05-01"):
        settings_of(WebOptions("frozen", pages=file), ["2015-01-01", "2009-01-01"])


@pytest.mark.parametrize("days", [{"as_of": "2015-01-01"}, {}])
def test_a_search_whose_results_state_no_dates_is_refused_where_all_would_be_withheld(days):
    options = {"mode": "live", "search": "wikipedia=https://a.example", **days}
    with pytest.raises(ConfigError, match="results of wikipedia state no dates, so that as of 201"):
        settings_of(WebOptions(**options), [] if days else ["2014-01-01"])
    if days:
        assert settings_of(WebOptions(**options, undated="count")).undated == "count"


def test_a_page_that_was_not_yet_there_is_told(file):
    with pytest.raises(ToolError, match=rf"^{B} did not exist on 2015-01-01; open another"):
        frozen(file, "2015-01-01", lambda web: web.fetcher.fetch(B))


def test_days_that_no_store_can_serve_are_refused_before_a_run(file, tmp_path):
    with pytest.raises(ConfigError, match=r"as of 2010-04-30: .* its first is of 2010-05-01"):
        settings_of(WebOptions("frozen", pages=file, as_of="2010-04-30"))
    then = tmp_path / "then.db"
    SqlitePages(then, as_of="2015-01-01").put_all([page(A, "x")])
    with pytest.raises(ConfigError, match="pages as of 2015-01-01 alone; say which with --as-of"):
        settings_of(WebOptions("frozen", pages=then, search="stored"))
