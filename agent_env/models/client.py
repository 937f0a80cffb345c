"""The client of all model APIs: sends a request, plain or streamed, and reads the reply."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence

from agent_env.errors import ConfigError, ModelError
from agent_env.models.api import Api, Exchange, Fault, RequestParts
from agent_env.models.chat import Json, ids_in, unique_id
from agent_env.models.dialect import Dialect, EchoMode, Rules
from agent_env.models.endpoint import Endpoint
from agent_env.models.settings import Parameters
from agent_env.models.streams import LoopWatch
from agent_env.models.usage import service_tier_of
from agent_env.permits import Permit
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, Repetition, Reply, ToolCall, ToolSpec, Usage

LETTERS_PER_TOKEN = 4
RESIDUE = re.compile(
    r"\A(?:[\s\"'`$]|<(?!\|)){0,20}(?:<\|[^|<>]{0,40}\|>|(?:assistant|commentary|namespace) "
    r"|(?:functions?|tools?|default_api|to|recipient)[.:/=]\s?)*"
    r"|(?:\s?<[|/].*|\(.*|:\d{1,6}\W{0,9}|[\s\"'`>,;]{1,20})\Z",
    re.S,
)
"""What parsers of calls leave around a tool's name: functions.NAME, NAME:0, NAME<|channel|>."""
Post = Callable[[Endpoint, str, Json], Awaitable[Json]]
"""Sends a request to a path of the server, or gets the reply to it otherwise."""


