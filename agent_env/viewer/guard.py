"""What keeps traces from harming their reader, and other web pages from reading traces.

Guaranteed: a page of the viewer runs no script but its own file, loads nothing from elsewhere and
stands in no frame; a request that names another host than this one (DNS rebinding) or that another
site sent is refused, and so is everything but GET and HEAD.
Not guaranteed: that other users of this machine cannot connect to the port.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Around the whole app; `port` is the one that it is served on."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        if port == 80:
            self._hosts |= {"127.0.0.1", "localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if headers.getlist("host") not in [[host] for host in self._hosts]:
            addresses = " or ".join(f"http://{host}" for host in sorted(self._hosts))
            return PlainTextResponse(f"This viewer answers at {addresses} only.\n", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("The viewer only reads.\n", 405, {"allow": "GET, HEAD"})
        if headers.get("sec-fetch-site") == "cross-site" and (
            headers.get("sec-fetch-mode") != "navigate"
            or headers.get("sec-fetch-dest") != "document"
        ):
            return PlainTextResponse("Not for other sites.\n", 403)
        return None
