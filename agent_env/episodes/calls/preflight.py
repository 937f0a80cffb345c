"""Short calls that show what a server does: whether the conditions are valid on it, before the
first episode, and which other features it has, for `check`.

The preflight is one call without tools and one for each distinct list of tools, without retries:
after a rate limit, an outage or a broken reply the result is reported as unknown.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pydantic import JsonValue

from agent_env.errors import EpisodeError, ModelError, boundary
from agent_env.graph.meter import known_or_estimated
from agent_env.models.addresses import served_name
from agent_env.models.chat import REASONING
from agent_env.models.dialect import Rules
from agent_env.models.server_facts import ServerFacts, is_listed
from agent_env.models.text_protocol import TextProtocol
from agent_env.protocols import Model, ReplyOptions, ToolChoice
from agent_env.records.json_schema import closed
from agent_env.records.manifest import ContextCheck, Preflight, Probe, ToolCheck
from agent_env.records.model_server import Feature
from agent_env.records.schema import Condition, Message, Reply, ToolSpec
from agent_env.scoring.calls_in_text import FENCED_JSON, call_in_text, remedy

MOST_OUTPUT = 256
"""Maximum output tokens: enough for a call and the reasoning of most models before it."""
CALL_S = 120.0
"""After which a test call ends, unless --reply-timeout-s says another time."""
QUESTION = Message(
    role="user",
    content="This is a test of the connection. If you have a tool, call one of them once, with any "
    "arguments that fit; else reply with the word OK.",
)
MOST_NAMES = 5
"""Models of the server that a message names."""
MOST_RULES = 4
"""Refusals of one call that teach something."""
AWAY = ("connection", "timeout", "authentication")
"""Errors after which no further call is made."""
REFUSED = ("bad_request", "context_overflow")
"""Errors by which the server refuses a request's content."""
HELD = "--tool-protocol text --answer-format schema"
"""Under which a server that takes schemas gives a call where one is required."""
ANY_ANSWER = closed({"answer": {"type": "string"}})
TEMPLATE = (
    "start it with a chat template that knows tools (llama.cpp: --jinja and --chat-template-file), "
    "or take --tool-protocol text"
)


@dataclass(frozen=True, slots=True)
class ProbedModel:
    """The model under test."""

    name: str
    """The model, as on the command line."""
    base_url: str | None
    facts: ServerFacts
    in_text: bool
    """Whether tools are offered by the text protocol."""
    can_hold: bool = False
    """Whether the server could be asked to hold answers to a schema, by which calls can be held."""


async def preflight(
    model: Model,
    target: ProbedModel,
    conditions: Sequence[Condition],
    offers: Mapping[tuple[str, ...], Sequence[ToolSpec]],
    at: str,
    contexts: Sequence[ContextCheck] = (),
) -> Preflight:
    """The result of the test calls; `offers`: the tools of the conditions by their names;
    `contexts`: what the conditions need of the context."""
    bare, _ = await short_call(model, ())
    probes: dict[tuple[str, ...], Probe] = {(): bare}
    for names, specs in offers.items():
        offered = [c for c in conditions if c.tools == names]
        required = any(c.first_step == "required" for c in offered)
        choice: ToolChoice = "required" if required else "auto"
        is_held = target.in_text and all(c.answer_format == "schema" for c in offered)
        options = ReplyOptions(choice, schema=ANY_ANSWER if is_held else None)
        if bare.error_kind in AWAY:
            probes[names] = Probe(tools=names, tool_choice=choice, error="not asked any more")
        else:
            probes[names], _ = await short_call(model, specs, options)
    checks = tuple(
        _check(c.name, bare, probes[c.tools], target) for c in conditions if c.tools in offers
    )
    schema_probes = await _schema_call(model, target, checks, conditions, offers)
    facts, room = target.facts, target.facts.context_tokens
    fitting = [(each, None if room is None else each.needed_tokens <= room) for each in contexts]
    served = [each.served_model for each in probes.values() if each.served_model is not None]
    return Preflight(
        at=at,
        model=target.name,
        base_url=target.base_url,
        served_model=next(iter(served), None),
        listed_models=facts.models,
        context_tokens=facts.context_tokens,
        template_digest=facts.template_digest,
        supports_tools=facts.supports_tools,
        tells_usage=bare.usage.source == "provider" if bare.error is None else None,
        stops=None if bare.error or not bare.finish_reason else bare.finish_reason != "length",
        contexts=tuple(each.model_copy(update={"fits": fits}) for each, fits in fitting),
        probes=(*probes.values(), *schema_probes),
        conditions=checks,
        problem=_model_problem(target, bare, served),
    )


