"""The contract of a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

from pydantic import ValidationError

from agent_env.errors import ConfigError, ModelError, ModelErrorKind
from agent_env.models.api import Api
from agent_env.models.function import model_of
from agent_env.protocols import Model, ReplyOptions
from agent_env.records.schema import Message, Reply, ToolSpec
from agent_env.runs.waiting import wait_for
from agent_env.testing.fakes import raise_findings, raised
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins

LOOK_UP = ToolSpec(
    name="look_up",
    description="Looks a word up.",
    parameters={
        "type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"],
    },
)  # fmt: skip
QUESTION = (Message(role="user", content="In which year was 29 February 2000?"),)
KINDS = get_args(ModelErrorKind)


def check_model(
    model: Model | Callable[..., Any] | str,
    *,
    messages: Sequence[Message] = QUESTION,
    tools: Sequence[ToolSpec] = (LOOK_UP,),
    failing: Model | Callable[..., Any] | None = None,
) -> None:
    """Checks a model: an object or class with `generate`, a function, or a NAME as for `--model`.

    It replies to `messages` with and without tools, to the results of tools that it calls, and to
    two questions at once; each reply is a Reply that a trace can hold, and calls only what it is
    offered. `failing`: the same model where it cannot reply, such as without its server; it must
    raise a ModelError with a `kind`, which decides whether the call is tried again.
    """
    instance = _opened(model)
    findings = wait_for(_findings(instance, tuple(messages), tuple(tools)))
    if failing is not None:
        findings += wait_for(_of_failure(_opened(failing), tuple(messages)))
    raise_findings(f"model {getattr(instance, 'name', '(no name)')}", findings)


def _opened(model: Any) -> Model:
    if isinstance(model, str):
        return make_model(model, None, {}, own_plugins())
    if isinstance(model, Api):
        raise ConfigError(f"{model} needs a server; pass the model that make_model gives")
    if hasattr(model, "name") and hasattr(model, "generate") and not isinstance(model, type):
        return model  # type: ignore[no-any-return]
    maker = model_of(model, getattr(model, "__name__", "model"))
    if maker is None:
        raise ConfigError(f"{model!r} is not a model; give it `generate`")
    return maker()


async def _findings(
    model: Model, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]
) -> list[str]:
    if not isinstance(getattr(model, "name", None), str) or not model.name:
        return ["it has no name; run.json and every table need one"]
    findings: list[str] = []
    none = ReplyOptions(tool_choice="none", seed=1)
    talks = [("without tools", (), ReplyOptions()), ("with tools", tools, ReplyOptions()),
             ("with tools that it may not call", tools, none)]  # fmt: skip
    for when, offered, options in talks:
        try:
            reply = await model.generate(messages, offered, options)
            findings += _of_reply(reply, offered, when)
            if isinstance(reply, Reply) and reply.message.tool_calls:
                more = (*messages, reply.message, *_results(reply))
                second = await model.generate(more, offered, options)
                findings += _of_reply(second, offered, "after a tool's result")
        except Exception as exc:  # the code of others
            findings.append(f"{when} it raised {raised(exc)}")
    both = [model.generate(messages, (), ReplyOptions()) for _ in range(2)]
    for result in await asyncio.gather(*both, return_exceptions=True):
        if isinstance(result, BaseException) and not findings:
            findings.append(f"asked twice at once it raised {raised(result)}")
    return findings


def _results(reply: Reply) -> Iterator[Message]:
    for call in reply.message.tool_calls:
        yield Message(role="tool", tool_call_id=call.id, content="2000")


def _of_reply(reply: object, offered: Sequence[ToolSpec], when: str) -> Iterator[str]:
    if not isinstance(reply, Reply):
        yield f"{when} it gave a {type(reply).__name__}; give a Reply"
        return
    if reply.message.role != "assistant":
        yield f"{when} the reply's role is {reply.message.role}; it is assistant"
    calls = reply.message.tool_calls
    if not calls and not reply.message.content and reply.finish_reason in (None, "stop"):
        yield f"{when} the reply is empty; raise a ModelError of kind 'unreadable' instead"
    if len({call.id for call in calls}) < len(calls):
        yield f"{when} two calls have one id; results would be mixed up"
    for call in calls:
        if call.name not in {tool.name for tool in offered} and not offered:
            yield f"{when} it calls {call.name}, which is not offered"
        try:
            is_object = isinstance(json.loads(call.arguments or "{}"), dict)
        except ValueError:
            is_object = False
        if not is_object:
            yield f"{when} the arguments {call.arguments[:60]!r} are no JSON object"
    for name, count in reply.usage.model_dump(exclude_none=True).items():
        if isinstance(count, int) and count < 0:
            yield f"{when} usage.{name} is {count}; unknown is None"
    try:
        is_same = Reply.model_validate_json(reply.model_dump_json()) == reply
    except (ValidationError, ValueError) as exc:
        yield f"{when} no trace can hold the reply: {raised(exc)}"
        return
    if not is_same:
        yield f"{when} the reply is another one after writing and reading; use types of JSON"


async def _of_failure(model: Model, messages: tuple[Message, ...]) -> list[str]:
    try:
        await model.generate(messages, (), ReplyOptions())
    except ModelError as exc:
        if exc.kind in KINDS and str(exc).strip():
            return []
        return [f"its failure has the kind {exc.kind}; say one of {', '.join(KINDS)}"]
    except Exception as exc:  # the code of others
        return [f"its failure is {raised(exc)}; raise a ModelError with a kind"]
    return ["the model that is to fail gave a reply"]
