"""robots.txt: what it says, and how it is asked for."""

import asyncio
import time

import pytest

from agent_env.errors import ToolError
from agent_env.web.fetch import Robots
from tests.tables import tables
from tests.web.test_fetch import HTML, fetching, moved, reply, with_site


def test_the_site_is_asked_once_and_obeyed():
    async def act(site):
        fetcher = fetching(obey_robots=True)
        await asyncio.gather(*(fetcher.fetch(site.url + "/open") for _ in range(3)))
        with pytest.raises(ToolError, match=r"closed to programs by the site's robots\.txt"):
            await fetcher.fetch(site.url + "/closed/x")
        return site.paths

    rules = reply(b"User-agent: *\nDisallow: /closed/\n", "text/plain")
    paths = with_site({"/robots.txt": rules, "/open": reply(HTML)}, act)
    assert sorted(paths) == ["/open", "/open", "/open", "/robots.txt"]


def test_redirects_of_pages_and_of_rules_to_what_is_closed_are_not_followed():
    answers = {"/robots.txt": reply(b"User-agent: *\nDisallow: /b", ""), "/a": moved("/b")}
    with pytest.raises(ToolError, match=r"redirects: .*robots\.txt"):
        _get(answers, "/a")
    answers = {"/robots.txt": moved("http://169.254.169.254/"), "/": reply(HTML)}
    with pytest.raises(ToolError, match="not on the public internet"):
        _get(answers, "/")


@pytest.mark.parametrize("status", ["404 Not Found", "401 Unauthorized", "403 Forbidden"])
def test_a_site_without_rules_is_open(status):
    answers = {"/robots.txt": reply(b"", "", status), "/": reply(HTML)}
    assert _get(answers, "/") == ["/robots.txt", "/"]


def test_a_site_whose_rules_fail_is_closed_and_asked_again_later():
    async def act(site):
        fetcher = fetching(obey_robots=True)
        for _ in range(2):
            with pytest.raises(ToolError, match="counts as closed"):
                await fetcher.fetch(site.url + "/")
        return site.paths

    answers = {"/robots.txt": reply(b"", "", "503 Busy"), "/": reply(HTML)}
    assert with_site(answers, act) == ["/robots.txt"] * 2


@pytest.mark.parametrize(("rules", "path", "allowed"), tables(__file__)["rules"])
def test_rules_mean_what_the_rfc_says(rules, path, allowed):
    assert Robots(rules, "agent-env").allows(path) is allowed


def test_a_pattern_made_to_cost_time_does_not():
    since = time.process_time()
    Robots("User-agent: *\nDisallow: /" + "*a" * 5000 + "b$", "x").allows("/" + "a" * 9000)
    assert time.process_time() - since < 1


def _get(answers, path):
    async def act(site):
        await fetching(obey_robots=True).fetch(site.url + path)
        return site.paths

    return with_site(answers, act)