async def _schema_call(
    model: Model,
    target: ProbedModel,
    checks: Sequence[ToolCheck],
    conditions: Sequence[Condition],
    offers: Mapping[tuple[str, ...], Sequence[ToolSpec]],
) -> list[Probe]:
    """Whether a schema brings the call that the server did not require; nothing where it did."""
    lacking = [check.condition for check in checks if check.required_obeyed is False]
    free = [c for c in conditions if c.name in lacking and c.answer_format == "free"]
    if not free or not target.can_hold:
        return []
    schema_model = model if target.in_text else TextProtocol(model)
    options = ReplyOptions("required", schema=ANY_ANSWER)
    probe, _ = await short_call(schema_model, offers[free[0].tools], options)
    return [probe.model_copy(update={"is_held": True})]


def brief(parameters: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A model's parameters for test calls: short replies, within CALL_S."""
    limit, extra = parameters.get("max_output_tokens"), parameters.get("extra_body")
    if not (isinstance(extra, dict) and "max_output_tokens" in extra):
        most = min(limit, MOST_OUTPUT) if isinstance(limit, int) else MOST_OUTPUT
        parameters = {**parameters, "max_output_tokens": most}
    return {"reply_timeout_s": CALL_S, **parameters}


async def short_call(
    model: Model,
    specs: Sequence[ToolSpec],
    options: ReplyOptions = ReplyOptions(),
    messages: Sequence[Message] = (QUESTION,),
) -> tuple[Probe, Reply | None]:
    """What one call tells, and its reply; None where there was none."""
    names, began = tuple(spec.name for spec in specs), time.perf_counter()
    choice = options.tool_choice
    try:
        with boundary(ModelError, f"model {model.name}"):
            reply = await _by_its_rules(model, messages, specs, options)
    except EpisodeError as exc:
        usage = exc.usage if isinstance(exc, ModelError) else None
        kind = exc.kind if isinstance(exc, ModelError) else None
        error = {"error": str(exc), "error_kind": kind}
        known = {"usage": usage} if usage else {}
        return Probe(tools=names, tool_choice=choice, **error, **known), None
    charged = known_or_estimated(reply.usage, messages, specs, reply.message)
    return Probe(
        tools=names,
        tool_choice=choice,
        served_model=reply.model,
        usage=reply.usage,
        charged=None if charged is reply.usage else charged,
        calls=tuple(call.name for call in reply.message.tool_calls if call.problem is None),
        call_in_text=_written_call(reply, names),
        finish_reason=reply.finish_reason,
        latency_s=round(time.perf_counter() - began, 3),
    ), reply


async def _by_its_rules(
    model: Model, messages: Sequence[Message], specs: Sequence[ToolSpec], options: ReplyOptions
) -> Reply:
    """The reply; asked again at once where the server's refusal taught what it wants
    (models.dialect)."""
    for _ in range(MOST_RULES):
        try:
            return await model.generate(messages, specs, options)
        except ModelError as exc:
            if not exc.retryable or exc.retry_after_s != 0.0:
                raise
    return await model.generate(messages, specs, options)


def _written_call(reply: Reply, names: Sequence[str]) -> str | None:
    """The form of a call that arrived as text and was not cut."""
    readable = any(call.problem is None for call in reply.message.tool_calls)
    if readable or not names or reply.finish_reason == "length":
        return None
    return call_in_text(reply.message.content, names)


def _check(name: str, bare: Probe, offered: Probe, target: ProbedModel) -> ToolCheck:
    called = any(call in offered.tools for call in offered.calls)
    added = _added(bare, offered)
    is_reached = True if called else _is_reached(added, bare, offered, target)
    cut = offered.finish_reason == "length" and not offered.calls
    asked = offered.tool_choice == "required" and offered.error is None and not cut
    return ToolCheck(
        condition=name,
        added_input_tokens=added,
        is_reached=is_reached,
        required_obeyed=bool(offered.calls) if asked else None,
        calls_parsed=True if called else False if offered.call_in_text else None,
        problem=None if is_reached is not False else _problem(added, bare, offered, target),
    )


def _added(bare: Probe, offered: Probe) -> int | None:
    """Input tokens added by the tools; None if unknown or not counted alike."""
    before, after = bare.usage.input_tokens, offered.usage.input_tokens
    if before is None or after is None or bare.usage.source != offered.usage.source:
        return None
    return after - before


def _is_reached(added: int | None, bare: Probe, offered: Probe, target: ProbedModel) -> bool | None:
    if offered.error is not None:
        return False if bare.error is None and offered.error_kind in REFUSED else None
    if added is not None:
        return added > 0
    return False if target.facts.supports_tools is False and not target.in_text else None


def _problem(added: int | None, bare: Probe, offered: Probe, target: ProbedModel) -> str:
    if offered.error is not None:
        return f"the server refuses its tools: {offered.error}"
    reasons = []
    if added is not None:
        reasons.append(f"{offered.usage.input_tokens} input tokens with tools")
        reasons.append(f"{bare.usage.input_tokens} without")
    if target.facts.supports_tools is False:
        reasons.append("its template knows no tools")
    return f"the server drops its tools ({', '.join(reasons)})"


def _model_problem(target: ProbedModel, bare: Probe, served: Sequence[str]) -> str | None:
    """Why the server answers no call for the requested model; None if unknown. A proxy may serve
    more than it lists, or use a model's original name; llama.cpp accepts any name."""
    requested, listed = served_name(target.name), target.facts.models or ()
    is_refused = bare.error_kind == "bad_request" and not is_listed(requested, listed)
    if bare.error_kind == "authentication" or (is_refused and not listed):
        return bare.error
    if not listed or is_listed(requested, listed):
        return None
    unlisted = [name for name in served if not is_listed(requested, [name])]
    if not (unlisted or is_refused or target.facts.is_single):
        return None
    answer = f", and {unlisted[0]} answers" if unlisted else ", and answers any name"
    names = [*get_close_matches(requested, listed, MOST_NAMES), *listed]
    known = ", ".join(list(dict.fromkeys(names))[:MOST_NAMES])
    return f"the server has no model {requested}: it serves {known}{'' if is_refused else answer}"


def refusal(preflight: Preflight, in_text: bool) -> str | None:
    """Why the run is not started, with advice; None if it is."""
    where = preflight.base_url or preflight.model
    anyway = "--anyway runs it and marks it in every table"
    if preflight.problem is not None:
        names = preflight.listed_models or ()
        name = f"--model compatible/{names[0]}" if len(names) == 1 else "one of these"
        if preflight.problem == preflight.probes[0].error:  # it says where, and what to do
            return preflight.problem
        return f"{where}: {preflight.problem}; name {name}"
    checks = [check for check in preflight.conditions if check.problem is not None]
    if not checks:
        return None
    which = ", ".join(check.condition for check in checks)
    remedy = "its template may drop system texts: take --system-role user" if in_text else TEMPLATE
    text = " ".join((checks[0].problem or "").split())
    if "refuses" not in text:  # the server's own words come with advice
        text += f"; {remedy}"
    return f"{where}: condition {which} cannot mean anything: {text}; {anyway}"


def remarks(preflight: Preflight, in_text: bool = False) -> Iterator[str]:
    """Problems and unknown points that do not prevent the run, a line each; `in_text`: under the
    text protocol."""
    requested = served_name(preflight.model)
    served = preflight.served_model
    if preflight.problem is not None:
        yield preflight.problem
    elif served is not None and not is_listed(requested, [served]):
        yield f"the server calls the model {served}, not {requested}"
    elif preflight.listed_models and not is_listed(requested, preflight.listed_models):
        yield f"the server's list of models has no {requested}"
    failed = () if preflight.problem is not None else preflight.probes
    for error in dict.fromkeys(p.error for p in failed if p.error and not p.is_held):
        yield f"not checked, as a test call failed: {error}"
    for problem, names in _alike((c.problem, c.condition) for c in preflight.conditions):
        yield f"{names}: {problem}"
    forms = {probe.tools: probe.call_in_text for probe in preflight.probes if probe.call_in_text}
    for tools, form in forms.items():
        yield f"the call of {' or '.join(tools)} came as text ({form}): {remedy(in_text)}"
    disobeyed = [c.condition for c in preflight.conditions if c.required_obeyed is False]
    if disobeyed:
        under_schema = [
            f"one comes under {HELD}, which this run does not have"
            if p.calls
            else f"none came under {HELD} either"
            for p in preflight.probes
            if p.is_held
        ]
        text = f"no call came though one was required: {', '.join(disobeyed)}"
        yield "; ".join([text, *under_schema])
    yield from _short_contexts(preflight)
    if preflight.stops is False:
        yield (
            f"the reply to a test had no end within {MOST_OUTPUT} tokens: the model thinks long, "
            "or does not stop (a wrong chat template)"
        )
    if preflight.tells_usage is False:
        yield "the server does not tell the tokens used"


def _short_contexts(preflight: Preflight) -> Iterator[str]:
    short = [check for check in preflight.contexts if check.fits is False]
    if short:
        most = max(check.needed_tokens for check in short)
        yield (
            f"{', '.join(check.condition for check in short)}: the context of "
            f"{preflight.context_tokens} tokens is shorter than a request and its reply need "
            f"(about {most}); raise it (llama.cpp: -c, for each slot; vLLM: --max-model-len)"
        )


def _alike(pairs: Iterator[tuple[str | None, str]]) -> Iterator[tuple[str, str]]:
    names: dict[str, list[str]] = {}
    for problem, name in pairs:
        if problem is not None:
            names.setdefault(problem, []).append(name)
    for problem, conditions in names.items():
        yield problem, ", ".join(conditions)


def saw_fences(preflight: Preflight) -> bool:
    """Whether a call was in a fenced block of another name than the text protocol's."""
    return any(probe.call_in_text == FENCED_JSON for probe in preflight.probes)


Bodies = list[dict[str, Any]]
OpenModel = Callable[[Mapping[str, JsonValue]], AbstractAsyncContextManager[tuple[Model, Bodies]]]
"""A model with these parameters, and the bodies of its replies."""


def _tool_of_city(name: str, description: str) -> ToolSpec:
    city: JsonValue = {"type": "string", "description": "The name of a city."}
    parameters: dict[str, JsonValue] = {
        "type": "object", "properties": {"city": city}, "required": ["city"],
    }  # fmt: skip
    return ToolSpec(name=name, description=description, parameters=parameters)


WEATHER = _tool_of_city("get_weather", "The weather of a city, now.")
CLOCK = _tool_of_city("get_time", "The time of day in a city, now.")
CONDITIONS = (
    Condition(name="optional-call", tools=("get_weather",)),
    Condition(name="required-call", tools=("get_weather", "get_time"), first_step="required"),
)
OFFERS: dict[tuple[str, ...], Sequence[ToolSpec]] = {
    ("get_weather",): [WEATHER],
    ("get_weather", "get_time"): [WEATHER, CLOCK],
}
PARALLEL = Message(
    role="user",
    content="Find the weather in Oslo and the time in Lima. Call both tools in this one reply.",
)
PLAIN = Message(role="user", content="How many days has a week?")
SEVEN = ("seven", "Seven", "7")
"""What most models say to that."""
NOTICE = Message(role="user", content="You have 2 replies left.")
DIGITS = Message(role="user", content="Write ten random digits, and nothing else.")
SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"days": {"type": "integer"}, "unit": {"enum": ["day", "week"]}},
    "required": ["days", "unit"],
    "additionalProperties": False,
}
SEED_OUTPUT = 32


