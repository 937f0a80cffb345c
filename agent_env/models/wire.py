"""What both adapters share: the parameters, the endpoint with its errors, the reading of JSON.

Guarantees: the API key goes to the base URL and nowhere else, for redirects are not followed; it
stands in no error's text and in no reply; an error has no cause attached, because the SDK's own
errors may quote the key; whatever comes back can be written as JSON.
Not covered: a key shorter than eight characters counts as a placeholder and is not blotted out.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pydantic import JsonValue

from agent_env.errors import ConfigError, ModelError
from agent_env.models.cleaning import DEEPEST, Json, clean, encoded, loaded, shallow, tree
from agent_env.models.overflow import OUTPUT_LIMITS
from agent_env.models.verdicts import Verdict, judge, retry_after_s, status_in
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, Usage

if TYPE_CHECKING:
    import ssl

    from openai import AsyncOpenAI

OURS = frozenset({"model", "messages", "input", "tools", "tool_choice", "stream", "stream_options"})
"""Fields of a request that follow from the conversation or from other options."""
KEPT_S = 60.0  # idle connections stay open; after the usual 5 s slow tools would cost a new one
UNSENT = ("ConnectError", "UnsupportedProtocol")  # no connection, so nothing was sent


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a model is to answer; None is not sent, so that the server's default holds."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    parallel_tool_calls: bool | None = None
    """Whether one reply may hold several calls."""
    system_role: Literal["system", "developer", "user"] = "system"
    """The name under which system messages are sent; `user` puts them before the first user's
    text, for models that know no other role."""
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict)
    """Fields of the request beside ours, such as vLLM's `top_k`; ours are not overridden."""

    def seed_of(self, options: ReplyOptions) -> int | None:
        """The call's own seed, or the one for all calls."""
        return self.seed if options.seed is None else options.seed

    def __post_init__(self) -> None:
        for name in self.extra_body:
            if name in OURS or getattr(self, name, None) is not None:
                raise ConfigError(f"--extra-body: '{name}' is set otherwise; take it out")

    def body(self, fields: Json) -> Json:
        """The request: the fields that are set, and those that the user adds."""
        ours = {name: value for name, value in fields.items() if value is not None}
        return ours | dict(self.extra_body)

    def led(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages as they are sent: under `user`, system texts open the first user's text."""
        if self.system_role != "user":
            return messages
        texts = [message.content for message in messages if message.role == "system"]
        rest = [message for message in messages if message.role != "system"]
        first = next((n for n, message in enumerate(rest) if message.role == "user"), None)
        if not texts or first is None:
            return messages
        content = "\n\n".join([*texts, rest[first].content])
        return [*rest[:first], Message(role="user", content=content), *rest[first + 1 :]]


class Endpoint:
    """One model on one server; whatever goes wrong leaves it as a ModelError of one line."""

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None,
        timeout_s: float,
        idle_s: float | None = None,
    ) -> None:
        from agent_env.models.streams import IDLE_S, Pace  # the SDK: 0.5 s, spent here

        self._model = model
        self._base_url = base_url
        self._key = _checked_key(api_key)
        self._where = _shown(base_url)
        self._pace = Pace(idle_s or IDLE_S, timeout_s)
        self._clients: list[AsyncOpenAI] = []
        self._free: list[AsyncOpenAI] = []
        self._certificates: ssl.SSLContext | None = None

    @property
    def origin(self) -> str:
        """The model and where it is, as messages from it say."""
        return f"{self._model} at {self._where}"

    def origins(self, former_urls: Iterable[str]) -> frozenset[str]:
        """The same, with the addresses that the server had before."""
        before = (f"{self._model} at {_shown(url)}" for url in former_urls)
        return frozenset([self.origin, *before])

    async def post(self, path: str, body: Json) -> Json:
        """The reply as the server wrote it."""
        most = next((n for name in OUTPUT_LIMITS if isinstance(n := body.get(name), int)), None)
        allowed_s, asked = self._pace.whole_s(most), time.monotonic()
        try:
            with self._client() as client:
                async with asyncio.timeout(allowed_s):
                    text = await client.post(path, content=encoded(body), cast_to=str)
        except TimeoutError:
            failure = self._failure(TimeoutError(f"gave no reply within {allowed_s:.3g} s"), body)
        except Exception as exc:  # the SDK's, the transport's: all become ours
            failure = self._failure(exc, body)
        else:
            answer = self._parsed(text, body)
            told = usage(record(answer, "usage"), "input_tokens", "output_tokens")
            self._pace.came(told.output_tokens, time.monotonic() - asked)
            return answer
        raise failure  # out here, so that the SDK's error is not its context

    async def get(self, path: str) -> Json:
        """What the server shows at a path."""
        try:
            with self._client() as client:
                async with asyncio.timeout(self._pace.reply_s):
                    text = await client.get(path, cast_to=str)
        except Exception as exc:  # as above
            failure = self._failure(exc, {})
        else:
            return self.cleaned(self._parsed(text, {}))
        raise failure

    async def events(self, path: str, body: Json) -> list[Json]:
        """The events of a streamed reply, to the end of the stream; where it breaks off, its error
        has what was said, and the cancellation has it as a note."""
        from agent_env.models.streams import read_stream

        found: list[Json] = []
        try:
            with self._client() as client:
                async with asyncio.timeout(self._pace.reply_s):
                    asked: Json = {**body, "stream": True}
                    other = await read_stream(client, path, asked, self._pace, found)
            if other is None:
                return found
            self._parsed(other.text, body)
            raise self.unusable(f"sent {other.kind} instead of a stream", "leave --stream off")
        except ModelError:
            raise
        except asyncio.CancelledError as exc:
            exc.add_note(self.partial(found) or "")
            raise
        except Exception as exc:  # as above
            failure = self._failure(exc, body)
            failure.partial = self.partial(found)
        raise failure

    def partial(self, events: Sequence[Json]) -> str | None:
        """The end of what the events say, without the key."""
        from agent_env.models.streams import partial_text

        said = partial_text(events)
        return None if said is None else clean(said, self._key)

    async def close(self) -> None:
        """Closes the connections."""
        for client in self._clients:
            await client.close()
        self._clients.clear()
        self._free.clear()

    def cleaned(self, body: Json) -> Json:
        """The body without the key, lone surrogates and numbers that JSON does not know."""
        try:
            return tree(body, self._key)
        except RecursionError:
            failure = self.unusable(f"sent JSON nested more than {DEEPEST} levels deep")
        raise failure

    def unusable(
        self,
        what: str,
        advice: str = "try again, or ask the server's log",
        answer: Json | None = None,
    ) -> ModelError:
        """The error for a 200 that holds no reply; retryable, for it may be a passing fault."""
        return self._error(f"{what}; {advice}", Verdict("unreadable", True, ""), 200, answer)

    def cut(self, events: Sequence[Json], answer: Json | None = None) -> ModelError:
        """The error for a stream that ended before its reply did."""
        text = "ended the stream before the reply was complete; try again"
        error = self._error(text, Verdict("connection", True, ""), 200, answer)
        error.partial = self.partial(events)
        return error

    def reported(
        self,
        error: JsonValue,
        body: Json,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        answer: Json | None = None,
    ) -> ModelError:
        """The error that a server describes, by status or inside a 200 (`answer`)."""
        error = shallow(error, self._key)  # before anything is cut short: half a key is one too
        said = _said(error)[:300]
        if status is not None and 300 <= status < 400:
            said = f"a redirect to {(headers or {}).get('location', 'nowhere')}"
        meant = status or status_in(error)
        verdict = judge(meant, said, error, body)
        wait = retry_after_s(headers or {})
        pause = "" if wait is None else f" (Retry-After: {wait:g} s)"
        opening = f"answered HTTP {status or 200}{pause}: {said}"
        return self._error(f"{opening}; {verdict.advice}", verdict, meant or 200, answer, wait)

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

        if self._certificates is None:  # reading them takes 20 ms: once for all clients
            self._certificates = httpx2.create_ssl_context()
        limits = httpx2.Limits(max_connections=1, keepalive_expiry=KEPT_S)
        return AsyncOpenAI(
            http_client=DefaultAsyncHttpxClient(
                verify=self._certificates,
                limits=limits,
                follow_redirects=False,  # the key and the question are for this address alone
            ),
            base_url=self._base_url,
            api_key=self._key or "none",
            timeout=None,  # one of ours bounds the whole call; the SDK's are five timers a call
            max_retries=0,  # retried outside, so that each attempt stands in the trace
        )

    def _parsed(self, text: str, body: Json) -> Json:
        try:
            answer = loaded(text)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            seen = clean(text, self._key)[:80]
            what = f"no JSON object but {seen!r}" if seen.strip() else "an empty body"
            raise self.unusable(f"sent {what}", "check that the base URL is right")
        if answer.get("error"):
            raise self.reported(answer["error"], body, answer=answer)
        return answer

    def _failure(self, exc: Exception, body: Json) -> ModelError:
        import openai

        match exc:
            case openai.APIStatusError():
                headers = exc.response.headers
                return self.reported(_plain(exc.body), body, exc.status_code, headers)
            case openai.APITimeoutError() | TimeoutError():
                said = str(exc) or f"gave no reply within {self._pace.reply_s:g} s"
                advice = "" if "--" in said else "; raise --reply-timeout-s or try again"
                return self._error(f"{said}{advice}", Verdict("timeout", True, ""))
            case openai.APIConnectionError():
                cause = exc.__cause__ or exc
                failure = self._error(_unconnected(cause), Verdict("connection", True, ""))
                failure.unsent = type(cause).__name__ in UNSENT
                return failure
            case openai.APIError():
                return self.reported(_plain(exc.body) or exc.message, body)
        if isinstance(exc, RecursionError):
            return self.unusable(f"sent JSON nested more than {DEEPEST} levels deep")
        text = f"sent what cannot be read ({type(exc).__name__}); try again"
        return self._error(text, Verdict("unreadable", True, ""))

    def _error(
        self,
        text: str,
        verdict: Verdict,
        status: int | None = None,
        answer: Json | None = None,
        retry_after_s: float | None = None,
    ) -> ModelError:
        line = " ".join(f"{self._where} ({self._model}) {text}".split())
        return ModelError(
            clean(line, self._key),
            status=status,
            retryable=verdict.retryable,
            kind=verdict.kind,
            retry_after_s=retry_after_s,
            usage=_cost(answer or {}),
            context_tokens=verdict.overflow.context_tokens if verdict.overflow else None,
            request_tokens=verdict.overflow.request_tokens if verdict.overflow else None,
        )


