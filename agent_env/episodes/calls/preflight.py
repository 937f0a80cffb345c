"""Short calls before a run's first episode: whether its conditions mean anything on the server, and
by which protocol its model calls tools.

The preflight is one call without tools and one for each distinct list of tools; where a first step
must call a tool, one more that nothing but the server's `required` can make a call of; where
replies are to be the same again, two equal ones. Without retries: after a rate limit, an outage or
a broken reply the result is reported as unknown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import Literal

from pydantic import JsonValue

from agent_env.errors import EpisodeError, ModelError, boundary
from agent_env.graph.meter import known_or_estimated
from agent_env.models.addresses import served_name
from agent_env.models.server_facts import ServerFacts, is_listed
from agent_env.models.text_protocol import ANY_ANSWER, TextProtocol
from agent_env.protocols import Model, ReplyOptions, ToolChoice
from agent_env.records.manifest import ContextCheck, Preflight, Probe, ProtocolChoice, ToolCheck
from agent_env.records.schema import Condition, Message, Reply, ToolSpec
from agent_env.scoring.calls_in_text import FENCED_JSON, call_in_text, remedy

Protocol = Literal["native", "text", "schema"]
Trial = dict[tuple[str, ...], Probe]
"""The calls by one tool protocol, by the tools that were offered."""
MOST_OUTPUT = 256
"""Maximum output tokens: enough for a call and the reasoning of most models before it."""
CALL_S = 120.0
"""After which a test call ends, unless --reply-timeout-s says another time."""
QUESTION = Message(
    role="user",
    content="This is a test of the connection. If you have a tool, call one of them once, with any "
    "arguments that fit; else reply with the word OK.",
)
OK_QUESTION = Message(
    role="user", content="This is a test of the connection. Reply with the word OK."
)
"""Asks for no call."""
LONGER_QUESTION = Message(
    role="user", content="Write three sentences on why some years have a leap day."
)
"""Long enough for two replies to differ."""
MOST_NAMES = 5
"""Models of the server that a message names."""
MOST_RULES = 4
"""Refusals of one call that teach something."""
AWAY = ("connection", "timeout", "authentication")
"""Errors after which no further call is made."""
REFUSED = ("bad_request", "context_overflow")
"""Errors by which the server refuses a request's content."""
IN_TEXT: Mapping[Protocol, Callable[[Model], Model]] = {
    "text": partial(TextProtocol, lenient=True), "schema": partial(TextProtocol, held=True),
}  # fmt: skip
"""Tool protocols besides the server's own, in the order in which they are tried."""
TEMPLATE = (
    "start it with a chat template that knows tools (llama.cpp: --chat-template-file), "
    "or take --tool-protocol auto"
)


@dataclass(frozen=True, slots=True)
class ProbedModel:
    """The model under test."""

    name: str
    """The model, as on the command line."""
    base_url: str | None
    facts: ServerFacts
    in_text: bool
    """Whether tools are offered in text."""
    is_open: bool = False
    """Whether the tool protocol is yet to be chosen."""
    is_repeatable: bool = False
    """Whether equal requests are to get equal replies: temperature 0, or a seed."""


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
    by_required: Probe | None = None
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
            is_native = required and not target.in_text
            if is_native and by_required is None and _gave_call(probes[names]):
                by_required, _ = await short_call(model, specs, options, (OK_QUESTION,))
    native = {names: probe for names, probe in probes.items() if names}
    trials: dict[Protocol, Trial] = {}
    chosen, taken = None, native
    if target.is_open:
        trials = await _trials(model, native, offers)
        chosen = _choose(trials)
        taken, target = trials[chosen.name], replace(target, in_text=chosen.name != "native")
    # of the server's own way to call alone: the others are tried by one question
    obeys = None if by_required is None or taken is not native else _gave_call(by_required)
    checks = tuple(
        _check(c.name, bare, taken[c.tools], target, obeys) for c in conditions if c.tools in offers
    )
    more = [p for name, each in trials.items() if name != "native" for p in each.values()]
    repeats, equal = await _equal_calls(model, bare, target)
    more += [*filter(None, [by_required]), *repeats]
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
        probes=(*probes.values(), *more),
        protocol=chosen,
        conditions=checks,
        repeats_replies=equal,
        problem=_model_problem(target, bare, served),
    )


async def _equal_calls(
    model: Model, bare: Probe, target: ProbedModel
) -> tuple[list[Probe], bool | None]:
    """Two equal calls, and whether their replies are equal; None where that is not known."""
    if not target.is_repeatable or bare.error is not None:
        return [], None
    tried = [await short_call(model, (), messages=(LONGER_QUESTION,)) for _ in range(2)]
    probes, replies = zip(*tried, strict=True)
    texts = {reply.message.content for reply in replies if reply is not None}
    return [*probes], None if None in replies or texts == {""} else len(texts) == 1


