"""What `agent-env serve` is sent and answers, and the OpenAPI description made of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, with_config
from pydantic.json_schema import models_json_schema
from typing_extensions import TypedDict

from agent_env.sdk.commands import __version__

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
        operation: dict[str, Any] = {
            "operationId": name,
            "summary": summary,
            "responses": {
                code: _answer(code, model) for code, model in _with_refusals(answers, body)
            },
        }
        if body is not None:
            operation["requestBody"] = {"required": body == "StepBody", "content": _content(body)}
        entry = paths.setdefault(path, {"parameters": [_HANDLE]} if "{id}" in path else {})
        entry[method] = operation
    made_of: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "agent-env serve", "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if has_token:
        made_of["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made_of["security"] = [{"token": []}]
        paths["/health"]["get"]["security"] = []
    return made_of


def _with_refusals(
    answers: dict[str, str | None], body: str | None
) -> list[tuple[str, str | None]]:
    refused = {"400": "ErrorBody", "413": "ErrorBody", "415": "ErrorBody"} if body else {}
    return sorted((answers | refused).items())


def _answer(code: str, model: str | None) -> dict[str, Any]:
    texts = {
        "200": "Done", "201": "Begun", "204": "No episode is pending", "400": "The body is wrong",
        "404": "No such episode", "409": "Not possible in the episode's present state",
        "413": "The body is too large", "415": "The body is no application/json",
        "429": "Too many episodes are open",
    }  # fmt: skip
    return {"description": texts[code]} | ({} if model is None else {"content": _content(model)})


def _content(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _PLACE.format(model=model)}}}
