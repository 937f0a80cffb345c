"""How fast a service is asked, and what belongs to whom."""

import asyncio
import subprocess
import sys

import httpx
import pytest

from agent_env.errors import ConfigError
from agent_env.web.providers.api import Pace
from agent_env.web.providers.catalogue import make_provider
from agent_env.web.providers.client import plain, shortened
from agent_env.wiring.trust import own_plugins
from tests.tables import tables
from tests.web.providers.services import KEY, Service, reply, two_results, with_service


def eight(**settings):
    """The service after eight searches at once."""

    async def use(provider, service):
        await asyncio.gather(*(provider.search(f"moon {n}", 5) for n in range(8)))
        return service

    return with_service("exa", [reply(two_results("exa"))], use, **settings)


def test_searches_start_no_faster_than_the_pace():
    """A tenth of a second lies between starts; a busy machine may make the first arrive late."""
    times = sorted(asked.at for asked in eight(pace=Pace(per_second=10.0, at_once=8)).asked)
    assert times[-1] - times[0] >= 0.5


def test_no_more_requests_are_in_flight_than_allowed():
    assert eight(delay_s=0.3, pace=Pace(per_second=1000.0, at_once=3)).busiest == 3


@pytest.mark.parametrize("pace", [Pace(0.0), Pace(-1.0), Pace(float("nan")), Pace(1.0, 0)])
def test_a_pace_that_never_starts_is_refused(pace):
    with pytest.raises(ConfigError, match="a search pace needs"):
        make_provider("exa", KEY, pace=pace, plugins=own_plugins())


async def test_a_client_from_outside_stays_open():
    async with Service(reply(two_results("exa"))) as service, httpx.AsyncClient() as http:
        provider = make_provider("exa", KEY, service.url + "/", http=http, plugins=own_plugins())
        hits = await provider.search("moon", 1)
        await provider.close()
        assert ([hit.title for hit in hits], http.is_closed) == (["Full moon"], False)


def test_the_table_of_providers_imports_none_of_them():
    code = (
        "import sys, agent_env.web.providers.catalogue\n"
        "print('httpx' in sys.modules, 'agent_env.web.providers.brave' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["False", "False"]


OTHERS = [("half \ud83c letter", "half � letter"), (None, ""), ({"a": "b"}, "")]
PARTS = (["One", None, 3, " <i>two</i> "], "One … two")


@pytest.mark.parametrize(("given", "expected"), [*tables(__file__)["texts"], *OTHERS, PARTS])
def test_texts_become_one_plain_line(given, expected):
    assert plain(given, "") == expected


def test_hostile_texts_are_read_in_no_time_and_long_ones_cut_at_a_word():
    for text in ("<script>" * 100_000, "<" * 800_000, "<!--" * 200_000, "&" * 800_000):
        assert len(plain(text, "")) <= 20_000
    assert shortened("one two three", 10) == "one two …"
    assert shortened("one two", 10) == "one two"
