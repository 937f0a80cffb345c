"""Fetching from real servers on loopback: redirects, addresses, manners. The server is below."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TypeVar

import pytest

from agent_env.errors import ToolError
from agent_env.web.fetch import HttpFetcher
from agent_env.web.fetch_request import FetchLimits
from agent_env.wiring.trust import own_call
from tests.programs import needs

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]
Made = TypeVar("Made")
HOME = ip_address("127.0.0.1")
"""The one address that the tests let pass, in the place of the public ones."""


def at_home(address):
    return address == HOME


async def by_home(host, port):
    return [str(HOME)]


def reply(body, kind="text/html", status="200 OK", *more):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *more]
    lines += [f"Content-Type: {kind}"] if kind else []
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def moved(to, status="302 Found"):
    return reply(b"moved", "text/html", status, f"Location: {to}")


@dataclass
class Site:
    """A server that answers paths with raw bytes; unknown paths with 404."""

    answers: Mapping[str, Answer]
    url: str = ""
    heads: list[str] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)
    busy: int = 0
    busiest: int = 0

    @property
    def paths(self):
        return [head.split(" ")[1] for head in self.heads]

    async def serve(self, reader, writer):
        self.busy += 1
        self.busiest = max(self.busy, self.busiest)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            self.reached.append(writer.get_extra_info("sockname")[0])
            answer = self.answers.get(head.split(" ")[1]) or reply(b"", status="404 Not Found")
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)
        self.busy -= 1
        writer.close()


@asynccontextmanager
async def serving(answers, tls=None):
    site = Site(answers)
    server = await asyncio.start_server(site.serve, ["127.0.0.1"], ssl=tls)
    port = server.sockets[0].getsockname()[1]
    site.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield site
    finally:
        server.close()


def with_site(answers, act):
    async def run():
        async with asyncio.timeout(300), serving(answers) as site:
            return await act(site)

    return asyncio.run(run())


def fetching(**options):
    """One that lets the home address pass, and asks for no robots.txt."""
    return HttpFetcher(**{"allow": at_home, "obey_robots": False, "permit": own_call(), **options})


def fetched(answers, path="/", **options):
    return with_site(answers, lambda site: fetching(**options).fetch(site.url + path))


def refused(answers, path="/", **options):
    with pytest.raises(ToolError) as caught:
        fetched(answers, path, **options)
    assert len(str(caught.value)) < 700
    return str(caught.value)


HTML = b"<html><title>Title</title><body><p>Some text.</p></body></html>"


def test_a_page_has_title_text_headers_without_cookies_and_the_bytes_as_they_came():
    page = fetched({"/": reply(HTML)}, clock=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert (page.title, page.text, page.body) == ("Title", "Some text.", HTML)
    assert (page.status, page.content_type) == (200, "text/html")
    assert page.fetched_at == "2026-01-02T03:04:05+00:00"
    head = ("Set-Cookie: a=secret", "Last-Modified: Mon, 06 Jan 2020 10:00:00 GMT", "ETag: 7")
    page = fetched({"/": reply(b"<html lang=de><p>x", "text/html", "200 OK", *head)})
    assert (page.language, page.published, page.modified) == ("de", None, "2020-01-06")
    assert page.headers["etag"] == "7"
    assert "secret" not in str(page.headers)
    assert page.extractor.startswith("agent-env-html/")


def test_the_request_is_polite_and_tells_nothing_of_the_user():
    async def act(site):
        fetcher = fetching(contact="a@b.example")
        for _ in range(2):
            await fetcher.fetch(site.url + "/")
        return site.heads[1].lower()

    head = with_site({"/": reply(HTML, "text/html", "200 OK", "Set-Cookie: a=b")}, act)
    for words in ("user-agent: agent-env/", "(a@b.example)", "\r\nhost: 127.0.0.1:"):
        assert words in head
    assert ("cookie" in head, "referer" in head) == (False, False)


def test_redirects_are_followed_and_the_page_says_where_it_was():
    answers = {"/a": moved("b?x=1"), "/b?x=1": moved("/c#part"), "/c": reply(HTML)}
    assert fetched(answers, "/a").url.endswith("/c")


@pytest.mark.parametrize(
    "to",
    """http://169.254.169.254/latest/meta-data/ http://127.0.0.2/ http://[::1]/ //127.0.0.2/
    http://2852039166/ file:///etc/passwd ftp://x.example/ http://metadata.google.internal/
    http://u:p@93.184.216.34/ http://localhost:80/ http://[::ffff:169.254.169.254]/ http://[x
    javascript:alert(1) http://127.0.0.1:22/""".split(),
)
def test_a_redirect_to_a_closed_address_is_refused(to):
    assert "redirects" in refused({"/": moved(to)})


