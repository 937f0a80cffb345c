"""Search providers of ours keep the contract, and one that breaks it is told how."""

import httpx
import pytest

from agent_env.records.pages import Hit
from agent_env.testing import FakeSearch, Nonconformance, check_search
from tests.web.providers.services import NAMES, Service, provider_at, reply, two_results


@pytest.mark.parametrize("name", NAMES)
def test_each_live_provider_conforms(name):
    class AtItsService:
        """Asks a server that gives two results to everything."""

        async def search(self, query, limit):
            async with (
                Service([reply(two_results(name))]) as service,
                httpx.AsyncClient(verify=False) as http,
            ):
                return await provider_at(name, service.url, http=http).search(query, limit)

    check_search(AtItsService)


def test_the_fake_conforms():
    check_search(FakeSearch({"moon": [Hit(url="https://a.example/", title="A", snippet="")]}))


def test_a_provider_is_told_of_each_breach():
    class Odd:
        name = "odd"

        async def search(self, query, limit):
            if not query:
                raise KeyError(query)
            return [Hit(url="a", title="", snippet="", published="May")] * (2 if limit == 1 else 1)

    with pytest.raises(Nonconformance) as caught:
        check_search(Odd())
    lines = str(caught.value).splitlines()
    assert lines[:4] == [
        "search provider odd: query 'moon': 'a' is not an http address and cannot be opened",
        "search provider odd: query 'moon': a has no title; give its address where there is none",
        "search provider odd: query 'moon': a is of 'May'; write YYYY-MM-DD, or None",
        "search provider odd: query 'moon' gave 2 hits where 1 were asked for",
    ]
    assert lines[4].startswith("search provider odd: query '' raised KeyError: '' at ")
    assert lines[4].endswith("raise a ToolError where the model can mend it, else a SearchError")
