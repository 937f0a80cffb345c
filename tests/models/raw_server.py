"""A server that answers with the bytes it is given, however wrong, and keeps what it was sent."""

import asyncio
import json
from functools import partial

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


class RawServer:
    """Gives the answers one by one, the last one ever after; one of several pieces, bytes and
    seconds of silence, goes out piece by piece."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.heads, self.bodies, self._connections = [], [], []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *exc):
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader, writer):
        self._connections.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:  # the client's time was up before it asked
            writer.close()
            return
        lines = head.lower().split(b"\r\n")
        length = next((line for line in lines if line.startswith(b"content-length")), None)
        self.heads.append(head)
        if length is not None:
            self.bodies.append(json.loads(await reader.readexactly(int(length.split(b":")[1]))))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        for piece in [answer] if isinstance(answer, bytes) else answer:
            if isinstance(piece, float):
                await asyncio.sleep(piece)
            else:
                writer.write(piece)
                await writer.drain()
        writer.close()
        await writer.wait_closed()


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