@dataclass(slots=True)
class ServerCalls:
    """The calls of one probe."""

    open_model: OpenModel
    has_seed: bool
    """Whether the API knows a seed and logprobs: Chat Completions does."""
    count: int = 0
    away: str | None = None
    """The error after which no further call is made."""
    rules: Rules = field(default_factory=Rules)
    """What the last call taught of the server."""

    async def call(
        self,
        parameters: Mapping[str, JsonValue],
        question: Message | Sequence[Message] = PLAIN,
        specs: Sequence[ToolSpec] = (),
        options: ReplyOptions = ReplyOptions(),
    ) -> tuple[Probe, Reply | None, dict[str, Any]]:
        """One call: what it tells, its reply, and the body of it; `rules` has what it taught."""
        self.rules = Rules()
        messages = (question,) if isinstance(question, Message) else question
        if self.away is not None:
            return Probe(error="not asked any more", error_kind=self.away), None, {}
        self.count += 1
        async with self.open_model(brief(parameters)) as opened:
            model, bodies = opened
            probe, reply = await short_call(model, specs, options, messages)
            self.rules = getattr(model, "rules", Rules())
            self.away = probe.error_kind if probe.error_kind in AWAY else None
            return probe, reply, bodies[-1] if bodies else {}

    async def features(self, preflight: Preflight) -> AsyncIterator[Feature]:
        """What each further call shows, after those of the preflight."""
        probe, _, _ = await self.call({}, PARALLEL, [WEATHER, CLOCK])
        number = len(probe.calls)
        detail = f"{number} in one reply" if number else ""
        yield _feature("parallel calls", probe, True if number > 1 else None, detail)
        stream, plain, body = await self.call({"stream": True})
        notice = "not asked for" if "stream_options" in self.rules.refused else ""
        yield _answered("streaming", stream)
        yield _feature("usage in streams", stream, stream.usage.source == "provider", notice)
        options = ReplyOptions("required")
        probe, _, _ = await self.call({"stream": True}, PARALLEL, [WEATHER], options)
        seen = True if probe.calls else False if probe.call_in_text else None
        yield _feature("calls in streams", probe, seen)
        yield _reasoning(body)
        yield await self._schema()
        if self.has_seed:
            extra: dict[str, JsonValue] = {"logprobs": True, "top_logprobs": 2}
            probe, _, answer = await self.call({"extra_body": extra})
            choices = answer.get("choices") or [{}]
            yield _feature("logprobs", probe, bool(choices[0].get("logprobs")))
            yield await self._seed()
            yield await self._stop(plain)
            async for feature in self._second_step():
                yield feature

    async def _stop(self, plain: Reply | None) -> Feature:
        """Whether stop sequences end a reply that would go on without."""
        goes_on = plain is not None and any(text in plain.message.content for text in SEVEN)
        probe, reply, _ = await self.call({}, PLAIN, (), ReplyOptions(stop=SEVEN))
        if "stop" in self.rules.refused:
            return Feature(name="stop sequences", is_seen=False, detail="refused")
        is_cut = reply is not None and not any(text in reply.message.content for text in SEVEN)
        return _feature("stop sequences", probe, is_cut if goes_on else None)

    async def _second_step(self) -> AsyncIterator[Feature]:
        """What the server wants of the request behind a tool's result."""
        probe, reply, _ = await self.call({}, QUESTION, [WEATHER])
        name = "max_completion_tokens" if "max_tokens" in self.rules.refused else ""
        yield _feature("max_tokens", probe, not name, name)
        written = probe.usage.cache_write_tokens
        yield Feature(name="cache writes told", is_seen=written is not None or None)
        unknown, _, _ = await self.call({"extra_body": {"agent_env_probe": True}})
        yield _answered("unknown fields", unknown)
        both, _, _ = await self.call({}, QUESTION, [WEATHER], ReplyOptions(schema=SCHEMA))
        yield _feature("schema beside tools", both, bool(both.calls) if probe.calls else None)
        if reply is None or not reply.message.tool_calls:
            return
        message = reply.message
        probe, _, _ = await self.call(
            {}, (QUESTION, message, *_results(message), NOTICE), [WEATHER]
        )
        yield _feature("user behind tool", probe, not self.rules.order)
        yield await self._reasoning_back(message)
        renamed = _renamed(message)
        probe, _, _ = await self.call({}, (QUESTION, renamed, *_results(renamed)), [WEATHER])
        yield _answered("other call ids", probe)

    async def _reasoning_back(self, message: Message) -> Feature:
        """Whether the server wants its reasoning back, or refuses it (by the last call)."""
        refused = ", ".join(sorted(self.rules.refused - {"max_tokens"}))
        if refused:
            return Feature(name="reasoning back", is_seen=False, detail=f"refused: {refused}")
        content = message.content.rpartition("</think>")[2]
        if message.provider_fields is None and content == message.content:
            return Feature(name="reasoning back")
        bare = message.model_copy(update={"provider_fields": None, "content": content})
        messages = (QUESTION, bare, *_results(bare))
        probe, _, _ = await self.call({"echo_reasoning": "never"}, messages, [WEATHER])
        is_wanted = probe.error is not None and probe.error_kind in REFUSED
        detail = "required" if is_wanted else ""
        return Feature(name="reasoning back", is_seen=is_wanted or None, detail=detail)

    async def _schema(self) -> Feature:
        probe, reply, _ = await self.call({}, PLAIN, (), ReplyOptions(schema=SCHEMA))
        if probe.error is not None and "does not hold" in probe.error:
            return Feature(name="JSON schema", is_seen=False, detail="ignored")
        return _feature("JSON schema", probe, reply is not None and _fits(reply.message.content))

    async def _seed(self) -> Feature:
        """The same text for the same seed, another for another."""
        texts = []
        for seed in (1, 1, 2):
            parameters = {"temperature": 1.0, "max_output_tokens": SEED_OUTPUT, "seed": seed}
            probe, reply, _ = await self.call(parameters, DIGITS)
            if reply is None:
                return _feature("seed", probe, None)
            texts.append(reply.message.content)
        if len(set(texts)) == 1:
            return Feature(name="seed", detail="other seeds gave the same text")
        return Feature(name="seed", is_seen=texts[0] == texts[1])


