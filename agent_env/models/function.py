"""Plugged-in models: a function of the messages, the tools and the options, as many as it takes, or
an object with such a `generate`.

An `async def` runs in the run's event loop and must not block it; a plain function runs in a thread
of its own. Either gives a Reply, a text, or a message as Chat Completions has it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent_env.errors import AgentEnvError, ConfigError, ModelError, place_of
from agent_env.foreign_calls import Overdue, call
from agent_env.models.apis import anthropic, compatible, google
from agent_env.models.chat import chat_message, chat_tool, clean, ids_in, tree, unique_id, written
from agent_env.models.failures import Failures
from agent_env.models.settings import ModelSettings
from agent_env.protocols import Model, ReplyOptions
from agent_env.records.schema import Message, ProviderFields, Reply, ToolCall, ToolSpec, Usage

TIMEOUT_S = 600.0
PARAMETERS = ("messages", "tools", "options")
Takes = Sequence[tuple[str, int]]
"""The parameters of a model's function that are given, each with its index in PARAMETERS."""


class PluginModel:
    """Asks a function. What it raises ends its episode, named with the line that raised it."""

    def __init__(self, function: Callable[..., Any], name: str, takes: Takes, owner: Any) -> None:
        """`owner` may have a `close`."""
        self._function = function
        self._takes = takes
        self._owner = owner
        self.name = name

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        given = (tuple(messages), tuple(tools), options)
        by_place = [given[at] for name, at in self._takes if not name]
        by_name = {name: given[at] for name, at in self._takes if name}
        function = partial(self._function, **by_name) if by_name else self._function
        who = f"the model {self.name}"
        try:
            reply = await call(who, TIMEOUT_S, function, *by_place)
        except AgentEnvError:
            raise
        except Overdue as exc:
            where = f", and stood at {exc.place}" if exc.place else ""
            raise ModelError(f"{who} gave no reply within {TIMEOUT_S:g} s{where}") from exc
        except Exception as exc:  # the code of others
            where = f" at {line}" if (line := place_of(exc)) else ""
            text = f"{who} raised {type(exc).__name__}: {exc}{where}"
            raise ModelError(text, kind="bad_request") from exc
        if (made := _as_reply(reply, messages, self.name)) is not None:
            return made
        kind = type(reply).__name__
        raise ModelError(
            f"{who} gave {kind}; give a text, a Reply, or an assistant's message such as "
            '{"role": "assistant", "content": "MY ANSWER: None"}',
            kind="bad_request",
        )

    async def close(self) -> None:
        """Closes what was plugged in, where it wants that."""
        if (close := getattr(self._owner, "close", None)) is not None:
            await close()


def _as_reply(value: Any, heard: Sequence[Message], origin: str) -> Reply | None:
    """Of a Reply, a text, or a message or completion of Chat Completions, as a dict or an object of
    OpenAI's SDK; None for anything else."""
    if isinstance(value, Reply):
        return value
    if isinstance(value, str):
        return Reply(message=Message(role="assistant", content=value), finish_reason="stop")
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    try:
        answer = json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return None
    if isinstance(answer, dict) and "choices" not in answer:
        answer = {"choices": [{"message": answer, "finish_reason": "stop"}]}
    match answer:
        case {"choices": [{"message": {"content": str()} | {"tool_calls": [_, *_]}}, *_]}:
            return compatible.read_reply(answer, heard, origin)
    return None


def model_of(thing: Any, name: str) -> Callable[[], Model] | None:
    """Makes the model of a class or an object with `generate`, of a chat model of LangChain, of a
    function that answers, or of one without parameters that gives either; None for anything
    else."""
    bases = (thing if inspect.isclass(thing) else type(thing)).__mro__
    if any(b.__name__ == "BaseChatModel" and "langchain_core" in b.__module__ for b in bases):
        return ChatModelMaker(thing, name)
    if inspect.isclass(thing):
        return (lambda: _asking(thing(), name)) if hasattr(thing, "generate") else None
    if hasattr(thing, "generate"):
        return lambda: _asking(thing, name)
    if not callable(thing):
        return None
    takes = _parameters(thing)
    if not takes:
        return lambda: _asking(thing(), name)
    return lambda: PluginModel(thing, name, takes, thing)


def _asking(model: Any, name: str) -> PluginModel:
    if not hasattr(model, "generate"):
        raise ConfigError(f"model '{name}' makes a {type(model).__name__} without `generate`")
    return PluginModel(model.generate, name, _parameters(model.generate), model)