class ApiModel:
    """A Model on a server that speaks the API."""

    def __init__(
        self,
        api: Api,
        name: str,
        model: str,
        base_url: str,
        api_key: str | None,
        parameters: Parameters,
        timeout_s: float,
        stream: bool = False,
        idle_s: float | None = None,
        echo: EchoMode = "auto",
        former_urls: Sequence[str] = (),
        note: Callable[[str], None] = lambda text: None,
        post: Post | None = None,
        *,
        permit: Permit,
    ) -> None:
        for parameter, reason in api.refuses.items():
            if getattr(parameters, parameter) is not None:
                raise ConfigError(reason)
        if parameters.service_tier is not None and parameters.service_tier not in api.tiers:
            known = f"it has {', '.join(api.tiers)}" if api.tiers else "it has none"
            raise ConfigError(f"--service-tier {parameters.service_tier}: not of {name}; {known}")
        self.name = name
        self._api = api
        self._model = model
        self._parameters = parameters
        self._stream = stream
        self._path = api.path_for(model, base_url, stream)
        self._post = post or Endpoint.post
        self._endpoint = Endpoint(
            model, base_url, api_key, timeout_s, idle_s, api.headers, api.is_openai, permit=permit
        )
        self._dialect = Dialect(echo, self._endpoint.origins(former_urls), note)

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """One reply; raises ModelError where the server gives none that can be used."""
        rules, watch = self._dialect.rules, LoopWatch()
        request = self.request(messages, tools, options)
        if self._stream:
            fields = self._api.stream_fields
            request |= {name: fields[name] for name in fields if name not in rules.refused}
        try:
            if self._stream:
                body = await self._streamed(request, watch)
            else:
                body = await self._post(self._endpoint, self._path, request)
        except ModelError as exc:
            if exc.failed_call is not None and tools:
                return _failed_call(exc, exc.failed_call, messages, tools)
            failure = self._dialect.classify(exc, messages, request, rules)
        else:
            reply = _with_tools_names(self._reply(body, request, messages), tools)
            if options.schema is not None and reply.finish_reason == "stop":
                self._check_held(reply)
            # The reply as it is, or marked as one that was cut in a loop, or that ran to its
            # limit in one
            was_cut, message = watch.loop is not None, reply.message
            if reply.finish_reason == "length" and not was_cut:
                watch.look(("content", message.content), ("reasoning", message.reasoning or ""))
            if watch.loop is None:
                return reply
            limit, saved = self._parameters.max_output_tokens, None
            if limit is not None:
                letters = len(message.content) + len(message.reasoning or "")
                saved = max(0, limit - (reply.usage.output_tokens or letters // LETTERS_PER_TOKEN))
            loop = Repetition(
                unit=watch.loop.unit[:200],
                times=watch.loop.times,
                place=watch.place,
                was_cut=was_cut,
                saved_tokens=saved if was_cut else 0,
            )
            return reply.model_copy(update={"finish_reason": "repetition", "repetition": loop})
        raise failure

    @property
    def rules(self) -> Rules:
        """What the server was seen to want."""
        return self._dialect.rules

    async def close(self) -> None:
        await self._endpoint.close()

    def request(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], options: ReplyOptions
    ) -> Json:
        """What is sent, but for the fields of a stream."""
        parameters = self._parameters
        sent = parameters.with_roles(messages)
        parts = RequestParts(self._model, sent, tools, options, parameters, self._dialect)
        return parameters.body(self._api.request(parts))

    async def _streamed(self, request: Json, watch: LoopWatch) -> Json:
        cut = self._api.cut
        events = await self._endpoint.events(self._path, request, watch if cut else None)
        if cut is not None and watch.loop is not None:
            events.append(cut(events))
        body = self._api.whole(events)
        if isinstance(body, Fault):
            raise self._failure(body, request, events)
        return body

    def _reply(self, body: Json, request: Json, messages: Sequence[Message]) -> Reply:
        failures = self._endpoint.failures
        excess = failures.cleaned(self._api.take_excess_out(body))
        exchange = Exchange(request, messages, self._endpoint.origin, excess)
        reply = self._api.reply(failures.cleaned(body), exchange)
        if isinstance(reply, Fault):
            raise self._failure(reply, request)
        self._dialect.report_excess(reply.message)
        if (usage := _possible(reply)) != reply.usage:
            reply = reply.model_copy(update={"usage": usage})
        if (tier := service_tier_of(body, request)) is None:
            return reply
        return reply.model_copy(update={"usage": reply.usage.model_copy(update={"tier": tier})})

    def _check_held(self, reply: Reply) -> None:
        """ModelError where the server let the schema of the request fall."""
        text = reply.message.content.rpartition("</think>")[2].strip()
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self._endpoint.failures.unheld(text)

    def _failure(self, fault: Fault, request: Json, events: Sequence[Json] = ()) -> ModelError:
        failures = self._endpoint.failures
        if fault.error:
            return failures.reported(fault.error, request, answer=fault.answer)
        if fault.what:
            return failures.unusable(fault.what, answer=fault.answer)
        return failures.cut(events, fault.answer)


def _with_tools_names(reply: Reply, tools: Sequence[ToolSpec]) -> Reply:
    """The reply with calls of the tools that are meant, where a parser left something around their
    names."""
    names, calls = {tool.name for tool in tools}, reply.message.tool_calls
    if all(call.name in names for call in calls):
        return reply
    renamed = []
    for call in calls:
        bare = RESIDUE.sub("", call.name)
        is_meant = call.name not in names and bare in names
        update = {"name": bare, "written_name": call.name} if is_meant else {}
        renamed.append(call.model_copy(update=update))
    message = reply.message.model_copy(update={"tool_calls": tuple(renamed)})
    return reply.model_copy(update={"message": message})


def _possible(reply: Reply) -> Usage:
    """The usage without counts of 0 that cannot be: of a prompt, and of a reply with a text."""
    usage, message = reply.usage, reply.message
    zeros = [] if usage.input_tokens != 0 else ["input_tokens"]
    if usage.output_tokens == 0 and (message.content or message.tool_calls or message.reasoning):
        zeros.append("output_tokens")
    if not zeros:
        return usage
    is_known = usage.input_tokens or usage.output_tokens
    unknown = dict.fromkeys(zeros) | ({} if is_known else {"source": None})
    return usage.model_copy(update=unknown)


def _failed_call(
    error: ModelError, written: str, messages: Sequence[Message], tools: Sequence[ToolSpec]
) -> Reply:
    """The turn of a model whose server could not read the call that it wrote: a call with a
    problem."""
    from agent_env.models.text_protocol import example_arguments, named_in

    tool = named_in(written, tools)
    problem = (
        f"this is not a call that can be run: {written[:500]!r}. Call {tool.name} as a tool, with "
        f"arguments like {example_arguments(tool)}"
    )
    id_ = unique_id("", ids_in(messages), len(messages))
    call = ToolCall(id=id_, name=tool.name, arguments=written, problem=problem)
    return Reply(
        message=Message(role="assistant", content="", tool_calls=(call,)),
        finish_reason="tool_calls",
        usage=error.usage or Usage(),
    )