async def probe_features(
    calls: ServerCalls, target: ProbedModel, at: str
) -> tuple[Preflight, tuple[Feature, ...]]:
    """The preflight of the server, and its features; no further ones where it does not answer."""
    async with calls.open_model(brief({})) as (model, _):
        result = await preflight(model, target, CONDITIONS, OFFERS, at)
    calls.count += len(result.probes)
    if result.probes[0].error is not None:
        return result, ()
    more = [feature async for feature in calls.features(result)]
    return result, (*_of_preflight(result), *more)


def _of_preflight(preflight: Preflight) -> list[Feature]:
    auto, required = preflight.conditions
    forms = [probe.call_in_text for probe in preflight.probes if probe.call_in_text]
    as_text = f"as text: {forms[0]}" if forms else ""
    added = auto.added_input_tokens
    last = preflight.probes[-1]
    cut = last.finish_reason == "length" and not last.calls
    refuses = last.error_kind in REFUSED and last.tool_choice == "required"
    parsed = [check.calls_parsed for check in (auto, required)]
    return [
        Feature(name="usage", is_seen=preflight.tells_usage),
        Feature(name="ends by itself", is_seen=preflight.stops),
        Feature(
            name="tools", is_seen=auto.is_reached,
            detail="" if added is None else f"{added:+d} input tokens",
        ),
        Feature(
            name="calls parsed", detail=as_text,
            is_seen=False if False in parsed else True if True in parsed else None,
        ),
        Feature(
            name="required", is_seen=False if refuses else required.required_obeyed,
            detail="refused" if refuses else f"cut at {MOST_OUTPUT} tokens" if cut else "",
        ),
    ]  # fmt: skip