def _parameters(function: Callable[..., Any]) -> Takes:
    """Which of messages, tools and options it takes: by their names, and by place what has another
    name and no default; a parameter of the function's own has a default."""
    takes: list[tuple[str, int]] = []
    for place, each in enumerate(inspect.signature(function).parameters.values()):
        if each.kind is inspect.Parameter.VAR_POSITIONAL:
            return [("", at) for at in [*(at for _, at in takes), *range(place, len(PARAMETERS))]]
        is_by_place = each.kind is inspect.Parameter.POSITIONAL_ONLY
        if each.name in PARAMETERS and not is_by_place:
            takes.append((each.name, PARAMETERS.index(each.name)))
        elif each.default is inspect.Parameter.empty and each.kind is not each.VAR_KEYWORD:
            if place >= len(PARAMETERS) or each.kind is inspect.Parameter.KEYWORD_ONLY:
                raise ConfigError(
                    f"a model takes messages, tools and options, and nothing more; give "
                    f"'{each.name}' a default"
                )
            takes.append(("" if is_by_place else each.name, place))
    return takes


NOT_KNOWN = (
    "the request as it was sent and the reply as it came, which LangChain makes",
    "calls that LangChain made again itself, and their cost",
)
SECRET = re.compile(r'"([^"]{0,99}(?:key|secret|password|authorization)[^"]{0,99})":', re.I)
SHARED = (
    "temperature", "top_p", "seed", "reasoning_effort", "service_tier",
)  # fmt: skip
"""Settings that LangChain's classes call as we do, where they have them."""
FINISH_REASONS: dict[str, google.FinishReason | anthropic.FinishReason] = {
    **compatible.FINISH_REASONS, **anthropic.FINISH_REASONS, **google.FINISH_REASONS,
    "model_length": "length", "complete": "stop", "guardrail_intervened": "refused",
}  # fmt: skip
"""Those of the APIs, of Mistral, Cohere and Bedrock; Google's are in capitals."""


@dataclass(frozen=True, slots=True)
class ChatModelMaker:
    """Makes the models of a class, or the one of an object, which takes no settings."""

    thing: Any
    name: str
    not_known: tuple[str, ...] = NOT_KNOWN

    def __call__(
        self, served_name: str = "", settings: ModelSettings | None = None, key: str | None = None
    ) -> LangChainModel:
        """The model; ConfigError where its class does not take what it is given."""
        settings = settings or ModelSettings.read({})
        name = f"{self.name}/{served_name}" if served_name else self.name
        limit_s = settings.reply_timeout_s or TIMEOUT_S
        if settings.stream or settings.hosted_tools or settings.parameters.system_role != "system":
            no = "--stream, --hosted-tools and --system-role are not for LangChain"
            raise ConfigError(f"model {name}: {no}; leave them out")
        model = self.thing
        if inspect.isclass(model):
            own, extra = settings.parameters, dict(settings.parameters.extra_body)
            if secret := SECRET.search(json.dumps(extra)):
                raise ConfigError(
                    f"--extra-body: {secret[1]} would be stored with the run; name the variable "
                    "that holds it by --api-key-env"
                )
            asked = {name: getattr(own, name) for name in SHARED} | {
                "model": served_name or None, "max_tokens": own.max_output_tokens, "api_key": key
            }  # fmt: skip
            given = {name: value for name, value in asked.items() if value is not None}
            fields = self.thing.model_fields
            known = {*fields, *(field.alias for field in fields.values())}
            if unknown := [name for name in given if name not in known]:
                raise ConfigError(f"{self.name} has no {unknown[0]}; give its own by --extra-body")
            ours = {"max_retries": 0, "timeout": limit_s}
            keywords = {name: ours[name] for name in ours if name in known} | given | extra
            try:
                model = model(**keywords)
            except Exception as exc:  # the code of others
                raise ConfigError(f"model {name}: {type(exc).__name__}: {exc}") from exc
        return LangChainModel(model, name, limit_s, key, settings.echo_reasoning != "never")


