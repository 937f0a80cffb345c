"""The server: its owner's configuration, its facts, its tokenizer; it calls the policy and
sends its answer or a fault.

POST /tokenize is as vLLM has it, or as llama.cpp has it with POST /apply-template. A token is four
bytes of a text, as in the usage that the server reports, tool schemas included. llama.cpp's marks
around each message make its counts a little higher.

Guarantees: it listens on the given host only, downloads and stores nothing, and writes no key.
Not covered: HTTP/2, TLS, stored responses.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self, get_args

from agent_env.extensions.fake_server import gemini, messages
from agent_env.extensions.fake_server.apis import ChatApi, ResponsesApi, read_turn
from agent_env.extensions.fake_server.channel import (
    PARTIAL,
    Channel,
    Faults,
    HttpRequest,
    as_json,
    error_body,
    parse_errors,
    send_body,
    send_events,
    send_fault,
)
from agent_env.extensions.fake_server.conversation import (
    Json,
    ModelRequest,
    Object,
    Policy,
    Refusal,
    ScriptedAnswer,
    Tokens,
    count_tokens,
    input_tokens,
    texts_of,
)
from agent_env.extensions.fake_server.modes import (
    FULL_VLLM_BOTH,
    MODES,
    ErrorStyle,
    Mode,
    call_id,
    mode_named,
    nonce_of,
)
from agent_env.extensions.fake_server.policies import model_policy
from agent_env.extensions.fake_server.rules import apply_tool_choice, hold, stop, truncate
from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.models import Model
from agent_env.sdk.records import ToolCall

FULL_RESPONSES = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)


@dataclass(frozen=True, slots=True)
class Hosting:
    """The configuration; by default a server without limits that serves any model."""

    key: Annotated[str | None, Opt("The only API key that is taken.")] = None
    """None accepts any key, or none."""
    serves: Annotated[
        str | None,
        Opt(
            "The one model: others are refused, by lenient and llama.cpp replaced.",
            flag="--serve-model",
        ),
    ] = None
    answers_as: Annotated[
        str | None,
        Opt("The model's name in replies, whatever the request names.", flag="--answer-as"),
    ] = None
    context_tokens: Annotated[
        int | None, Opt("Tokens of prompt and reply; more is an error.", flag="--context", min=1)
    ] = None
    drops_tools: Annotated[
        bool, Opt("Drop tools from the prompt without an error.", flag="--drop-tools")
    ] = False
    loading_s: Annotated[float, Opt("Answer 503 `Loading model` for so many seconds.", min=0.0)] = (
        0.0
    )
    piece_delay_s: Annotated[
        float, Opt("Seconds before each piece of a streamed reply.", min=0.0)
    ] = 0.0
    redirects_to: Annotated[
        str | None,
        Opt("Redirect each request, such as to http://127.0.0.1:9999.", flag="--redirect-to"),
    ] = None
    hides_truncation: Annotated[
        bool,
        Opt("Responses: report truncated replies as `completed`.", flag="--hide-truncation"),
    ] = False


def admit(
    hosting: Hosting, mode: Mode, request: ModelRequest, over_responses: bool
) -> ModelRequest:
    """The request as the model gets it; raises Refusal where the configuration does."""
    if hosting.serves is not None and request.model != hosting.serves:
        if mode.checks_model:
            text = f"The model `{request.model}` does not exist."
            raise Refusal(404, text, "model", code="model_not_found")
        request = replace(request, model=hosting.serves)
    if hosting.drops_tools:
        request = replace(request, offers=(), tool_texts=(), choice="auto")
    if hosting.context_tokens is None:
        return request
    return _fit_context(hosting.context_tokens, mode, request, over_responses)


def _fit_context(
    limit: int, mode: Mode, request: ModelRequest, over_responses: bool
) -> ModelRequest:
    tokens, most = input_tokens(request), request.max_tokens
    if tokens >= limit:
        words = FULL_RESPONSES if over_responses and mode.error_style == "openai" else mode.overflow
        extra = {}
        if mode.error_style == "llama.cpp":
            kind = "exceed_context_size_error"
            extra = {"type": kind, "n_prompt_tokens": tokens, "n_ctx": limit}
        text = words.format(limit=limit, tokens=tokens)
        field = "input_tokens" if mode.error_style == "vllm" else "messages"
        raise Refusal(400, text, field, code="context_length_exceeded", extra=extra)
    if mode.error_style == "vllm" and most is not None and tokens + most > limit:
        raise Refusal(400, FULL_VLLM_BOTH.format(limit=limit, tokens=tokens, wanted=most))
    return replace(request, max_tokens=min(most or limit, limit - tokens))


DEFAULT_CONTEXT = 32_768
Tokenizing = Literal["vllm", "llama.cpp"]


def models(hosting: Hosting, mode: Mode, name: str) -> Json:
    """The list of models, with the context length where the mode's server reports it."""
    length = hosting.context_tokens or DEFAULT_CONTEXT
    model: Json = {
        "id": hosting.serves or name,
        "object": "model",
        "created": 0,
        "owned_by": "agent-env",
    }
    if mode.error_style == "vllm":
        model |= {"owned_by": "vllm", "root": model["id"], "max_model_len": length}
    if mode.error_style == "llama.cpp":
        model |= {"owned_by": "llamacpp", "meta": {"n_ctx_train": length}}
    return {"object": "list", "data": [model]}


