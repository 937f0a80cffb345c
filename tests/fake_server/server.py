"""The server: it calls the policy and sends its answer or a fault.

POST /tokenize is as vLLM has it, or as llama.cpp has it with POST /apply-template. A token is four
bytes of a text, as in the usage that the server reports, tool schemas included. llama.cpp's marks
around each message make its counts a little higher. It listens on the given host only. Not covered:
HTTP/2, TLS, stored responses.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, deque
from dataclasses import dataclass, replace
from typing import Any, Literal

from agent_env.features.agents.apis import generate_content
from agent_env.features.agents.apis import messages as codecs
from agent_env.features.agents.apis.chat import read_turn
from agent_env.features.agents.apis.exchange import Refusal as AnyRefusal
from agent_env.features.agents.apis.exchange import as_json, count_tokens, texts_of
from tests.fake_server import gemini, messages
from tests.fake_server.apis import ChatApi, ResponsesApi
from tests.fake_server.channel import Channel, Faults, send_body, send_events, send_fault
from tests.fake_server.conversation import Refusal, usage_of
from tests.fake_server.modes import MODES, call_id, nonce_of
from tests.fake_server.policies import model_policy
from tests.fake_server.rules import apply_tool_choice, hold, stop, truncate

DEFAULT_CONTEXT = 32_768


def serve(model, host="127.0.0.1", port=0, latency_s=0.0, errors=None, seed=0):
    """A server behind which a model of this package answers."""
    return FakeServer(model_policy(model), host, port, latency_s, errors, seed, model.name)


@dataclass(eq=False)
class FakeServer:
    """An async context; serves from entering it to leaving it."""

    policy: Any
    host: str = "127.0.0.1"
    port: int = 0
    latency_s: float = 0.0
    errors: Any = None
    seed: int = 0
    model: str = "fake"
    tokenizer: Literal["vllm", "llama.cpp"] | None = "vllm"
    """The dialect of POST /tokenize."""
    tells_usage: bool = True
    mode: str = "lenient"
    context_tokens: int = DEFAULT_CONTEXT
    """What it tells of its context."""
    piece_delay_s: float = 0.0
    """Before each piece of a stream."""

    def __post_init__(self):
        self.counts = Counter()
        """Requests by path, and outcomes: `answered`, `refused`, or the kind of error."""
        self.recent = deque(maxlen=100)
        """Bodies of the latest requests, without headers and so without keys."""
        self._faults = Faults(self.errors or {}, self.seed)
        self._mode = MODES[self.mode]
        self._plain = ChatApi(self._mode)
        """Writes the errors of paths that are of no API."""
        self._apis = {
            "/v1/chat/completions": self._plain,
            "/v1/responses": ResponsesApi(self._mode),
            generate_content.PATH: gemini.GeminiApi(self._mode),
            codecs.PATH: messages.MessagesApi(),
        }
        """By patterns of their paths."""
        self._connections = set()

    @property
    def url(self):
        """The base URL for clients."""
        return f"http://{self.host}:{self.port}/v1"

    async def __aenter__(self):
        # The default backlog of 100 makes a burst of 1,000 clients wait for seconds.
        self._listening = await asyncio.start_server(
            self._accept, self.host, self.port, backlog=2048
        )
        self.port = self._listening.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._listening.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader, writer):
        task = asyncio.create_task(self._serve(Channel(reader, writer)))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, channel):
        try:
            async for request in channel.requests():
                await self._respond(channel, request)
        except ConnectionError:
            pass  # the client hung up
        finally:
            channel.close()

    async def _respond(self, channel, http):
        self.counts[http.path] += 1
        apis = [api for path, api in self._apis.items() if re.fullmatch(path, http.path)]
        try:
            await self._route(channel, http, apis)
        except (KeyError, TypeError, AttributeError) as exc:
            refusal = Refusal(400, f"a field is missing or of the wrong type: {exc!r}")
            await self._refuse(channel, refusal, apis)
        except AnyRefusal as refusal:
            self.counts["refused"] += 1
            await self._refuse(channel, refusal, apis)

    async def _route(self, channel, http, apis):
        is_llama = self._mode.error_style == "llama.cpp"
        match http.method, http.path:
            case "GET", "/health":
                await channel.reply(200, as_json({"status": "ok"}))
            case "GET", "/v1/models":
                await channel.reply(200, as_json(self._models()))
            case "GET", "/props" if is_llama:
                await channel.reply(200, as_json(self._props()))
            case "POST", "/tokenize" | "/apply-template" if self.tokenizer:
                counts = self._tokenize(self.tokenizer, http.path, _parsed(http.body))
                await channel.reply(200, as_json(counts))
            case "POST", _ if apis:
                await self._generate(channel, apis[0], http)
            case _:
                raise Refusal(404, f"nothing at {http.method} {http.path}")

    async def _refuse(self, channel, refusal, apis):
        body = (apis[0] if apis else self._plain).error(refusal)
        await channel.reply(refusal.status, as_json(body))

    async def _generate(self, channel, api, http):
        number = self.counts[http.path]
        value = _parsed(http.body)
        self.recent.append(value)
        request = replace(api.read(value, http), nonce=nonce_of(http.body))
        fault = self._faults.draw(http.body)
        await asyncio.sleep(self.latency_s)
        if fault in (None, "cut"):
            answer = await self._answer(request, number)
            if request.stream:
                events = api.stream(request, answer, number)
                await send_events(channel, events, fault == "cut", self.piece_delay_s)
            else:
                await send_body(channel, api.whole(request, answer, number), fault == "cut")
        else:
            await send_fault(channel, fault, api)
        self.counts[fault or "answered"] += 1

    async def _answer(self, request, number):
        try:
            answer = await self.policy(request.turns, request.offers)
        except Exception as exc:  # whatever a policy does wrong is reported to its client
            if isinstance(exc, AnyRefusal):
                raise
            raise Refusal(500, f"the policy failed: {exc!r}") from exc
        answer = apply_tool_choice(request, _with_reasoning(request, answer))
        answer = truncate(request, stop(request, hold(request, answer)))
        answer = _with_call_ids(request, answer, number)
        usage = usage_of(request, answer) if self.tells_usage else None
        return replace(answer, usage=usage)

    def _models(self):
        """The list of models, with the context length where the mode's server reports it."""
        model = {"id": self.model, "object": "model", "created": 0, "owned_by": "agent-env"}
        if self._mode.error_style == "vllm":
            model |= {"owned_by": "vllm", "root": self.model, "max_model_len": self.context_tokens}
        if self._mode.error_style == "llama.cpp":
            model |= {"owned_by": "llamacpp", "meta": {"n_ctx_train": self.context_tokens}}
        return {"object": "list", "data": [model]}

    def _props(self):
        """llama.cpp's properties: the context of a slot and the chat template's capabilities."""
        capabilities = ("parallel_tool_calls", "system_role", "tool_calls", "tools")
        return {
            "default_generation_settings": {"n_ctx": self.context_tokens},
            "total_slots": 1,
            "model_alias": self.model,
            "model_path": f"{self.model}.gguf",
            "chat_template": "{{ tools }}{{ messages }}",
            "chat_template_caps": {f"supports_{name}": True for name in capabilities},
            "modalities": {"vision": False, "audio": False},
            "build_info": "fake",
        }

    def _tokenize(self, kind, path, body):
        """The reply to a request at this path; raises Refusal where there is none."""
        tools = [json.dumps(tool) for tool in body.get("tools") or ()]
        if kind == "vllm" and path == "/tokenize":
            number = count_tokens(_vllm_texts(body) + tools)
            counts = {"count": number, "tokens": list(range(number)), "token_strs": None}
            return counts | {"max_model_len": self.context_tokens}
        if kind == "llama.cpp" and path == "/tokenize":
            content = body.get("content")  # without it there are no tokens, and no error
            return {"tokens": list(range(count_tokens([content] if content else [])))}
        if kind == "llama.cpp" and path == "/apply-template":
            turns = [read_turn(message) for message in body["messages"]]
            prompts = [f"<|im_start|>{t.role}\n{''.join(texts_of([t]))}<|im_end|>\n" for t in turns]
            return {"prompt": "".join([*tools, *prompts])}
        raise Refusal(404, f"nothing at POST {path}")


