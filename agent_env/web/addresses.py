"""Which addresses may be reached, and what a URL really names.

Guaranteed: a URL passes only as http or https, without user name or password, with a host that
is a full domain name or an address in its usual writing; decimal, octal, hexadecimal and short
forms are refused, whatever they stand for. A name passes only if every address it resolves to
does. Addresses that carry an IPv4 address inside (mapped, NAT64, ISATAP) are judged by both.
Not covered: services of this machine's owner that listen on public addresses, and NAT64 prefixes
that a network chose for itself.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx

from agent_env.errors import ToolError

Address = IPv4Address | IPv6Address
Allow = Callable[[Address], bool]
"""Whether an address may be reached."""
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""All addresses of a host name, in the order to try them; OSError where it has none."""

_CLOSED_V4 = tuple(
    IPv4Network(text)
    for text in """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12
    192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24
    203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
    """.split()
)
"""IANA's special-purpose registry, multicast, and a cloud's host service with a public number."""

_OPEN_V6 = IPv6Network("2000::/3")
_CLOSED_V6 = tuple(
    IPv6Network(text) for text in "2001::/23 2001:db8::/32 2002::/16 3fff::/20".split()
)
"""Teredo and other protocol assignments, documentation, 6to4."""
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home.arpa", "onion")
_OTHER_SERVICES = frozenset({2049, 6000, 6379, *range(6665, 6670), 6697, 11211})


def is_public(address: Address) -> bool:
    """Whether the address belongs to the public internet."""
    inner = _inside(address)
    if inner is not None and not is_public(inner):
        return False
    if isinstance(address, IPv4Address):
        return not any(address in net for net in _CLOSED_V4)
    if address.ipv4_mapped is not None or address in _NAT64:
        return True
    return address in _OPEN_V6 and not any(address in net for net in _CLOSED_V6)


def _inside(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return None
    number = int(address)
    carries = address in _NAT64 or (number >> 32) & 0xFFFFFFFF in _ISATAP
    return address.ipv4_mapped or (IPv4Address(number & 0xFFFFFFFF) if carries else None)


@dataclass(frozen=True, slots=True)
class SafeUrl:
    """A URL that may be asked for, as far as its writing tells."""

    url: str
    """In one writing: lower-case host, no fragment, no trailing dot."""
    scheme: str
    host: str
    """A domain name in ASCII or an address, without brackets."""
    port: int

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def site(self) -> str:
        """HOST:PORT, an IPv6 address in brackets."""
        return _site(self.host, self.port)

    @property
    def path(self) -> str:
        """Path and query as they are sent."""
        return httpx.URL(self.url).raw_path.decode("ascii")


def parse_target(text: str, open_hosts: frozenset[str] = frozenset()) -> SafeUrl:
    """What a URL names; ToolError says what is wrong with it.

    The hosts and ports in `open_hosts` (HOST:PORT) may be of a local network.
    """
    url = _parse_url(text)
    if url.userinfo:
        raise ToolError(f"{shortened_url(text)} has a user name or password in it; leave that out")
    port = url.port if url.port is not None else {"http": 80, "https": 443}[url.scheme]
    host_text = url.raw_host.decode("ascii").lower()
    if _site(host_text, port) in open_hosts:
        plain = url.copy_with(raw_path=url.raw_path, fragment=None)
        return SafeUrl(str(plain), url.scheme, host_text, port)
    host = _checked_host(url.raw_host.decode("ascii"), text)
    if port not in (80, 443) and (port < 1024 or port > 65535 or port in _OTHER_SERVICES):
        raise ToolError(f"{shortened_url(text)} names port {port}, where no web pages are served")
    plain = url.copy_with(host=host, raw_path=url.raw_path, fragment=None)
    return SafeUrl(str(plain), url.scheme, host, port)


def _site(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _parse_url(text: str) -> httpx.URL:
    text = text.strip()
    if "\\" in text or not text.isprintable():
        raise ToolError(f"{shortened_url(text)} has a backslash or control character in it")
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError) as exc:
        raise ToolError(f"{shortened_url(text)} is not a URL that can be opened") from exc
    if url.scheme not in ("http", "https"):
        raise ToolError(
            f"{shortened_url(text)} cannot be opened; give a URL beginning with https://"
        )
    return url


def _checked_host(host: str, text: str) -> str:
    """The host in one writing; `text` is the URL it is in."""
    try:
        return str(ip_address(host.removesuffix(".")))
    except ValueError:
        pass
    name = host.removesuffix(".").lower()
    labels = name.split(".")
    if len(name) > 250 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ToolError(f"{shortened_url(text)} has no valid host name")
    if _NUMBER.fullmatch(labels[-1]):
        raise ToolError(
            f"{shortened_url(text)} has a host in an unusual number form; give its name"
        )
    if len(labels) == 1 or name.endswith(tuple(f".{end}" for end in _LOCAL_NAMES)):
        raise ToolError(
            f"{shortened_url(text)} names a host of a local network, which cannot be opened"
        )
    return name


async def checked_addresses(target: SafeUrl, resolve: Resolve, allow: Allow) -> tuple[Address, ...]:
    """The addresses of the target, in the order to try them; ToolError unless all are allowed.

    Connect to these and to nothing else: a name may resolve otherwise a moment later.
    """
    try:
        addresses = [ip_address(target.host)]
    except ValueError:
        addresses = await _resolve(target, resolve)
    if not all(_passes(address, allow) for address in addresses):
        raise ToolError(
            f"{shortened_url(target.url)} is not on the public internet and cannot be opened"
        )
    return tuple(addresses)


async def _resolve(target: SafeUrl, resolve: Resolve) -> list[Address]:
    try:
        addresses = [ip_address(text) for text in await resolve(target.host, target.port)]
    except (OSError, ValueError) as exc:
        raise ToolError(
            f"there is no host {shortened_url(target.host)}; check the address"
        ) from exc
    if not addresses:
        raise ToolError(f"there is no host {shortened_url(target.host)}; check the address")
    return list(dict.fromkeys(addresses))


def _passes(address: Address, allow: Allow) -> bool:
    """The outer address and the one inside must both be allowed; a mapped one is the inner one."""
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return False
    inner = _inside(address)
    if inner is not None and not allow(inner):
        return False
    return (inner is not None and address in _MAPPED) or allow(address)


_MAPPED = IPv6Network("::ffff:0:0/96")


async def ask_system(host: str, port: int) -> list[str]:
    """What this machine's resolver says."""
    loop = asyncio.get_running_loop()
    rows = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(row[4][0]) for row in rows]


def shortened_url(text: str, longest: int = 200) -> str:
    """A URL or name as it may be in a message: one line, cut."""
    clean = "".join(char if char.isprintable() else "?" for char in text.strip())
    return clean if len(clean) <= longest else f"{clean[:longest]}…"
