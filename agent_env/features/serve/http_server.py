"""`agent-env serve http`: the episodes of a run over HTTP, for many agents at once, with the
OpenAPI description of what is sent and answered.

Guaranteed: nothing of the run's folder is served but the prompt, what tools and rules say, and the
reward of an episode that is over (with `shows_metrics` its metrics, from which gold answers can
follow); no gold answer and no id of a sample. Every step is recorded to its end, even where its
client has gone. `hosting` bounds what a client costs. Without a token only callers of
this machine are heard (by its address and the Host they name), and no request of a web page is
carried out. Not guaranteed without a token: that other users of this machine cannot connect.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic.json_schema import models_json_schema
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from typing_extensions import TypedDict

import agent_env
from agent_env.features.serve.hosting import LOOPBACK
from agent_env.features.serve.served_run import Ending, EpisodeChoice, ServedRun, ServedRunError
from agent_env.sdk.errors import AgentEnvError, first_problem
from agent_env.sdk.models import chat_message, chat_tool, read_reply

if TYPE_CHECKING:
    from agent_env.sdk.records import Message
    from agent_env.sdk.run import Turn


_DOCS = ConfigDict(use_attribute_docstrings=True)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ResetBody(_Body):
    """Which episode to begin; nothing asks for the next pending one."""

    sample: str | None = None
    """A sample's name, of GET /tasks."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Instead of `sample`: sample number `seed` modulo the number of samples."""
    condition: str | None = None
    """A condition's name, of GET /tasks; by default any for the next episode, else the first."""
    repeat: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Of the sample; by default the first that nobody has begun."""
    agent: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """The agent's name in the trace."""


class _Function(BaseModel):
    model_config = _DOCS

    name: str
    arguments: str
    """JSON as the model wrote it."""


