"""A server that answers with the bytes it is given, however wrong, and keeps what it was sent."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from agent_env.errors import ModelError
from agent_env.models.apis import anthropic, compatible, openai
from agent_env.models.client import ApiModel
from agent_env.models.settings import Parameters
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, ToolSpec
from agent_env.wiring.trust import own_call

ChatCompletions = partial(ApiModel, compatible.API, permit=own_call())
Responses = partial(ApiModel, openai.API, permit=own_call())
Messages = partial(ApiModel, anthropic.API, permit=own_call())
KEY = "sk-planted-0123456789abcdef"
USER = Message(role="user", content="Which day?")
LOOKUP = ToolSpec(
    name="lookup",
    description="Looks a word up.",
    parameters={"type": "object", "properties": {"word": {"type": "string"}}},
)


def reply(body, status="200 OK", kind="application/json", headers=""):
    """A whole HTTP reply; text and bytes go out as they are, anything else as JSON."""
    if isinstance(body, str):
        body = body.encode()
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{headers}"
    return head.encode() + b"\r\n" + body


def events(*objects):
    """A whole HTTP reply of server-sent events."""
    lines = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in objects)
    return reply(lines, kind="text/event-stream")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as the server saw it."""

    head: bytes
    method: str
    path: str
    parameters: dict
    headers: dict
    """By their names in small letters."""
    body: Any
    """Of its JSON; None without one."""
    at: float

    @classmethod
    async def read(cls, reader):
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().strip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        parts, body = urlsplit(target), json.loads(raw) if raw else None
        now = asyncio.get_running_loop().time()
        return cls(head, method, parts.path, dict(parse_qsl(parts.query)), headers, body, now)


class RawServer:
    """Gives the answers one by one, the last one ever after; one of several pieces, bytes and
    seconds of silence, goes out piece by piece."""

    path = "/v1"

    def __init__(self, *answers, delay_s=0.0):
        self.answers, self.delay_s = list(answers), delay_s
        self.asked, self._connections = [], []
        self.open = self.busiest = self.answered = 0

    @property
    def heads(self):
        return [each.head for each in self.asked]

    @property
    def bodies(self):
        return [each.body for each in self.asked if each.body is not None]

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{self.path}"
        return self

    async def __aexit__(self, *exc):
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def answers_given(self, count):
        """Returns once so many requests are answered."""
        while self.answered < count:  # noqa: ASYNC110  # each test has a loop of its own
            await asyncio.sleep(0.005)

    def _accept(self, reader, writer):
        self._connections.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader, writer):
        self.open += 1
        self.busiest = max(self.busiest, self.open)
        with suppress(asyncio.IncompleteReadError):  # the client's time was up before it asked
            self.asked.append(await Asked.read(reader))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            for piece in [self.delay_s, answer] if isinstance(answer, bytes) else answer:
                if isinstance(piece, float):
                    await asyncio.sleep(piece)
                else:
                    writer.write(piece)
                    await writer.drain()
            self.answered += 1
        self.open -= 1
        writer.close()


PLAIN = Parameters()


def ask(
    kind,
    answer,
    *,
    messages=(USER,),
    tools=(),
    parameters=PLAIN,
    options=ReplyOptions(),
    stream=False,
    timeout_s=5.0,
    is_same_server=True,
    **more,
):
    """The reply to one request, and the body of the request; what the messages hold of a server
    comes from this one, unless it is another."""

    async def run():
        async with RawServer(answer) as server:
            model = kind("n", "m-1", server.url, KEY, parameters, timeout_s, stream, **more)
            heard = [said_by(server, each) for each in messages] if is_same_server else messages
            try:
                return await model.generate(heard, tools, options), server.bodies[-1]
            finally:
                await model.close()

    return asyncio.run(run())


def said_by(server, message):
    """The message, as if this server had said it."""
    if message.provider_fields is None:
        return message
    kept = message.provider_fields.model_copy(update={"origin": f"m-1 at {server.url}"})
    return message.model_copy(update={"provider_fields": kept})


def failure(kind, answer, stream=False, parameters=PLAIN):
    """The error that the answer leads to; looked through for the key."""
    with pytest.raises(ModelError) as caught:
        ask(kind, answer, stream=stream, parameters=parameters)
    error = caught.value
    assert KEY not in f"{error!r} {error.__cause__!r} {error.__context__!r} {error.__dict__!r}"
    assert "\n" not in str(error)
    return error