def _renamed(message: Message) -> Message:
    """The message with one call, under an id that is not the server's."""
    first, fields = message.tool_calls[0], message.provider_fields
    if fields is not None and first.id in fields.calls:
        fields = fields.model_copy(update={"calls": {"call_1": fields.calls[first.id]}})
    call = first.model_copy(update={"id": "call_1"})
    return message.model_copy(update={"tool_calls": (call,), "provider_fields": fields})


def _results(reply: Message) -> list[Message]:
    return [
        Message(role="tool", tool_call_id=call.id, content="Sunny, 20 degrees.")
        for call in reply.tool_calls
    ]


def _answered(name: str, probe: Probe) -> Feature:
    return _feature(name, probe, True)


def _feature(name: str, probe: Probe, seen: bool | None, detail: str = "") -> Feature:
    """What was seen; no where the server refused the call or its reply cannot be read."""
    if probe.error is None:
        return Feature(name=name, is_seen=seen, detail=detail)
    word = "refused" if probe.error_kind in REFUSED else probe.error_kind or "failed"
    known = word in ("refused", "unreadable")
    return Feature(name=name, is_seen=False if known else None, detail=word)


def _reasoning(body: Mapping[str, Any]) -> Feature:
    """The field that holds the reasoning; none tells nothing, for the model may not reason."""
    choices = body.get("choices") or [{}]
    message = choices[0].get("message") or {}
    names = (*REASONING, "reasoning_details", "thinking_blocks")
    fields = [name for name in names if message.get(name)]
    content = message.get("content") or ""
    if isinstance(content, list) and any(part.get("type") == "thinking" for part in content):
        fields.append("content")
    if isinstance(content, str) and content.startswith("<think>"):
        fields.append("<think>")
    fields += [
        "reasoning item"
        for item in body.get("output") or ()
        if isinstance(item, dict) and item.get("type") == "reasoning"
    ]
    return Feature(name="reasoning", is_seen=True if fields else None, detail=", ".join(fields))


def _fits(text: str) -> bool:
    """Whether the text is an object of SCHEMA, which the question says nothing of."""
    try:
        value = json.loads(text.rpartition("</think>")[2])
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(value) == {"days", "unit"} and type(value["days"]) is int