class LangChainModel:
    """A Model that asks a chat model of LangChain."""

    def __init__(
        self, model: Any, name: str, timeout_s: float, key: str | None, echoes: bool
    ) -> None:
        self.name = name
        self._model = model
        self._timeout_s = timeout_s
        self._echoes = echoes
        self._failures = Failures(name, "LangChain", key, timeout_s)

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """One reply; raises ModelError where there is none."""
        if options.schema is not None:
            text = f"{self.name}: no --answer-format schema through LangChain; leave it out"
            raise ModelError(text, kind="bad_request")
        asked, seed = self._model, options.seed
        if tools:
            is_claude = "anthropic" in type(asked).__module__  # which has no text for `none`
            choices = {"required": "any", "none": {"type": "none"} if is_claude else "none"}
            choice = choices.get(options.tool_choice)
            chosen = {} if choice is None else {"tool_choice": choice}
            asked = asked.bind_tools([chat_tool(tool) for tool in tools], **chosen)
        keywords: dict[str, Any] = {"stop": list(options.stop) or None} | (
            {} if seed is None else {"seed": seed}
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await asked.ainvoke(self._sent(messages), **keywords)
            return self._reply(answer, messages)
        except Exception as exc:  # the code of others
            failure = self._failure(exc)
        raise failure

    def _sent(self, messages: Sequence[Message]) -> list[Any]:
        from langchain_core.messages import convert_to_messages, messages_from_dict

        sent: list[Any] = []
        for message in messages:
            kept = message.provider_fields
            if self._echoes and kept is not None and kept.origin == self.name:
                sent += messages_from_dict(list(message.provider_items))
            else:
                sent += convert_to_messages([chat_message(message, {})])
        return sent

    def _reply(self, answer: Any, messages: Sequence[Message]) -> Reply:
        from langchain_core.messages import message_to_dict

        taken = ids_in(messages)
        for made in (*answer.tool_calls, *answer.invalid_tool_calls):
            made["id"] = unique_id(made["id"] or "", taken, len(messages))
            taken.add(made["id"])
        calls = tuple(
            ToolCall(id=made["id"], name=made["name"] or "", arguments=written(made["args"]))
            for made in (*answer.tool_calls, *answer.invalid_tool_calls)
        )
        blocks, about = answer.content_blocks, answer.response_metadata
        names = ("finish_reason", "stop_reason", "done_reason", "stopReason")
        reason = next((about[name] for name in names if about.get(name)), "")
        ours = FINISH_REASONS.get(str(reason))
        thoughts = "".join(b.get("reasoning") or "" for b in blocks if b["type"] == "reasoning")
        kept = tree(json.loads(json.dumps(message_to_dict(answer), default=str)))
        return Reply(
            message=Message(
                role="assistant",
                content="".join(block["text"] for block in blocks if block["type"] == "text"),
                tool_calls=calls,
                reasoning=thoughts or None,
                provider_items=(kept,),
                provider_fields=ProviderFields(origin=self.name),
            ),
            finish_reason="tool_calls" if calls and ours in (None, "stop") else ours,
            usage=_usage(answer.usage_metadata or {}),
            model=about.get("model_name") or about.get("model"),
        )

    def _failure(self, exc: Exception) -> ModelError:
        """By the status that the provider's own error has, or the error that LangChain made of it;
        else by its name."""
        errors = (exc, exc.__cause__)
        response = _first(errors, "response")
        status = _first((*errors, response), "status_code") or _first(errors, "code")
        text = clean(f"raised {type(exc).__name__}: {exc}", self._failures.key)
        if isinstance(status, int):
            body = _first(errors, "body", "details") or text
            return self._failures.reported(body, {}, status, _first((response,), "headers"))
        names = " ".join(each.__name__ for each in type(exc).__mro__)
        if "Timeout" in names:
            return ModelError(f"{self.name} {text}", kind="timeout", retryable=True)
        if re.search("Connect|RemoteProtocol|ReadError", names):
            return ModelError(f"{self.name} {text}", kind="connection", retryable=True)
        where = f" at {line}" if (line := place_of(exc)) else ""
        return ModelError(f"{self.name} {text}{where}", kind="bad_request")


def _first(things: Iterable[Any], *names: str) -> Any:
    values = (getattr(thing, name, None) for thing in things for name in names)
    return next((value for value in values if value is not None), None)


def _usage(counts: Any) -> Usage:
    """LangChain counts cached tokens among the input, thoughts among the output."""
    read, wrote = counts.get("input_token_details") or {}, counts.get("output_token_details") or {}
    return Usage(
        input_tokens=counts.get("input_tokens"),
        cached_tokens=read.get("cache_read"),
        cache_write_tokens=read.get("cache_creation"),
        output_tokens=counts.get("output_tokens"),
        reasoning_tokens=wrote.get("reasoning"),
        source="provider" if counts else None,
    )
