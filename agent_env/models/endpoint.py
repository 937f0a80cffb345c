"""One model on one server: its connections, and a request sent, whole or streamed.

Guarantees: the API key goes to the base URL and nowhere else, for redirects are not followed;
whatever comes back can be written as JSON; whatever goes wrong is a ModelError (failures).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from agent_env.errors import ConfigError, ModelError
from agent_env.models.chat import Json, clean, encoded, loaded
from agent_env.models.failures import OUTPUT_LIMITS, Failures
from agent_env.models.usage import usage_of
from agent_env.permits import Permit
from agent_env.records.reach import Reach

if TYPE_CHECKING:
    import ssl

    from httpx2 import Request
    from openai import AsyncOpenAI

    from agent_env.models.streams import LoopWatch

SENT = frozenset(
    {"host", "accept", "accept-encoding", "connection", "content-length", "content-type",
     "transfer-encoding", "user-agent"}
)  # fmt: skip
"""Headers that any server gets, beside those that hold its key."""
MOST = 64 << 20  # bytes of an answer that are read
KEEPALIVE_S = 60.0  # idle connections; after the usual 5 s slow tools would cost a new one


class Endpoint:
    """One model on one server; whatever goes wrong leaves it as a ModelError of one line."""

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None,
        timeout_s: float,
        idle_s: float | None = None,
        headers: Callable[[str], Mapping[str, str]] | None = None,
        is_openai: bool = False,
        most_bytes: int = MOST,
        *,
        permit: Permit,
    ) -> None:
        """`headers` are made of the key; None stands for `Authorization: Bearer`. `is_openai`: the
        account of OpenAI that the environment names is told."""
        permit.check(Reach.ADDRESS, base_url)
        from agent_env.models.streams import IDLE_S, Pace  # the SDK: 0.5 s, spent here

        self._base_url = base_url
        self._pace = Pace(idle_s or IDLE_S, timeout_s)
        if api_key and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
            raise ConfigError("the API key holds a space, a line break or a letter outside ASCII")
        self.failures = Failures(model, _public_url(base_url), api_key or None, timeout_s)
        self._headers = headers
        self._is_openai = is_openai
        self._most_bytes = most_bytes
        self._clients: list[AsyncOpenAI] = []
        self._free: list[AsyncOpenAI] = []
        self._certificates: ssl.SSLContext | None = None

    @property
    def origin(self) -> str:
        """The model and where it is, as messages from it say."""
        return f"{self.failures.model} at {self.failures.where}"

    def origins(self, former_urls: Iterable[str]) -> frozenset[str]:
        """The same, with the addresses that the server had before."""
        before = (f"{self.failures.model} at {_public_url(url)}" for url in former_urls)
        return frozenset([self.origin, *before])

    async def post(self, path: str, body: Json, data: bytes | None = None) -> Json:
        """The reply as the server wrote it; `data` stands for the body where it is written."""
        most = next((n for name in OUTPUT_LIMITS if isinstance(n := body.get(name), int)), None)
        allowed_s, sent_at = self._pace.whole_s(most), time.monotonic()
        try:
            with self._client() as client:
                async with asyncio.timeout(allowed_s):
                    text = await client.post(path, content=data or encoded(body), cast_to=str)
        except TimeoutError:
            failure = self.failures.of_exception(
                TimeoutError(f"gave no reply within {allowed_s:.3g} s"), body
            )
        except Exception as exc:  # the SDK's, the transport's: all become ours
            failure = self.failures.of_exception(exc, body)
        else:
            answer = self._parsed(text, body)
            if (usage := usage_of(answer)) is not None:
                self._pace.add_reply(usage.output_tokens, time.monotonic() - sent_at)
            return answer
        raise failure  # out here, so that the SDK's error is not its context

    async def get(self, path: str, is_operation: bool = False) -> Json:
        """What the server shows at a path; an operation may have failed, which is not an error."""
        return self.failures.cleaned(self._parsed(await self.download(path), {}, is_operation))

    async def download(self, path: str) -> str:
        """The text at a path."""
        return await self._text(lambda client: client.get(path, cast_to=str))

    async def upload(self, path: str, name: str, data: bytes, fields: Mapping[str, str]) -> Json:
        """What the server says to a file of this name, sent as a form with these fields."""
        files = [("file", (name, data, "application/jsonl"))]
        kind = {"content-type": "multipart/form-data"}
        text = await self._text(
            lambda client: client.post(
                path, cast_to=str, body=dict(fields), files=files, options={"headers": kind}
            )
        )
        return self.failures.cleaned(self._parsed(text, {}))

    async def _text(self, send: Callable[[AsyncOpenAI], Awaitable[str]]) -> str:
        try:
            with self._client() as client:
                async with asyncio.timeout(self._pace.reply_s):
                    return await send(client)
        except Exception as exc:  # as above
            failure = self.failures.of_exception(exc, {})
        raise failure

    async def events(self, path: str, body: Json, watch: LoopWatch | None = None) -> list[Json]:
        """The events of a streamed reply, to the end of the stream, or to the loop that `watch`
        sees; where it breaks off, its error has what was said, and the cancellation has it as a
        note."""
        from agent_env.models.streams import read_stream

        received: list[Json] = []
        try:
            with self._client() as client:
                async with asyncio.timeout(self._pace.reply_s):
                    reply = await read_stream(client, path, body, self._pace, received, watch)
            if reply is None:
                return received
            self._parsed(reply.text, body)
            raise self.failures.unusable(
                f"sent {reply.kind} instead of a stream", "leave --stream off"
            )
        except ModelError:
            raise
        except asyncio.CancelledError as exc:
            exc.add_note(self.failures.partial(received) or "")
            raise
        except Exception as exc:  # as above
            failure = self.failures.of_exception(exc, body)
            failure.partial = self.failures.partial(received)
        raise failure

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
        self._clients.clear()
        self._free.clear()

    @contextmanager
    def _client(self) -> Iterator[AsyncOpenAI]:
        """A client with nothing in flight: a pool looks at all of its connections twice for each
        request, which for 1,000 in one client is most of the work."""
        if not self._free:
            self._free.append(self._new_client())
            self._clients.append(self._free[-1])
        client = self._free.pop()
        try:
            yield client
        finally:
            self._free.append(client)

    def _new_client(self) -> AsyncOpenAI:
        import httpx2  # what the SDK itself runs on
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        from agent_env.models.bounded import MOST_VALUES, hooks

        if self._certificates is None:  # reading them takes 20 ms: once for all clients
            self._certificates = httpx2.create_ssl_context()
        values = MOST_VALUES * max(1, self._most_bytes // MOST)
        bound = hooks(self._most_bytes, values)["response"]
        limits = httpx2.Limits(max_connections=1, keepalive_expiry=KEEPALIVE_S)
        return AsyncOpenAI(
            http_client=DefaultAsyncHttpxClient(
                verify=self._certificates,
                limits=limits,
                follow_redirects=False,  # the key and the question are for this address alone
                event_hooks={"request": [self._put_headers], "response": bound},
            ),
            base_url=self._base_url,
            api_key=self.failures.key or "none",
            timeout=None,  # one of ours bounds the whole call; the SDK's are five timers a call
            max_retries=0,  # retried outside, so that each attempt is in the trace
        )

    async def _put_headers(self, request: Request) -> None:
        """The key of this endpoint alone, in the API's own headers if it has some; nothing that
        the SDK took from the environment, unless the server is OpenAI."""
        key = self.failures.key or "none"
        request.headers["accept-encoding"] = "gzip"  # which is unpacked within bounds
        if not self._is_openai:
            for name in request.headers.keys() - SENT:
                del request.headers[name]
        if self._headers is None:
            request.headers["authorization"] = f"Bearer {key}"
        else:
            request.headers.pop("Authorization", None)
            request.headers.update(self._headers(key))

    def _parsed(self, text: str, body: Json, is_operation: bool = False) -> Json:
        try:
            answer = loaded(text)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            start = clean(text, self.failures.key)[:80]
            what = f"no JSON object but {start!r}" if start.strip() else "an empty body"
            raise self.failures.unusable(f"sent {what}", "check that the base URL is right")
        if answer.get("error") and not is_operation:
            raise self.failures.reported(answer["error"], body, answer=answer)
        return answer


def _has_port(parts: SplitResult) -> bool:
    """Whether its port, where it names one, is a number that a port can have."""
    try:
        return parts.port != 0
    except ValueError:
        return False


def _public_url(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not _has_port(parts):
        raise ConfigError(f"base URL {base_url!r} is not an address; write http://HOST:PORT/v1")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
