"""One GET to an address that was checked.

Guaranteed: the connection goes to the very addresses given and nowhere else, while Host header,
SNI and the certificate check use the URL's own name; proxies, .netrc, certificates and cookies of
the environment play no part; no connection is used twice, so that none serves another name.
Redirects are not followed here. Not covered: HTTP/2, client certificates.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx

from agent_env.errors import ToolError
from agent_env.version import __version__
from agent_env.web.addresses import Address, Target, shortened_url
from agent_env.web.fetch_body import ENCODINGS, FetchLimits

PRODUCT = "agent-env"
"""Our name in robots.txt and at the head of the User-Agent."""
_ACCEPT = "text/html,application/xhtml+xml,text/plain;q=0.9,application/pdf;q=0.8,*/*;q=0.5"


def user_agent(contact: str = "") -> str:
    """Who asks; `contact` is an e-mail address or URL for the sites' operators."""
    who = f"{PRODUCT}/{__version__}"
    return f"{who} ({contact}) httpx/{httpx.__version__}" if contact else who


@asynccontextmanager
async def opened(
    target: Target,
    addresses: Sequence[Address],
    *,
    agent: str,
    tls: ssl.SSLContext,
    limits: FetchLimits,
) -> AsyncIterator[httpx.Response]:
    """The response, its body unread; what goes wrong in the block is told as ToolError."""
    try:
        async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
            response = await _answer(transport, target, addresses, agent, limits)
            try:
                yield response
            finally:
                await response.aclose()
    except httpx.HTTPError as exc:
        raise ToolError(f"{shortened_url(target.host)} {_error_text(exc)}") from exc
    except (OSError, ValueError) as exc:
        raise ToolError(f"{shortened_url(target.host)} broke off the connection") from exc


async def _answer(
    transport: httpx.AsyncHTTPTransport,
    target: Target,
    addresses: Sequence[Address],
    agent: str,
    limits: FetchLimits,
) -> httpx.Response:
    """From the first address that takes the connection."""
    for number, address in enumerate(addresses, 1):
        try:
            return await transport.handle_async_request(_request(target, address, agent, limits))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            if number == len(addresses):
                raise
    raise AssertionError("a target has an address")


def _request(target: Target, address: Address, agent: str, limits: FetchLimits) -> httpx.Request:
    url = httpx.URL(target.url)
    waits = httpx.Timeout(limits.time_s, connect=limits.connect_s).as_dict()
    is_name = str(address) != target.host
    return httpx.Request(
        "GET",
        url.copy_with(host=str(address)),
        headers={
            "host": url.netloc.decode("ascii"),
            "user-agent": agent,
            "accept": _ACCEPT,
            "accept-language": "en,*;q=0.5",
            "accept-encoding": ENCODINGS,
            "connection": "close",
        },
        extensions={"timeout": waits, **({"sni_hostname": target.host} if is_name else {})},
    )


def _error_text(error: httpx.HTTPError) -> str:
    """What the server did, for the model."""
    match error:
        case httpx.ConnectTimeout():
            return "did not take the connection in time"
        case httpx.TimeoutException():
            return "did not answer in time"
        case httpx.ConnectError() if "certificate" in str(error).lower():
            return "has a certificate that is not valid for it"
        case httpx.ConnectError():
            return "took no connection"
        case httpx.RemoteProtocolError() | httpx.DecodingError():
            return "sent an answer that is not proper HTTP"
    return "broke off the connection"