class _Call(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: str = ""
    type: Literal["function"] = "function"
    function: _Function


class AssistantMessage(BaseModel):
    """An assistant message of chat completions; further fields are kept."""

    model_config = ConfigDict(extra="allow")

    role: Literal["assistant"] = "assistant"
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[_Call] | None = None


class StepBody(_Body):
    """A reply, as a server of chat completions gives it."""

    message: AssistantMessage
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    """`prompt_tokens` and `completion_tokens`, where the agent knows them."""
    number: Annotated[int, Field(ge=1)] | None = None
    """Of this step, from 1: a step that is sent twice is then made once, and refused once."""


@with_config(_DOCS)
class ChatTurn(TypedDict):
    """What the agent is asked, or the end of the episode."""

    id: str
    """The episode's handle."""
    episode: str
    """CONDITION/SAMPLE.REPEAT, with the sample's name of GET /tasks."""
    messages: list[dict[str, Any]]
    """To be put at the end of the conversation; after a step they begin with the reply itself."""
    tools: list[dict[str, Any]]
    """Those that may be called now."""
    tool_choice: str
    """Whether the next reply may (`auto`), must (`required`) or must not (`none`) call a tool."""
    steps: int
    """Replies so far."""
    done: bool
    reward: float | None
    """The task's main metric once done; null before, and where the episode failed."""
    stop_reason: str | None
    failure: str | None


@with_config(_DOCS)
class EndingBody(TypedDict):
    """How an episode ended."""

    id: str
    episode: str
    reward: float | None
    stop_reason: str | None
    failure: str | None
    metrics: NotRequired[dict[str, float]]
    """All of the task's, where the server was started with --show-metrics."""
    answer: NotRequired[str | None]
    """The agent's, as the scorer read it; with the metrics."""


@with_config(_DOCS)
class TasksBody(TypedDict):
    """What is served."""

    task: str
    metrics: list[str]
    """The first is the reward."""
    conditions: list[str]
    samples: list[str]
    """Names that this run alone gives its samples."""
    repeats: int


@with_config(_DOCS)
class HealthBody(TypedDict):
    """That the server is up."""

    status: Literal["healthy"]
    version: str
    open_episodes: int


@with_config(_DOCS)
class ErrorText(TypedDict):
    """What is wrong."""

    code: str
    message: str
    """What, which value, and what to do."""


@with_config(_DOCS)
class ErrorBody(TypedDict):
    """The body of every answer from 400 on."""

    error: ErrorText


_MODELS = (ResetBody, StepBody)
_ANSWERS = (ChatTurn, EndingBody, TasksBody, HealthBody, ErrorBody)
_REFUSED: dict[str, str | None] = {"400": "ErrorBody", "413": "ErrorBody", "415": "ErrorBody"}
"""Answers to a request with a wrong body."""
_PLACE = "#/components/schemas/{model}"
_EPISODE = "/episodes/{id}"
_HANDLE = {
    "name": "id", "in": "path", "required": True, "schema": {"type": "string"},
    "description": "The handle that POST /episodes gave.",
}  # fmt: skip
_OPERATIONS: tuple[tuple[str, str, str, str, str | None, dict[str, str | None]], ...] = (
    ("get", "/health", "health", "Whether the server is up", None, {"200": "HealthBody"}),
    ("get", "/tasks", "tasks", "Task, conditions and samples", None, {"200": "TasksBody"}),
    ("post", "/episodes", "reset", "Begin an episode; 204: none is pending", "ResetBody",
     {"201": "ChatTurn", "204": None, "409": "ErrorBody", "429": "ErrorBody"}),
    ("get", _EPISODE, "episode", "The whole conversation so far", None,
     {"200": "ChatTurn", "404": "ErrorBody", "409": "ErrorBody"}),
    ("post", f"{_EPISODE}/step", "step", "Reply, and get what tools and rules say", "StepBody",
     {"200": "ChatTurn", "404": "ErrorBody", "409": "ErrorBody"}),
    ("get", f"{_EPISODE}/score", "score", "How the episode ended", None,
     {"200": "EndingBody", "404": "ErrorBody", "409": "ErrorBody"}),
    ("delete", _EPISODE, "give_up", "End the episode as failed", None,
     {"200": "EndingBody", "404": "ErrorBody", "409": "ErrorBody"}),
)  # fmt: skip
"""Method, path, operation, summary, body, answers."""


def openapi(has_token: bool) -> dict[str, Any]:
    """The OpenAPI 3.1 description of the server."""
    _, made = models_json_schema([(model, "validation") for model in _MODELS], ref_template=_PLACE)
    schemas: dict[str, Any] = dict(made["$defs"])
    for answer in _ANSWERS:
        schema = TypeAdapter(answer).json_schema(ref_template=_PLACE)
        schemas |= schema.pop("$defs", {})
        schemas[answer.__name__] = schema
    paths: dict[str, dict[str, Any]] = {}
    for method, path, name, summary, body, answers in _OPERATIONS:
        told = answers | (_REFUSED if body else {})
        operation: dict[str, Any] = {
            "operationId": name,
            "summary": summary,
            "responses": {code: _described(code, model) for code, model in sorted(told.items())},
        }
        if body is not None:
            operation["requestBody"] = {"required": body == "StepBody", "content": _content(body)}
        entry = paths.setdefault(path, {"parameters": [_HANDLE]} if "{id}" in path else {})
        entry[method] = operation
    made_of: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "agent-env serve http", "version": agent_env.__version__},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if has_token:
        made_of["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made_of["security"] = [{"token": []}]
        paths["/health"]["get"]["security"] = []
    return made_of


def _described(code: str, model: str | None) -> dict[str, Any]:
    texts = {
        "200": "Done", "201": "Begun", "204": "No episode is pending", "400": "The body is wrong",
        "404": "No such episode", "409": "Not possible in the episode's present state",
        "413": "The body is too large", "415": "The body is not application/json",
        "429": "Too many episodes are open",
    }  # fmt: skip
    return {"description": texts[code]} | ({} if model is None else {"content": _content(model)})


def _content(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _PLACE.format(model=model)}}}