def props(hosting: Hosting, name: str) -> Json:
    """llama.cpp's properties: the context of a slot and the chat template's capabilities."""
    tools = not hosting.drops_tools
    return {
        "default_generation_settings": {"n_ctx": hosting.context_tokens or DEFAULT_CONTEXT},
        "total_slots": 1,
        "model_alias": hosting.serves or name,
        "model_path": f"{hosting.serves or name}.gguf",
        "chat_template": "{{ tools }}{{ messages }}" if tools else "{{ messages }}",
        "chat_template_caps": {
            "supports_parallel_tool_calls": tools,
            "supports_system_role": True,
            "supports_tool_calls": tools,
            "supports_tools": tools,
        },
        "modalities": {"vision": False, "audio": False},
        "build_info": "fake",
    }


def tokenize(kind: Tokenizing, path: str, body: Object, hosting: Hosting = Hosting()) -> Json:
    """The reply to a request at this path; raises Refusal where there is none."""
    tools = [] if hosting.drops_tools else [json.dumps(tool) for tool in body.get("tools") or ()]
    if kind == "vllm" and path == "/tokenize":
        length = hosting.context_tokens or DEFAULT_CONTEXT
        number = count_tokens(_vllm_texts(body) + tools)
        tokens = list(range(number))
        return {"count": number, "max_model_len": length, "tokens": tokens, "token_strs": None}
    if kind == "llama.cpp" and path == "/tokenize":
        content = body.get("content")  # without it there are no tokens, and no error
        return {"tokens": list(range(count_tokens([content] if content else [])))}
    if kind == "llama.cpp" and path == "/apply-template":
        turns = [read_turn(message) for message in body["messages"]]
        prompts = [f"<|im_start|>{t.role}\n{''.join(texts_of([t]))}<|im_end|>\n" for t in turns]
        return {"prompt": "".join([*tools, *prompts])}
    raise Refusal(404, f"nothing at POST {path}")


def _vllm_texts(body: Object) -> list[str]:
    if isinstance(body.get("prompt"), str):
        return [body["prompt"]]
    if isinstance(body.get("messages"), list):
        return texts_of([read_turn(message) for message in body["messages"]])
    raise Refusal(400, "prompt or messages must be given", "prompt")


RESPONSES_PATH = "/v1/responses"


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