def test_eight_redirects_are_followed_and_loops_and_longer_chains_are_named():
    assert "in a loop" in refused({"/": moved("/a"), "/a": moved("/")})
    assert "in a loop" in refused({"/": moved("/")})
    chain = {f"/{n}": moved(f"/{n + 1}") for n in range(8)}
    assert fetched({**chain, "/8": reply(HTML)}, "/0").title == "Title"
    assert "more than 8 times" in refused({**chain, "/8": moved("/9"), "/9": reply(HTML)}, "/0")


def at_names(*answers):
    """A resolver that gives these addresses one after the other."""
    rest = iter(answers)

    async def resolve(host, port):
        return next(rest)

    return resolve


def named(site):
    return site.url.replace("127.0.0.1", "name.example.com")


def test_the_connection_goes_to_the_address_that_was_checked():
    """Rebinding: after the first answer the name leads to a closed address."""

    async def act(site):
        fetcher = fetching(resolve=at_names(["127.0.0.1"], ["127.0.0.2"]))
        page = await fetcher.fetch(named(site))
        with pytest.raises(ToolError, match="not on the public internet"):
            await fetcher.fetch(named(site))
        return site, page

    site, page = with_site({"/": reply(HTML)}, act)
    assert site.reached == ["127.0.0.1"]
    assert "\r\nhost: name.example.com:" in site.heads[0].lower()
    assert page.url.startswith("http://name.example.com:")


def test_a_name_that_turns_to_a_closed_address_during_redirects_is_refused():
    rebound = at_names(["127.0.0.1"], ["127.0.0.1", "10.0.0.1"])
    with pytest.raises(ToolError, match=r"redirects: .* not on the public internet"):
        with_site({"/": moved("/b")}, lambda site: fetching(resolve=rebound).fetch(named(site)))


def test_the_next_address_is_tried_where_one_takes_no_connection():
    options = {"allow": lambda ip: ip.is_loopback, "resolve": at_names(["127.0.0.3", "127.0.0.1"])}
    page = with_site({"/": reply(HTML)}, lambda site: fetching(**options).fetch(named(site)))
    assert page.title == "Title"


def test_proxies_of_the_environment_are_ignored(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert fetched({"/": reply(HTML)}).title == "Title"


def test_a_host_is_asked_by_two_at_a_time_and_waiting_costs_no_fetch_its_time():
    """Two requests are answered once both are there and the pages before them are read; to the
    loop's clock that takes 12 s: the last pair has waited for 36 s, more than a fetch may take."""
    pairs, unread = asyncio.Barrier(2), asyncio.Semaphore(2)
    late_s = [0.0]

    async def slow(writer):
        await unread.acquire()
        if await pairs.wait() == 0:
            late_s[0] += 12.0
        writer.write(reply(HTML))

    async def fetch(fetcher, url):
        await fetcher.fetch(url)
        unread.release()

    async def act(site):
        loop = asyncio.get_running_loop()
        clock = loop.time
        loop.time = lambda: clock() + late_s[0]
        fetcher = fetching(limits=FetchLimits(time_s=30.0))
        await asyncio.gather(*(fetch(fetcher, f"{site.url}/{n}") for n in range(8)))
        return site.busiest

    assert with_site({f"/{n}": slow for n in range(8)}, act) == 2


@pytest.fixture
def tls(tmp_path):
    """What a server with a certificate of its own needs, and a client that trusts it."""
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem"
    command += " -subj /CN=site.example.com -addext subjectAltName=DNS:site.example.com"
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    return server, ssl.create_default_context(cafile=tmp_path / "cert.pem")


@needs("openssl")
async def test_the_certificate_is_checked_for_the_name_and_not_for_the_address(tls):
    server, trusting = tls
    async with serving({"/": reply(HTML)}, server) as site:
        url = site.url.replace("127.0.0.1", "site.example.com")
        other = url.replace("site", "x")
        for wrong, context in ((site.url, trusting), (other, trusting), (url, None)):
            with pytest.raises(ToolError, match="certificate"):
                await fetching(tls=context, resolve=by_home).fetch(wrong)
        page = await fetching(tls=trusting, resolve=by_home).fetch(url)
    assert page.title == "Title"


def test_a_host_that_the_user_opened_is_fetched_and_no_other_port_of_it():
    async def act(site):
        own = frozenset({site.url.removeprefix("http://")})
        fetcher = HttpFetcher(open_hosts=own, obey_robots=False, permit=own_call())
        with pytest.raises(ToolError, match="not on the public internet"):
            await fetcher.fetch("http://127.0.0.1:8081/")
        return (await fetcher.fetch(site.url + "/")).text

    assert with_site({"/": reply(b"<p>Home.")}, act) == "Home."
