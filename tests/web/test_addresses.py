"""The address guard: what may be reached, and how many ways there are to write what may not."""

import asyncio
from ipaddress import ip_address

import pytest

from agent_env.errors import ToolError
from agent_env.web.addresses import checked_addresses, is_public, parse_target
from agent_env.web.fetch import HttpFetcher
from agent_env.wiring.trust import own_call

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
TRICKY = r"""
http://127.0.0.1/ http://127.0.0.1:8080/ http://127.1/ http://127.0.1/ http://2130706433/
http://0x7f000001/ http://0x7f.0.0.1/ http://0X7F.1/ http://0177.0.0.1/ http://017700000001/
http://127.0.0.1./ http://127.0.0.1.../ http://127.255.255.254/ http://0/ http://0.0.0.0/
http://0.1.2.3/ http://00000000.00000000.0.0/ http://10.0.0.1/ http://172.16.0.1/
http://172.31.255.255/ http://192.168.1.1/ http://169.254.169.254/latest/meta-data/
http://2852039166/latest/ http://0xa9fea9fe/ http://0251.0376.0251.0376/ http://169.254.43518/
http://100.64.0.1/ http://100.100.100.200/ http://168.63.129.16/ http://192.0.0.192/
http://198.18.0.1/ http://192.0.2.1/ http://224.0.0.1/ http://240.0.0.1/ http://255.255.255.255/
http://[::1]/ http://[::]/ http://[0:0:0:0:0:0:0:1]/ http://[::ffff:127.0.0.1]/
http://[::ffff:7f00:1]/ http://[::ffff:169.254.169.254]/ http://[::127.0.0.1]/
http://[64:ff9b::7f00:1]/ http://[64:ff9b::10.0.0.1]/ http://[64:ff9b:1::1]/
http://[2002:7f00:1::]/ http://[2002:a9fe:a9fe::1]/ http://[2001:0:53aa:64c:0:fbff:80ff:fffe]/
http://[2606:4700::5efe:7f00:1]/ http://[2606:4700::200:5efe:a00:1]/ http://[fe80::1]/
http://[fe80::1%25eth0]/ http://[fc00::1]/ http://[fd00:ec2::254]/ http://[ff02::1]/
http://[2001:db8::1]/ http://[100::1]/ http://[5f00::1]/ http://[1.2.3.4]/ http://[::1
http://localhost/ http://LOCALHOST./ http://app.localhost/ http://metadata.google.internal/
http://printer.local/ http://router/ http://router.lan/ http://x.home.arpa/
http://user@93.184.216.34/ http://93.184.216.34:80@127.0.0.1/ http://a.example@127.0.0.1/
http://127.0.0.1#@a.example/ http://a.example\@127.0.0.1/ http://127.0.0.1\a.example/
http://127.0.0.1%00.a.example/ http://127%2e0%2e0%2e1/ http://a.example%2f@127.0.0.1/
http://①②⑦.⓪.⓪.①/ http://127。0。0。1/ http://１２７.0.0.1/ http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/
http://93.184.216.34:22/ http://93.184.216.34:25/ http://93.184.216.34:6379/
http://93.184.216.34:0/ http://93.184.216.34:65536/ http://93.184.216.34:-1/
file:///etc/passwd file://127.0.0.1/etc/passwd ftp://a.example/ gopher://127.0.0.1:6379/_INFO
data:text/html,hello javascript:alert(1) //127.0.0.1/ http:127.0.0.1 http:///etc http://
http://.example.com/ http://a..example/ http://-/ http://xn--a.com./
""".split()
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