class ApiCodec(Protocol):
    """One of the model APIs."""

    error_style: ErrorStyle

    def read(self, body: Object, http: HttpRequest) -> ModelRequest: ...

    def whole(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Json: ...

    def stream(
        self, request: ModelRequest, answer: ScriptedAnswer, number: int
    ) -> Iterable[bytes]: ...


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
        mode: str | Mode = "lenient",
        hosting: Hosting = Hosting(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counts: Counter[str] = Counter()
        """Requests by path, and outcomes: `answered`, `refused`, or the kind of error."""
        self.recent: deque[Any] = deque(maxlen=100)
        """Bodies of the latest requests, without headers and so without keys."""
        self.authorizations: deque[str | None] = deque(maxlen=1000)
        """The Authorization header of each request, None where it had none; kept in memory only."""
        self.answers_as = hosting.answers_as
        """The model's name in replies from now on; None repeats the request's."""
        self._policy = policy
        self._address = (host, port)
        self._latency_s = latency_s
        self._faults = Faults(errors or {}, seed)
        self._model = model
        self._tokenizer = tokenizer
        """The dialect of POST /tokenize; None for none."""
        self._tells_usage = tells_usage
        self._mode = mode if isinstance(mode, Mode) else mode_named(mode)
        self._hosting = hosting
        self._clock = clock
        self._started_s = 0.0
        self._apis: dict[str, ApiCodec] = {
            "/v1/chat/completions": ChatApi(self._mode),
            RESPONSES_PATH: ResponsesApi(self._mode, hosting.hides_truncation),
            gemini.PATH: gemini.GeminiApi(self._mode),
            messages.PATH: messages.MessagesApi(),
        }
        """By patterns of their paths."""
        self._connections: set[asyncio.Task[Any]] = set()
        self._listening: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The base URL for clients."""
        host, port = self._address
        return f"http://{host}:{port}/v1"

    async def __aenter__(self) -> Self:
        host, port = self._address
        self._started_s = self._clock()
        # The default backlog of 100 makes a burst of 1,000 clients wait for seconds.
        self._listening = await asyncio.start_server(self._accept, host, port, backlog=2048)
        self._address = (host, self._listening.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
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

    async def _respond(self, channel: Channel, http: HttpRequest) -> None:
        self.counts[http.path] += 1
        self.authorizations.append(http.headers.get("authorization"))
        apis = [api for path, api in self._apis.items() if re.fullmatch(path, http.path)]
        style = apis[0].error_style if apis else self._mode.error_style
        try:
            await self._route(channel, http, apis)
        except (KeyError, TypeError, AttributeError) as exc:
            refusal = Refusal(400, f"a field is missing or of the wrong type: {exc!r}")
            await self._refuse(channel, refusal, style)
        except Refusal as refusal:
            self.counts["refused"] += 1
            await self._refuse(channel, refusal, style)

    async def _route(self, channel: Channel, http: HttpRequest, apis: Sequence[ApiCodec]) -> None:
        host = self._hosting
        if host.redirects_to is not None:
            target = host.redirects_to + http.path
            await channel.reply(307, b"", headers=[("location", target)])
            return
        loading = self._clock() - self._started_s < host.loading_s
        if loading and http.path != "/v1/models":  # which llama.cpp lists meanwhile
            raise Refusal(503, "Loading model", extra={"type": "unavailable_error"})
        has_key = host.key is None or host.key in http.keys
        if http.path != "/health" and not has_key:
            raise Refusal(401, "Incorrect API key provided.", code="invalid_api_key")
        match http.method, http.path:
            case "GET", "/health":
                await channel.reply(200, as_json({"status": "ok"}))
            case "GET", "/v1/models":
                await channel.reply(200, as_json(models(host, self._mode, self._model)))
            case "GET", "/props" if self._mode.error_style == "llama.cpp":
                await channel.reply(200, as_json(props(host, self._model)))
            case "POST", "/tokenize" | "/apply-template" if self._tokenizer:
                body = self._body(http.body)
                counts = tokenize(self._tokenizer, http.path, body, host)
                await channel.reply(200, as_json(counts))
            case "POST", _ if apis:
                await self._generate(channel, apis[0], http)
            case _:
                raise Refusal(404, f"nothing at {http.method} {http.path}")

    async def _refuse(self, channel: Channel, refusal: Refusal, style: ErrorStyle) -> None:
        body = error_body(style, refusal)
        await channel.reply(refusal.status, as_json(body))

    async def _generate(self, channel: Channel, api: ApiCodec, http: HttpRequest) -> None:
        number = self.counts[http.path]
        request = self._read(api, http)
        fault = self._faults.draw(http.body)
        await asyncio.sleep(self._latency_s)
        if fault is None or fault in PARTIAL:
            answer = await self._answer(request, number)
            request = replace(request, model=self.answers_as or request.model)
            if request.stream:
                events = api.stream(request, answer, number)
                await send_events(channel, events, fault, self._hosting.piece_delay_s)
            else:
                await send_body(channel, api.whole(request, answer, number), fault)
        else:
            await send_fault(channel, fault, api.error_style)
        self.counts[fault or "answered"] += 1

    def _read(self, api: ApiCodec, http: HttpRequest) -> ModelRequest:
        value = self._body(http.body)
        self.recent.append(value)
        request = replace(api.read(value, http), nonce=nonce_of(http.body))
        return admit(self._hosting, self._mode, request, http.path == RESPONSES_PATH)

    def _body(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as exc:
            raise Refusal(400, f"the body is not JSON: {exc}") from exc

    async def _answer(self, request: ModelRequest, number: int) -> ScriptedAnswer:
        try:
            answer = await self._policy(request.turns, request.offers)
        except Refusal:
            raise
        except Exception as exc:  # whatever a policy does wrong is reported to its client
            raise Refusal(500, f"the policy failed: {exc!r}") from exc
        usage = answer.usage if self._tells_usage else "absent"
        answer = apply_tool_choice(request, _with_reasoning(request, answer, usage))
        answer = stop(request, hold(request, answer))
        return _with_call_ids(request, truncate(request, answer), number)


def _with_reasoning(
    request: ModelRequest, answer: ScriptedAnswer, usage: Tokens | Literal["counted", "absent"]
) -> ScriptedAnswer:
    """The answer with reasoning where the mode's model always has some."""
    reasoning = answer.reasoning
    replies = sum(turn.role == "assistant" for turn in request.turns)
    if request.thinks and not reasoning and not (request.empty_reasoning and replies % 2):
        what = ", ".join(call.name for call in answer.calls) or "answer"
        reasoning = f"Message {len(request.turns)} of {request.nonce}: next I {what}."
    return replace(answer, reasoning=reasoning, usage=usage)


def _with_call_ids(request: ModelRequest, answer: ScriptedAnswer, number: int) -> ScriptedAnswer:
    """The answer with ids for its calls, bound to its reasoning where that must come back."""

    def id_of(call: ToolCall, place: int) -> str:
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


def _tokenizer(text: str) -> Tokenizing | None:
    choices: dict[str, Tokenizing | None] = {name: name for name in get_args(Tokenizing)}
    choices["none"] = None
    if text not in choices:
        raise ConfigError(f"--tokenizer {text}: write {' or '.join(choices)}")
    return choices[text]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the server answers, and how it fails."""

    policy: Annotated[str | None, Opt("reference or reference-static.", shown="reference")] = None
    script: Annotated[Path | None, Opt("Replies, a JSON object a line.")] = None
    port: Annotated[int, Opt("0: any free one.", min=0, max=65535)] = 0
    latency: Annotated[float, Opt("Seconds before each reply.", min=0.0)] = 0.0
    errors: Annotated[
        Mapping[str, float],
        Opt(
            "Such as 429:0.1,hang:0.05,cut:0.02 (agent-env docs fake-server).",
            typed=str,
            default="",
            read=parse_errors,
        ),
    ] = field(default_factory=dict)
    seed: Annotated[int, Opt("Of the errors.")] = 0
    tokenizer: Annotated[
        Tokenizing | None,
        Opt(
            "Serve POST /tokenize as vllm or llama.cpp has it; or none.", typed=str, read=_tokenizer
        ),
    ] = "vllm"
    mode: Annotated[
        str, Opt(f"Whose rules are enforced: {', '.join(MODES)} (agent-env docs fake-server).")
    ] = "lenient"
    hosting: Hosting = Hosting()
    no_usage: Annotated[bool, Opt("Report no token usage, as some servers do.")] = False

    def server(self, policy: Policy) -> FakeServer:
        """A server that answers by the policy."""
        return FakeServer(
            policy,
            port=self.port,
            latency_s=self.latency,
            errors=self.errors,
            seed=self.seed,
            tokenizer=self.tokenizer,
            tells_usage=not self.no_usage,
            mode=self.mode,
            hosting=self.hosting,
        )