def _parsed(body):
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise Refusal(400, f"the body is not JSON: {exc}") from exc


def _vllm_texts(body):
    if isinstance(body.get("prompt"), str):
        return [body["prompt"]]
    if isinstance(body.get("messages"), list):
        return texts_of([read_turn(message) for message in body["messages"]])
    raise Refusal(400, "prompt or messages must be given", "prompt")


def _with_reasoning(request, answer):
    """The answer with reasoning where the mode's model always has some."""
    replies = sum(turn.role == "assistant" for turn in request.turns)
    if not request.thinks or answer.reasoning or (request.empty_reasoning and replies % 2):
        return answer
    what = ", ".join(call.name for call in answer.calls) or "answer"
    reasoning = f"Message {len(request.turns)} of {request.nonce}: next I {what}."
    return replace(answer, reasoning=reasoning)


def _with_call_ids(request, answer, number):
    """The answer with ids for its calls, bound to its reasoning where that must come back."""

    def id_of(call, place):
        if request.reasoning_format is None:
            return call.id or f"call_{number}_{place}"
        if request.short_ids:
            return f"{request.nonce}{place}"
        return call_id(request.nonce, answer.reasoning or "", place)

    calls = [
        call.model_copy(update={"id": id_of(call, place)})
        for place, call in enumerate(answer.calls)
    ]
    return replace(answer, calls=tuple(calls))