STATUS = {"unknown": 404, "conflict": 409, "full": 429}
NEXT = {
    404: "POST /episodes begins one; GET /tasks lists what there is",
    409: "GET /episodes/ID has an open episode, GET /episodes/ID/score the score of an ended one",
    429: "DELETE /episodes/ID ends one",
}
"""What to do, by status."""
Body = TypeVar("Body", bound=BaseModel)


class Refused(Exception):
    """A request that is not carried out."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class EpisodeServer:
    """The app over a served run. `port` is None where any host may be named; `idle_s` ends
    episodes of which nothing was heard for so long."""

    def __init__(
        self, served_run: ServedRun, agent: str, token: str | None = None, port: int | None = None,
        idle_s: float = 900, shows_metrics: bool = False,
    ) -> None:  # fmt: skip
        self._run, self._agent, self._idle_s = served_run, agent, idle_s
        self._shows_metrics = shows_metrics
        self._token = None if token is None else f"Bearer {token}".encode()
        names = (LOOPBACK, "localhost")
        self._hosts = None if port is None else {*names, *(f"{name}:{port}" for name in names)}
        self._description = _json(200, openapi(token is not None)).body

    def app(self) -> Starlette:
        """For an ASGI server."""
        each = "/episodes/{id}"
        routes = [
            Route("/health", self._guarded(self._health), methods=["GET"]),
            Route("/openapi.json", self._guarded(self._openapi), methods=["GET"]),
            Route("/tasks", self._guarded(self._tasks), methods=["GET"]),
            Route("/episodes", self._guarded(self._reset), methods=["POST"]),
            Route(f"{each}/step", self._guarded(self._step), methods=["POST"]),
            Route(f"{each}/score", self._guarded(self._score), methods=["GET"]),
            Route(each, self._guarded(self._state), methods=["GET"]),
            Route(each, self._guarded(self._give_up), methods=["DELETE"]),
        ]
        return Starlette(
            routes=routes, lifespan=self._lifespan, exception_handlers={HTTPException: _not_here}
        )

    async def _health(self, request: Request) -> Response:
        count = len(self._run.handles)
        return _json(
            200, HealthBody(status="healthy", version=agent_env.__version__, open_episodes=count)
        )

    async def _openapi(self, request: Request) -> Response:
        return Response(self._description, media_type="application/json")

    async def _tasks(self, request: Request) -> Response:
        environment = self._run.environment
        manifest = environment.folder.manifest
        body = TasksBody(
            task=manifest.task,
            metrics=list(environment.task.metrics),
            conditions=[condition.name for condition in environment.conditions],
            samples=list(self._run.samples),
            repeats=manifest.repeats,
        )
        return _json(200, body)

    async def _reset(self, request: Request) -> Response:
        body = await _body(request, ResetBody)
        sample = body.sample
        if body.seed is not None:
            if sample is not None:
                raise Refused(400, "bad_request", "sample and seed both choose; leave one out")
            samples = self._run.samples
            sample = samples[body.seed % len(samples)]
        if sample is None and body.repeat is not None:
            raise Refused(400, "bad_request", "repeat is a sample's: name the sample too")
        choice = EpisodeChoice(sample, body.condition, body.repeat)
        question = await self._run.begin(body.agent or self._agent, choice)
        if question is None:
            return Response(status_code=204)
        turn = question.turn
        return _json(201, _turn(question.handle, question.episode, turn, turn.messages))

    async def _state(self, request: Request) -> Response:
        handle = request.path_params["id"]
        opened = self._run.opened(handle)
        name = self._run.name(opened.key)
        return _json(200, _turn(handle, name, opened.turn, opened.turn.messages))

    async def _step(self, request: Request) -> Response:
        handle = request.path_params["id"]
        opened = self._run.opened(handle)
        body = await _body(request, StepBody)
        message = body.message.model_dump(exclude_none=True)
        choice = {"message": message, "finish_reason": body.finish_reason or "stop"}
        answer: Any = {"choices": [choice], "usage": body.usage}
        reply = read_reply(answer, opened.turn.messages, self._agent)
        before, turn = await self._run.step(handle, reply, body.number)
        new = turn.messages[len(before.messages) :]
        return _json(200, _turn(handle, self._run.name(opened.key), turn, new))

    async def _score(self, request: Request) -> Response:
        handle = request.path_params["id"]
        return _json(200, self._ending(handle, self._run.ending(handle)))

    async def _give_up(self, request: Request) -> Response:
        handle = request.path_params["id"]
        ending = await self._run.give_up(handle, "given up by the agent")
        return _json(200, self._ending(handle, ending))

    def _ending(self, handle: str, ending: Ending) -> EndingBody:
        body = EndingBody(
            id=handle,
            episode=ending.episode,
            reward=ending.reward,
            stop_reason=ending.stop_reason,
            failure=ending.failure,
        )
        if self._shows_metrics:
            body |= {"metrics": dict(ending.metrics), "answer": ending.answer}
        return body

    def _guarded(
        self, answer: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """With the door before it, and errors as JSON."""

        async def guarded(request: Request) -> Response:
            try:
                self._admit(request)
                return await answer(request)
            except Refused as exc:
                return _error(exc.status, exc.code, str(exc))
            except ServedRunError as exc:
                status = STATUS[exc.kind]
                return _error(status, exc.kind, f"{exc}; {NEXT[status]}")
            except AgentEnvError as exc:
                return _error(500, "failure", str(exc))
            except ClientDisconnect:
                return Response(status_code=400)  # nobody reads it

        return guarded

    def _admit(self, request: Request) -> None:
        headers = request.headers
        if self._hosts is not None and headers.get("host") not in self._hosts:
            named = " or ".join(f"http://{host}" for host in sorted(self._hosts) if ":" in host)
            raise Refused(421, "wrong_host", f"this server answers at {named} only")
        if self._token is None and "origin" in headers:
            raise Refused(403, "web_page", "this server answers no web page; ask without the "
                          "header Origin, or use a token")  # fmt: skip
        if self._token is not None and request.url.path != "/health":
            sent = headers.get("authorization", "").encode("latin-1")
            if not hmac.compare_digest(sent, self._token):
                raise Refused(401, "no_token", "send the header 'Authorization: Bearer TOKEN': "
                              "serve printed the token, or --token-env names it")  # fmt: skip

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(min(self._idle_s / 4, 15))
            with suppress(AgentEnvError):  # a full disk is told to whoever steps next
                await self._run.give_up_idle(self._idle_s)


async def _body(request: Request, model: type[Body]) -> Body:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    data = await request.body()
    if kind != "application/json":  # a web page can send any other type, or none, without asking
        raise Refused(
            415, "no_json", f"the body is '{kind}'; send 'content-type: application/json'"
        )
    try:
        return model.model_validate_json(data or b"{}")
    except ValidationError as exc:
        known = ", ".join(model.model_fields)
        raise Refused(
            400, "bad_request", f"{first_problem(exc.errors(include_url=False))}; "
            f"known fields: {known} (GET /openapi.json describes them)"
        ) from exc  # fmt: skip


def _turn(handle: str, episode: str, turn: Turn, messages: tuple[Message, ...]) -> ChatTurn:
    ended = turn.episode
    return ChatTurn(
        id=handle,
        episode=episode,
        messages=[chat_message(message) for message in messages],
        tools=list(map(chat_tool, turn.tools)),
        tool_choice=turn.tool_choice,
        steps=sum(message.role == "assistant" for message in turn.messages),
        done=turn.done,
        reward=turn.reward,
        stop_reason=None if ended is None else ended.stop_reason,
        failure=None if ended is None else ended.failure,
    )


def _json(status: int, body: Any) -> Response:
    return Response(json.dumps(body).encode(), status, media_type="application/json")


def _error(status: int, code: str, message: str) -> Response:
    return _json(status, {"error": {"code": code, "message": message}})


async def _not_here(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    text = f"{request.method} {request.url.path} is not served; GET /openapi.json tells what is"
    return _error(exc.status_code, "unknown", text)
