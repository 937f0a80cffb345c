"""The address guard: what may be reached, and how many ways there are to write what may not."""

import asyncio
from ipaddress import ip_address

import pytest

from agent_env.errors import ToolError
from agent_env.web.addresses import checked_addresses, is_public, parse_target
from agent_env.web.fetch import HttpFetcher
from agent_env.wiring.trust import own_call
from tests.tables import tables

NAMES = {
    "localtest.example.com": ["127.0.0.1"],
    "127.0.0.1.nip.example.net": ["127.0.0.1"],
    "six.example.com": ["::1"],
    "inside.example.com": ["10.1.2.3"],
    "metadata.example.com": ["169.254.169.254"],
    "half.example.com": ["93.184.216.34", "192.168.0.1"],
    "mapped.example.com": ["::ffff:10.0.0.1"],
    "scoped.example.com": ["fe80::1%2"],
    "nothing.example.com": [],
    "odd.example.com": ["not an address"],
}
CASES = tables(__file__)
TRICKY = CASES["tricky"].split()
TRICKY += [f"http://{name}/" for name in NAMES]
TRICKY += ["", " ", "http://a.example/\r\nHost: 127.0.0.1", "http://127.0.0.1\t.a.example/"]
TRICKY += ["http://" + "a" * 64 + ".com/", "http://" + "a." * 130 + "com/", "1" * 100_000]


async def resolve(host, port):
    if host not in NAMES:
        raise OSError("no such host")
    return NAMES[host]


async def reached(url, opened=frozenset()):
    """Asks the guard alone, which never connects."""
    target = parse_target(url, opened)
    assert target.site not in opened
    await checked_addresses(target, resolve, is_public)


@pytest.mark.parametrize("url", TRICKY, ids=lambda url: repr(url)[:50])
async def test_a_tricky_url_is_refused_before_anything_is_sent(url):
    """The fetcher says what the guard alone says."""
    with pytest.raises(ToolError) as by_guard:
        await reached(url)
    with pytest.raises(ToolError) as by_fetcher:
        await HttpFetcher(resolve=resolve, obey_robots=False, permit=own_call()).fetch(url)
    said = str(by_guard.value)
    assert str(by_fetcher.value) == said
    assert (len(said) < 400, said.isprintable()) == (True, True)


@pytest.mark.parametrize(("url", "plain"), CASES["plain"])
def test_an_ordinary_url_has_one_writing(url, plain):
    assert parse_target(url).url == plain
    assert parse_target(plain).url == plain


@pytest.mark.parametrize("address", CASES["public"].split())
def test_neighbours_of_closed_ranges_are_public(address):
    assert is_public(ip_address(address))


def test_what_a_user_allows_is_asked_of_the_address_inside_too():
    """A caller who allows everything but loopback means loopback however it is wrapped."""
    for host in ("[::ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]", "127.0.0.1"):
        target = parse_target(f"http://{host}/")
        with pytest.raises(ToolError):
            asyncio.run(checked_addresses(target, resolve, lambda ip: not ip.is_loopback))


OPEN = frozenset({"127.0.0.1:8888", "[::1]:80", "search.lan:8080"})


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8888/a", "http://[::1]/", "http://SEARCH.lan:8080/?q=1"]
)
def test_a_host_that_the_user_opened_is_reached_at_its_port(url):
    assert parse_target(url, OPEN).site in OPEN


@pytest.mark.parametrize("url", CASES["closed"].split())
async def test_an_opened_host_opens_no_other_writing_port_or_name(url):
    with pytest.raises(ToolError):
        await reached(url, OPEN)
