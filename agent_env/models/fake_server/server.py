"""The server: takes requests, asks the policy, answers or fails as told.

Guarantees: it listens on the given host only, downloads and stores nothing, and looks at no key.
Not covered: HTTP/2, TLS, stored responses.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from agent_env.models.fake_server.channel import EVENTS, JSON, Channel, Request
from agent_env.models.fake_server.chat_api import ChatApi
from agent_env.models.fake_server.error_bodies import error_body
from agent_env.models.fake_server.faults import Faults
from agent_env.models.fake_server.modes import mode_named
from agent_env.models.fake_server.obedience import cut, obey
from agent_env.models.fake_server.policies import model_policy
from agent_env.models.fake_server.responses_api import ResponsesApi
from agent_env.models.fake_server.seals import call_id, nonce_of
from agent_env.models.fake_server.talk import Answer, Asked, Object, Policy, Refusal, Tokens
from agent_env.models.fake_server.tokenize_api import Tokenizing, tokenize
from agent_env.protocols import Model

TOKENIZING = ("/tokenize", "/apply-template")
PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"


def serve(
    model: Model,
    host: str = "127.0.0.1",
    port: int = 0,
    latency_s: float = 0.0,
    errors: Mapping[str, float] | None = None,
    seed: int = 0,
) -> FakeServer:
    """A server behind which a model of this package answers."""
    return FakeServer(model_policy(model), host, port, latency_s, errors, seed, model.name)


class Api(Protocol):
    """One of the two ways to ask for a reply."""

    def read(self, body: Object) -> Asked: ...

    def whole(self, asked: Asked, answer: Answer, number: int) -> dict[str, Any]: ...

    def stream(self, asked: Asked, answer: Answer, number: int) -> Iterable[bytes]: ...


class FakeServer:
    """An async context; serves from entering it to leaving it."""

    def __init__(
        self,
        policy: Policy,
        host: str = "127.0.0.1",
        port: int = 0,
        latency_s: float = 0.0,
        errors: Mapping[str, float] | None = None,
        seed: int = 0,
        model: str = "fake",
        tokenizer: Tokenizing | None = "vllm",
        tells_usage: bool = True,
        mode: str = "lenient",
    ) -> None:
        self.counts: Counter[str] = Counter()
        """Requests by path, and outcomes: `answered`, `refused`, or the kind of error."""
        self.recent: deque[Any] = deque(maxlen=100)
        """Bodies of the latest requests, without headers and so without keys."""
        self._policy = policy
        self._address = (host, port)
        self._latency_s = latency_s
        self._faults = Faults(errors or {}, seed)
        self._model = model
        self._tokenizer = tokenizer
        """Whose way of counting is served; None for none."""
        self._tells_usage = tells_usage
        self._mode = mode_named(mode)
        self._apis: dict[str, Api] = {
            "/v1/chat/completions": ChatApi(self._mode),
            "/v1/responses": ResponsesApi(self._mode),
        }
        self._connections: set[asyncio.Task[Any]] = set()
        self._listening: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The base URL for clients."""
        host, port = self._address
        return f"http://{host}:{port}/v1"

    async def __aenter__(self) -> Self:
        host, port = self._address
        # The default backlog of 100 makes a burst of 1,000 clients wait for seconds.
        self._listening = await asyncio.start_server(self._accept, host, port, backlog=2048)
        self._address = (host, self._listening.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._listening is not None:
            self._listening.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(Channel(reader, writer)))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, channel: Channel) -> None:
        try:
            async for request in channel.requests():
                await self._respond(channel, request)
        except ConnectionError:
            pass  # the client hung up
        finally:
            channel.close()

    async def _respond(self, channel: Channel, request: Request) -> None:
        self.counts[request.path] += 1
        try:
            if (request.method, request.path) == ("GET", "/v1/models"):
                await channel.reply(200, _json(self._models()))
                return
            if request.path in TOKENIZING and request.method == "POST" and self._tokenizer:
                told = tokenize(self._tokenizer, request.path, self._body(request.body))
                await channel.reply(200, _json(told))
                return
            api = self._apis.get(request.path) if request.method == "POST" else None
            if api is None:
                raise Refusal(404, f"nothing at {request.method} {request.path}")
            await self._generate(channel, api, request)
        except (KeyError, TypeError, AttributeError) as exc:
            wrong = Refusal(400, f"a field is missing or of the wrong type: {exc!r}")
            await self._refuse(channel, wrong)
        except Refusal as refusal:
            self.counts["refused"] += 1
            await self._refuse(channel, refusal)

    async def _refuse(self, channel: Channel, refusal: Refusal) -> None:
        body = error_body(self._mode.error_style, refusal)
        await channel.reply(refusal.status, _json(body))

    async def _generate(self, channel: Channel, api: Api, request: Request) -> None:
        number = self.counts[request.path]
        asked = self._read(api, request.body)
        fault = self._faults.draw(request.body)
        await asyncio.sleep(self._latency_s)
        if fault is None or fault == "cut":
            answer = await self._answer(asked, number)
            await _say(channel, api, asked, answer, number, cut=fault == "cut")
        else:
            await _fail(channel, fault)
        self.counts[fault or "answered"] += 1

    def _read(self, api: Api, body: bytes) -> Asked:
        value = self._body(body)
        self.recent.append(value)
        return replace(api.read(value), nonce=nonce_of(body))

    def _body(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as exc:
            raise Refusal(400, f"the body is not JSON: {exc}") from exc

    async def _answer(self, asked: Asked, number: int) -> Answer:
        try:
            answer = await self._policy(asked.turns, asked.offers)
        except Refusal:
            raise
        except Exception as exc:  # whatever a policy does wrong, its client shall read of it
            raise Refusal(500, f"the policy failed: {exc!r}") from exc
        usage = answer.usage if self._tells_usage else "absent"
        return _named(asked, cut(asked, obey(asked, _thought(asked, answer, usage))), number)

    def _models(self) -> dict[str, Any]:
        model = {"id": self._model, "object": "model", "created": 0, "owned_by": "agent-env"}
        return {"object": "list", "data": [model]}


async def _say(
    channel: Channel, api: Api, asked: Asked, answer: Answer, number: int, cut: bool
) -> None:
    if asked.stream:
        events = list(api.stream(asked, answer, number))  # whole, so that it can still be refused
        await (channel.cut(events, EVENTS) if cut else channel.stream(events))
    else:
        body = _json(api.whole(asked, answer, number))
        await (channel.cut([body], JSON) if cut else channel.reply(200, body))


async def _fail(channel: Channel, fault: str) -> None:
    match fault:
        case "hang":
            await channel.gone()
        case "html":
            await channel.reply(200, PAGE, "text/html")
        case "empty":
            await channel.reply(200, b"")
        case "no-reply":
            await channel.reply(200, _json({"choices": [], "output": [], "status": "completed"}))
        case "error-body":
            await channel.reply(
                200, _json(error_body("openai", Refusal(503, "drawn by the fake server")))
            )
        case _:
            headers = [("retry-after", "1")] if fault == "429" else []
            refusal = Refusal(int(fault), "drawn by the fake server")
            await channel.reply(
                refusal.status, _json(error_body("openai", refusal)), headers=headers
            )


def _thought(asked: Asked, answer: Answer, usage: Tokens | Literal["counted", "absent"]) -> Answer:
    """The answer with reasoning, where the mode's model always has some."""
    reasoning = answer.reasoning
    if asked.thinks and not reasoning:
        what = ", ".join(call.name for call in answer.calls) or "answer"
        reasoning = f"Message {len(asked.turns)} of {asked.nonce}: next I {what}."
    return replace(answer, reasoning=reasoning, usage=usage)


def _named(asked: Asked, answer: Answer, number: int) -> Answer:
    """The answer with ids for its calls; where reasoning must come back, they are bound to it."""
    bound = asked.shape is not None
    ids = [
        call_id(asked.nonce, answer.reasoning or "", place)
        if bound
        else call.id or f"call_{number}_{place}"
        for place, call in enumerate(answer.calls)
    ]
    calls = (replace(call, id=id_) for call, id_ in zip(answer.calls, ids, strict=True))
    return replace(answer, calls=tuple(calls))


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
