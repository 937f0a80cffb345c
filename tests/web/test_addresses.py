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
TRICKY = tables(__file__)["tricky"].split()
TRICKY += [f"http://{name}/" for name in NAMES]
TRICKY += ["", " ", "http://a.example/\r\nHost: 127.0.0.1", "http://127.0.0.1\t.a.example/"]
TRICKY += ["http://" + "a" * 64 + ".com/", "http://" + "a." * 130 + "com/", "1" * 100_000]


async def resolve(host, port):
    if host not in NAMES:
        raise OSError("no such host")
    return NAMES[host]


@pytest.mark.parametrize("url", TRICKY, ids=lambda url: repr(url)[:50])
def test_a_tricky_url_is_refused_before_anything_is_sent(url):
    """The fetcher says what the guard alone says, which never connects."""

    async def guard():
        await checked_addresses(parse_target(url), resolve, is_public)

    with pytest.raises(ToolError) as by_guard:
        asyncio.run(guard())
    with pytest.raises(ToolError) as by_fetcher:
        asyncio.run(HttpFetcher(resolve=resolve, obey_robots=False, permit=own_call()).fetch(url))
    assert str(by_fetcher.value) == str(by_guard.value)
    assert len(str(by_guard.value)) < 400
    assert str(by_guard.value).isprintable()


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("HTTP://Example.COM./a#b", "http://example.com/a"),
        (" https://example.com ", "https://example.com/"),
        ("https://example.com:443/?q=a b", "https://example.com/?q=a%20b"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
        ("http://93.184.216.34:8080/", "http://93.184.216.34:8080/"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
        ("https://en.wikipedia.org/wiki/A_(b)", "https://en.wikipedia.org/wiki/A_(b)"),
        ("https://a_b.example.com/%2Fx", "https://a_b.example.com/%2Fx"),
    ],
)
def test_an_ordinary_url_has_one_writing(url, plain):
    assert parse_target(url).url == plain
    assert parse_target(plain).url == plain


@pytest.mark.parametrize(
    "address",
    """1.1.1.1 93.184.216.34 172.15.0.1 172.32.0.1 100.63.255.255 100.128.0.1 169.253.0.1
    192.0.1.1 198.20.0.1 223.255.255.255 2606:4700::1111 2a00::1 ::ffff:1.1.1.1
    64:ff9b::1.1.1.1""".split(),
)
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


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8889/", "http://127.0.0.1/", "http://127.0.0.2:8888/",
        "http://2130706433:8888/", "http://0x7f.1:8888/", "http://[::ffff:127.0.0.1]:8888/",
        "http://localhost:8888/", "http://search.lan/", "http://search.lan:80/",
        "http://x.search.lan:8080/", "http://search.lan:8080@10.0.0.1/", "http://u@127.0.0.1:8888/",
        "https://[::1]/", "file://127.0.0.1:8888/",
    ],
)  # fmt: skip
def test_an_opened_host_opens_no_other_writing_port_or_name(url):
    async def guard():
        target = parse_target(url, OPEN)
        assert target.site not in OPEN
        await checked_addresses(target, resolve, is_public)

    with pytest.raises(ToolError):
        asyncio.run(guard())