async def _trials(
    model: Model, native: Trial, offers: Mapping[tuple[str, ...], Sequence[ToolSpec]]
) -> dict[Protocol, Trial]:
    """The same calls by each protocol, until one is obeyed; none where the native call failed for
    a reason of its own."""
    trials: dict[Protocol, Trial] = {"native": native}
    if any(_gave_call(probe) is None for probe in native.values()):
        return trials
    for name, protocol in IN_TEXT.items():
        if any(all(map(_gave_call, trial.values())) for trial in trials.values()):
            break
        trials[name] = {}
        for tools, probe in native.items():
            options = ReplyOptions(probe.tool_choice)
            probe, _ = await short_call(protocol(model), offers[tools], options)
            trials[name][tools] = probe.model_copy(update={"protocol": name})
    return trials


def _choose(trials: Mapping[Protocol, Trial]) -> ProtocolChoice:
    """The protocol by which most calls came, of equal ones the first."""
    calls = {name: sum(map(bool, map(_gave_call, t.values()))) for name, t in trials.items()}
    best = max(calls, key=lambda name: calls[name])
    number = len(trials["native"])
    seen = [f"{name} {count} of {number}" for name, count in calls.items()]
    reason = f"calls that came: {', '.join(seen)}"
    if any(_gave_call(probe) is None for probe in trials["native"].values()):
        reason += "; a call failed or was cut, so nothing else was tried"
    return ProtocolChoice(name=best, reason=reason)


def _gave_call(probe: Probe) -> bool | None:
    """Whether a call of an offered tool came; None where the reply does not tell."""
    if any(call in probe.tools for call in probe.calls):
        return True
    is_cut = probe.finish_reason == "length" and probe.call_in_text is None
    return None if is_cut or (probe.error and probe.error_kind not in REFUSED) else False


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
            if not exc.is_corrected:
                raise
    return await model.generate(messages, specs, options)


def _written_call(reply: Reply, names: Sequence[str]) -> str | None:
    """The form of a call that arrived as text; of one that was cut, only where the server's own
    form is excluded, which its parser may have missed for that."""
    readable = any(call.problem is None for call in reply.message.tool_calls)
    if readable or not names:
        return None
    form = call_in_text(reply.message.content, names)
    return None if reply.finish_reason == "length" and form != FENCED_JSON else form


def _check(
    name: str, bare: Probe, offered: Probe, target: ProbedModel, obeys: bool | None
) -> ToolCheck:
    """Of one condition; `obeys`: whether a call came that only `required` asked for."""
    called = any(call in offered.tools for call in offered.calls)
    added = _added(bare, offered)
    is_reached = True if called else _is_reached(added, bare, offered, target)
    cut = offered.finish_reason == "length" and not offered.calls
    asked = offered.tool_choice == "required" and offered.error is None and not cut
    return ToolCheck(
        condition=name,
        added_input_tokens=added,
        is_reached=is_reached,
        required_obeyed=bool(offered.calls) and obeys is not False if asked else None,
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
    doubt = ", or its token counts say nothing" if target.facts.supports_tools is None else ""
    if target.facts.supports_tools is False:
        reasons.append("its template knows no tools")
    return f"the server drops its tools{doubt} ({', '.join(reasons)})"


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
    remedy = TEMPLATE
    if in_text:
        remedy = "its template may drop system texts: take --system-role user"
    elif preflight.protocol is not None:  # every way was tried
        remedy = f"{TEMPLATE.partition(', or take')[0]}, or leave these conditions out"
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
    for error in dict.fromkeys(p.error for p in failed if p.error and p.protocol is None):
        yield f"not checked, as a test call failed: {error}"
    for problem, names in _alike((c.problem, c.condition) for c in preflight.conditions):
        yield f"{names}: {problem}"
    forms = {probe.tools: probe.call_in_text for probe in preflight.probes if probe.call_in_text}
    for tools, form in forms.items():
        yield f"the call of {' or '.join(tools)} came as text ({form}): {remedy(in_text, [form])}"
    disobeyed = [c.condition for c in preflight.conditions if c.required_obeyed is False]
    if disobeyed:
        tried = preflight.protocol is not None or in_text
        advice = "" if tried else "; --tool-protocol auto tries other ways to call"
        yield f"no call came though one was required: {', '.join(disobeyed)}{advice}"
    short = [check for check in preflight.contexts if check.fits is False]
    if short:
        most = max(check.needed_tokens for check in short)
        yield (
            f"{', '.join(check.condition for check in short)}: the context of "
            f"{preflight.context_tokens} tokens is shorter than a request and its reply need "
            f"(about {most}); raise it (llama.cpp: -c, for each slot; vLLM: --max-model-len)"
        )
    if preflight.stops is False:
        yield (
            f"the reply to a test had no end within {MOST_OUTPUT} tokens: the model thinks long, "
            "or does not stop (a wrong chat template)"
        )
    if preflight.tells_usage is False:
        yield "the server does not tell the tokens used"
    if preflight.repeats_replies is False:
        yield (
            "two equal requests got two replies, so one question may go either way; "
            "--repeats 3 asks each three times"
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
