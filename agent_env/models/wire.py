"""What both adapters share: the parameters, the endpoint with its errors, the reading of JSON.

Guarantees: the API key stands in no error's text and in no reply; an error has no cause attached,
because the SDK's own errors may quote the key; whatever comes back can be written as JSON.
Not covered: a key shorter than eight characters counts as a placeholder and is not blotted out.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import re
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pydantic import JsonValue

from agent_env.errors import ConfigError, ModelError
from agent_env.schema import Message, ToolSpec, Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Json = dict[str, JsonValue]
CROWD = 32  # requests in flight in one client; with 1,000, its pool takes 60 % of the time
DEEPEST = 64  # levels of nesting in a reply; pydantic itself gives up at 255
SETTINGS = {  # what a field of a request is called where the user sets it
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "max_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning_effort",
    "reasoning": "reasoning_effort",
    "tool_choice": "tool_choice_first",
    "tools": "tools",
}
ADVICE = {
    401: "check the API key",
    403: "check that the API key may use this model",
    404: "check the model's name, and the base URL, which mostly ends in /v1",
    413: "the request is too large; shorten what tools return",
    429: "send fewer requests at a time",
}
OVERFLOW = re.compile(
    r"context_length_exceeded|maximum context|context (length|window|size)|prompt is too long", re.I
)


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a model is to answer; None is not sent, so that the server's default holds."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    tool_choice_first: Literal["required", "auto"] = "auto"
    """Whether the first step must call a tool; later steps are always free."""
    system_role: Literal["system", "developer"] = "system"
    """The name under which system messages are sent."""

    def tool_choice(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str | None:
        """`required` while the model has said nothing yet and tools are there, if so asked."""
        begun = any(message.role == "assistant" for message in messages)
        return "required" if tools and not begun and self.tool_choice_first == "required" else None


class Endpoint:
    """One model on one server; whatever goes wrong leaves it as a ModelError of one line."""

    def __init__(self, model: str, base_url: str, api_key: str | None, timeout_s: float) -> None:
        import openai  # noqa: F401  # 0.5 s, spent here and not in the first call

        self._model = model
        self._base_url = base_url
        self._key = _checked_key(api_key)
        self._where = _shown(base_url)
        self._timeout_s = timeout_s
        self._seats: list[_Seat] = []

    async def post(self, path: str, body: Json) -> Json:
        """The reply as the server wrote it."""
        try:
            with self._client() as client:
                async with asyncio.timeout(self._timeout_s):
                    text = await client.post(path, body=_tree(body), cast_to=str)
        except Exception as exc:  # the SDK's, the transport's, the timeout's: all become ours
            failure = self._failure(exc, body)
        else:
            return self._parsed(text, body)
        raise failure  # out here, so that the SDK's error is not its context

    async def events(self, path: str, body: Json) -> list[Json]:
        """The events of a streamed reply, to the end of the stream."""
        try:
            with self._client() as client:
                async with asyncio.timeout(self._timeout_s):
                    return await self._events(client, path, body)
        except ModelError:
            raise
        except Exception as exc:  # as above
            failure = self._failure(exc, body)
        raise failure

    async def close(self) -> None:
        """Closes the connections."""
        for seat in self._seats:
            await seat.client.close()
        self._seats.clear()

    def cleaned(self, body: Json) -> Json:
        """The body without the key, lone surrogates and numbers that JSON does not know."""
        try:
            return _tree(body, self._key)
        except RecursionError:
            failure = self.unusable(f"sent JSON nested more than {DEEPEST} levels deep")
        raise failure

    def unusable(self, what: str, advice: str = "try again, or ask the server's log") -> ModelError:
        """The error for a 200 that holds no reply; retryable, for it may be a passing fault."""
        return self._error(f"{what}; {advice}", status=200, retryable=True)

    def cut(self) -> ModelError:
        """The error for a stream that ended before its reply did."""
        return self.unusable("ended the stream before the reply was complete")

    def reported(
        self, error: JsonValue, body: Json, status: int | None = None, wait: str | None = None
    ) -> ModelError:
        """The error that a server describes, by status or inside a 200."""
        error = _shallow(error, self._key)  # before anything is cut short: half a key is one too
        said = _said(error)[:300]
        kind = status or _status_in(error)
        advice = _advice(kind, said, error, body)
        pause = f" (Retry-After: {wait})" if wait else ""
        opening = f"answered HTTP {status or 200}{pause}: {said}"
        lasting = "insufficient_quota" in _labels(error)
        retryable = not lasting and (kind is None or kind in (408, 409, 425, 429) or kind >= 500)
        return self._error(f"{opening}; {advice}", status=kind or 200, retryable=retryable)

    @contextmanager
    def _client(self) -> Iterator[AsyncOpenAI]:
        """A client with few requests in flight: its pool looks at all of them for each."""
        seat = next((seat for seat in self._seats if seat.in_flight < CROWD), None)
        if seat is None:
            seat = _Seat(self._new_client())
            self._seats.append(seat)
        seat.in_flight += 1
        try:
            yield seat.client
        finally:
            seat.in_flight -= 1

    def _new_client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            base_url=self._base_url,
            api_key=self._key or "none",
            timeout=self._timeout_s,
            max_retries=0,  # retried outside, so that each attempt stands in the trace
        )

    async def _events(self, client: AsyncOpenAI, path: str, body: Json) -> list[Json]:
        from openai import AsyncStream

        stream = await client.post(
            path,
            body=_tree({**body, "stream": True}),
            cast_to=object,
            stream=True,
            stream_cls=AsyncStream[object],
        )
        kind = stream.response.headers.get("content-type", "")
        if "json" in kind or "html" in kind:
            self._parsed((await stream.response.aread()).decode(errors="replace"), body)
            raise self.unusable(f"sent {kind} instead of a stream", "leave streaming off")
        return [event async for event in stream if isinstance(event, dict)]

    def _parsed(self, text: str, body: Json) -> Json:
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            seen = _text(text, self._key)[:80]
            what = f"no JSON object but {seen!r}" if seen.strip() else "an empty body"
            raise self.unusable(f"sent {what}", "check that the base URL is right")
        if answer.get("error"):
            raise self.reported(answer["error"], body)
        return answer

    def _failure(self, exc: Exception, body: Json) -> ModelError:
        import openai

        match exc:
            case openai.APIStatusError():
                wait = exc.response.headers.get("retry-after")
                return self.reported(_plain(exc.body), body, exc.status_code, wait)
            case openai.APITimeoutError() | TimeoutError():
                text = f"gave no reply within {self._timeout_s:g} s; raise the timeout or try again"
            case openai.APIConnectionError():
                text = _unconnected(exc.__cause__ or exc)
            case openai.APIError():
                return self.reported(_plain(exc.body) or exc.message, body)
            case _:
                text = f"sent what cannot be read ({type(exc).__name__}); try again"
        return self._error(text, status=None, retryable=True)

    def _error(self, text: str, status: int | None, retryable: bool) -> ModelError:
        line = " ".join(f"{self._where} ({self._model}) {text}".split())
        return ModelError(_text(line, self._key), status=status, retryable=retryable)


@dataclass(slots=True)
class _Seat:
    client: AsyncOpenAI
    in_flight: int = 0


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


def _tree(body: Json, key: str | None = None) -> Json:
    return {name: _value(value, key, DEEPEST) for name, value in body.items()}


def _value(value: JsonValue, key: str | None, depth: int) -> JsonValue:
    if depth == 0:
        raise RecursionError
    match value:
        case str():
            return _text(value, key)
        case list():
            return [_value(item, key, depth - 1) for item in value]
        case dict():
            return {_text(k, key): _value(item, key, depth - 1) for k, item in value.items()}
        case float() if not math.isfinite(value):
            return None
    return value


def _text(text: str, key: str | None) -> str:
    if key is not None and len(key) >= 8:
        text = text.replace(key, "***")
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates; halves of one pair are joined on the way
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _shallow(error: JsonValue, key: str | None) -> JsonValue:
    try:
        return _value(error, key, DEEPEST)
    except RecursionError:
        return None


def _said(error: JsonValue) -> str:
    inner = error.get("error", error) if isinstance(error, dict) else error
    if isinstance(inner, dict):
        inner = text(inner, "message", "detail") or json.dumps(inner)
    return " ".join(str(inner or "nothing more").split())


def _labels(error: JsonValue) -> tuple[str, str]:
    fields = error if isinstance(error, dict) else {}
    return str(fields.get("code")), str(fields.get("type"))


def _status_in(error: JsonValue) -> int | None:
    code, kind = _labels(error)
    if code.isdecimal() and 400 <= int(code) < 600:
        return int(code)
    return 400 if kind in ("invalid_request_error", "BadRequestError") else None


def _advice(status: int | None, said: str, error: JsonValue, body: Json) -> str:
    if status in (400, 413, 422) and OVERFLOW.search(f"{_labels(error)} {said}"):
        return "the conversation is longer than the model reads; limit what tools return"
    param = text(error, "param") if isinstance(error, dict) else ""
    named = f"{param.partition('.')[0]} {said}"
    refused = [SETTINGS[field] for field in SETTINGS if field in body and _names(named, field)]
    if status in (400, 422) and refused:
        return f"this model refuses the parameter {refused[0]}; leave it out or change it"
    return ADVICE.get(
        status or 0, "try again later" if (status or 500) >= 500 else "change the request"
    )


def _names(sentence: str, word: str) -> bool:
    return re.search(rf"(?<!\w){word}(?!\w)", sentence) is not None


def _unconnected(cause: BaseException) -> str:
    seen = f"({type(cause).__name__}: {cause})"
    if type(cause).__name__ in ("ConnectError", "UnsupportedProtocol"):
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
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
