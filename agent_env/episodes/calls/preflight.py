"""Short calls before the first episode that test whether the conditions are valid on this server:
which model answers, whether tools reach it, whether `required` is obeyed, whether calls are parsed.

One call without tools and one for each distinct list of tools, without retries: after a rate limit,
an outage or a broken reply the result is reported as unknown.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_env.errors import EpisodeError, ModelError, boundary
from agent_env.graph.meter import known_or_estimated
from agent_env.models.addresses import served_name
from agent_env.models.server_facts import ServerFacts, is_listed
from agent_env.models.text_protocol import TextProtocol
from agent_env.protocols import Model, ReplyOptions, ToolChoice
from agent_env.records.json_schema import closed
from agent_env.records.manifest import ContextCheck, Preflight, Probe, ToolCheck
from agent_env.records.schema import Condition, Message, Reply, ToolSpec
from agent_env.scoring.calls_in_text import FENCED_JSON, call_in_text, remedy

MOST_OUTPUT = 256
"""Maximum output tokens: enough for a call and the reasoning of most models before it."""
CALL_S = 120.0
QUESTION = Message(
    role="user",
    content="This is a test of the connection. If you have a tool, call one of them once, with any "
    "arguments that fit; else reply with the word OK.",
)
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
        required = any(c.first_step == "required" for c in conditions if c.tools == names)
        choice: ToolChoice = "required" if required else "auto"
        if bare.error_kind in AWAY:
            probes[names] = Probe(tools=names, tool_choice=choice, error="not asked any more")
        else:
            probes[names], _ = await short_call(model, specs, ReplyOptions(choice))
    checks = tuple(
        _check(c.name, bare, probes[c.tools], target) for c in conditions if c.tools in offers
    )
    held = await _held_call(model, target, checks, conditions, offers)
    facts = target.facts
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
        contexts=tuple(_with_fit(each, facts.context_tokens) for each in contexts),
        probes=(*probes.values(), *held),
        conditions=checks,
        problem=_other_model(target, served),
    )


async def _held_call(
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
    held = model if target.in_text else TextProtocol(model)
    options = ReplyOptions("required", schema=ANY_ANSWER)
    probe, _ = await short_call(held, offers[free[0].tools], options)
    return [probe.model_copy(update={"is_held": True})]


def _with_fit(need: ContextCheck, context: int | None) -> ContextCheck:
    fits = None if context is None else need.needed_tokens <= context
    return need.model_copy(update={"fits": fits})


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
            async with asyncio.timeout(CALL_S):
                reply = await _by_its_rules(model, messages, specs, options)
    except EpisodeError as exc:
        usage = exc.usage if isinstance(exc, ModelError) else None
        kind = exc.kind if isinstance(exc, ModelError) else None
        if isinstance(exc.__cause__, TimeoutError):
            kind = "timeout"
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


def _other_model(target: ProbedModel, served: Sequence[str]) -> str | None:
    """Why another model than the requested one answers; None if that is not known. A proxy may
    serve more than it lists, or use a model's original name; llama.cpp accepts any name."""
    requested, listed = served_name(target.name), target.facts.models
    if listed is None or not listed or is_listed(requested, listed):
        return None
    others = [name for name in served if not is_listed(requested, [name])]
    if not others and not target.facts.is_single:
        return None
    answer = f", and {others[0]} answers" if others else ", and answers any name"
    return f"the server has no model {requested}: it serves {', '.join(listed[:5])}{answer}"


def refusal(preflight: Preflight, in_text: bool) -> str | None:
    """Why the run is not started, with advice; None if it is."""
    where = preflight.base_url or preflight.model
    anyway = "--anyway runs it and marks it in every table"
    if preflight.problem is not None:
        names = preflight.listed_models or ()
        name = f"--model compatible/{names[0]}" if len(names) == 1 else "one that it has"
        return f"{where}: {preflight.problem}; name {name}; {anyway}"
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
    if preflight.problem is None and served is not None and not is_listed(requested, [served]):
        yield f"the server calls the model {served}, not {requested}"
    elif preflight.listed_models and not is_listed(requested, preflight.listed_models):
        yield f"the server's list of models has no {requested}"
    if preflight.problem is not None:
        yield preflight.problem
    for error in dict.fromkeys(p.error for p in preflight.probes if p.error and not p.is_held):
        yield f"unknown, as a call failed: {error}"
    for problem, names in _alike((c.problem, c.condition) for c in preflight.conditions):
        yield f"{names}: {problem}"
    forms = {probe.tools: probe.call_in_text for probe in preflight.probes if probe.call_in_text}
    for tools, form in forms.items():
        yield f"the call of {' or '.join(tools)} came as text ({form}): {remedy(in_text)}"
    disobeyed = [c.condition for c in preflight.conditions if c.required_obeyed is False]
    if disobeyed:
        text = f"no call came though one was required: {', '.join(disobeyed)}"
        yield text + "".join(_of_held_call(p) for p in preflight.probes if p.is_held)
    yield from _short_contexts(preflight)
    if preflight.stops is False:
        yield (
            f"the reply to a test had no end within {MOST_OUTPUT} tokens: the model thinks long, "
            "or does not stop (a wrong chat template)"
        )
    if preflight.tells_usage is False:
        yield "the server does not tell the tokens used"


def _of_held_call(probe: Probe) -> str:
    if probe.calls:
        return f"; one comes under {HELD}: take these"
    return f"; none came under {HELD} either"


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