def _cost(answer: Json) -> Usage | None:
    """What a reply that cannot be used cost all the same, where it says so."""
    told = record(answer, "usage")
    names = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
    chat, ours = usage(told, *names[:2]), usage(told, *names[2:])
    found = ours if chat.source is None else chat
    return None if found.source is None else found


def text(of: Json, *names: str) -> str:
    """The first of the fields that holds text; empty where none does."""
    return next((value for name in names if isinstance(value := of.get(name), str) and value), "")


def record(of: Json, name: str) -> Json:
    """The object in a field; empty where there is none."""
    value = of.get(name)
    return value if isinstance(value, dict) else {}


def records(of: Json, name: str) -> list[Json]:
    """The objects of the list in a field; empty where there is none."""
    value = of.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def usage(of: Json, inputs: str, outputs: str) -> Usage:
    """Tokens as the server counted them, by the names that its API has for input and output."""
    found = Usage(
        input_tokens=_count(of, inputs),
        cached_tokens=_count(record(of, f"{inputs}_details"), "cached_tokens"),
        output_tokens=_count(of, outputs),
        reasoning_tokens=_count(record(of, f"{outputs}_details"), "reasoning_tokens"),
    )
    told = found.input_tokens is not None or found.output_tokens is not None
    return found.model_copy(update={"source": "provider"}) if told else found


