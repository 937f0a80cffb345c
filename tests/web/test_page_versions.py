"""Versions: how far from the day they are, what is an error page, and a frozen web of a day."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent_env.errors import ConfigError, ToolError
from agent_env.testing import page
from agent_env.web.as_of import days_before, is_challenge_page, is_error_page
from agent_env.web.opened import open_frozen
from agent_env.web.page_store import SqlitePages
from agent_env.wiring.web import WebOptions, settings_of

A, B = "https://a.example/", "https://b.example/"


@pytest.mark.parametrize(
    ("title", "text", "is_one"),
    [
        ("404 Not Found", "nginx", True),
        ("Page not found | Example", "Sorry, try the search.", True),
        ("Example", "The page you asked for does not exist.\nHome", True),
        ("", "This article has been removed by its author.", True),
        ("HTTP 404", "HTTP 404 is a status code. " * 100, False),
        ("Lost and found", "The page boy found the file.", False),
        ("1404", "In 1404 the town burnt down.", False),
        ("Room 404", "A film of 1998.", False),
    ],
)
def test_a_short_page_that_only_says_that_there_is_none(title, text, is_one):
    assert is_error_page(title, text) is is_one


def test_the_distance_is_in_days_and_never_negative():
    assert days_before("2015-03-01T23:59:59Z", "2015-03-31") == 30
    assert days_before("2015-03-01T00:00:00Z", "2015-03-01") == 0
    assert days_before("2026-01-01T00:00:00Z", "2015-03-01") == 0
    assert days_before("no time", "2015-03-01") is None


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "pages.db"
    store = SqlitePages(file)
    for url, text, day in (
        (A, "The mayor is Anna.", "2010-05-01"),
        (A, "The mayor is Boris.", "2020-05-01"),
        (B, "The mayor is asked in 2021.", "2021-01-01"),
    ):
        at = f"{day}T00:00:00+00:00"
        store.put_all([page(url, text).model_copy(update={"fetched_at": at})])
    store.close()
    return file


def frozen(file: Path, day: str):
    async def use(does):
        async with AsyncExitStack() as stack:
            options = WebOptions("frozen", pages=file, as_of=day)
            settings = settings_of(options)
            assert settings.search == "stored"
            return await does(open_frozen(settings, file, stack))

    return lambda does: asyncio.run(use(does))


def test_a_frozen_web_opens_and_ranks_what_was_there_that_day(file):
    async def reads(web):
        hits = await web.search.search("mayor", 5)
        return [(hit.url, hit.snippet) for hit in hits], (await web.fetcher.fetch(A)).text

    anna, boris = "The mayor is Anna.", "The mayor is Boris."
    assert frozen(file, "2015-01-01")(reads) == ([(A, anna)], anna)
    assert frozen(file, "2020-12-31")(reads) == ([(A, boris)], boris)
    hits, _ = frozen(file, "2022-01-01")(reads)
    assert sorted(hits) == [(A, boris), (B, "The mayor is asked in 2021.")]


def test_a_frozen_web_of_no_day_gives_that_of_each_day_of_the_conditions(file):
    async def read():
        async with AsyncExitStack() as stack:
            settings = settings_of(WebOptions("frozen", pages=file), ["2015-01-01", "2022-01-01"])
            web = open_frozen(settings, file, stack)
            texts = []
            for day in ("2015-01-01", "2022-01-01", "2015-01-01"):
                on_day = web.on(day)
                hits = await on_day.search.search("mayor", 5)
                texts.append((len(hits), (await on_day.fetcher.fetch(A)).text))
            assert web.on("2015-01-01") is web.on("2015-01-01")
            return texts

    anna, boris = (1, "The mayor is Anna."), (2, "The mayor is Boris.")
    assert asyncio.run(read()) == [anna, boris, anna]
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
        frozen(file, "2015-01-01")(lambda web: web.fetcher.fetch(B))


def test_days_that_no_store_can_serve_are_refused_before_a_run(file, tmp_path):
    with pytest.raises(ConfigError, match=r"as of 2010-04-30: .* its first is of 2010-05-01"):
        settings_of(WebOptions("frozen", pages=file, as_of="2010-04-30"))
    then = tmp_path / "then.db"
    SqlitePages(then, as_of="2015-01-01").put_all([page(A, "x")])
    with pytest.raises(ConfigError, match="pages as of 2015-01-01 alone; say which with --as-of"):
        settings_of(WebOptions("frozen", pages=then, search="stored"))


@pytest.mark.parametrize(
    ("title", "text", "is_one"),
    [
        ("Just a moment...", "Enable JavaScript and cookies to continue", True),
        ("www.a.example", "Verifying you are human. This may take a few seconds.", True),
        ("Attention Required! | Cloudflare", "Sorry, you have been blocked", True),
        ("Access Denied", "You don't have permission to access this server.", True),
        ("", "Our systems have detected unusual traffic from your computer network.", True),
        ("Robot Check", "Type the characters you see in this image:", True),
        ("Pardon Our Interruption", "As you were browsing something made us think", True),
        ("A moment of truth", "In a moment the wall was open.", False),
        ("Just a moment", "One sentence. " * 200, False),
        ("JavaScript", "JavaScript is a language of 1995.", False),
    ],
)
def test_a_page_that_only_checks_its_reader_is_known(title, text, is_one):
    assert is_challenge_page(title, text) is is_one