def unique_id(wanted: str, taken: Container[str], step: int) -> str:
    """`wanted`, or where it is empty or taken, an id that is not."""
    start = wanted or f"call_{step}"
    later = (f"{start}_{number}" for number in itertools.count(2))
    return next(name for name in itertools.chain([start], later) if name not in taken)


def ids_in(messages: Iterable[Message]) -> set[str]:
    """The ids of all tool calls so far; some servers count anew in each reply."""
    return {call.id for message in messages for call in message.tool_calls}


def arguments_as_object(arguments: str) -> str:
    """What may be sent back: vLLM and llama.cpp refuse a history whose arguments are no object."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return (arguments or "{}") if isinstance(value, dict) else json.dumps({"unreadable": arguments})


def _count(of: Json, name: str) -> int | None:
    value = of.get(name)
    return value if type(value) is int and value >= 0 else None  # True is an int, but no count


def _said(error: JsonValue) -> str:
    inner = error.get("error", error) if isinstance(error, dict) else error
    if isinstance(inner, dict):
        inner = text(inner, "message", "detail") or json.dumps(inner)
    return " ".join(str(inner or "nothing more").split())


def _unconnected(cause: BaseException) -> str:
    seen = f"({type(cause).__name__}: {cause})"
    if type(cause).__name__ in UNSENT:
        return f"cannot be reached {seen}; check that it runs and that the base URL is right"
    return f"broke the connection off {seen}; try again"


def _plain(body: object) -> JsonValue:
    return body if isinstance(body, str | dict | list) else None


def _checked_key(key: str | None) -> str | None:
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError("the API key holds a space, a line break or a letter outside ASCII")
    return key or None


def _shown(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"base URL {base_url!r} is no address; write http://HOST:PORT/v1")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
