"""Short calls before the first episode, which tell whether a run can mean what its conditions say:
which model answers, whether tools reach it, whether `required` is obeyed, whether calls are parsed.

One call without tools and one for each distinct list of tools, so at most two for a condition. None
is repeated: what a rate limit, an outage or a broken reply hides is unknown, and said to be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_env.errors import EpisodeError, ModelError, boundary
from agent_env.graph.meter import known_or_estimated
from agent_env.models.addresses import served_name
from agent_env.models.server_facts import ServerFacts, is_listed
from agent_env.protocols import Model, ReplyOptions, ToolChoice
from agent_env.records.manifest import Preflight, Probe, ToolCheck
from agent_env.records.schema import Condition, Message, Reply, ToolSpec
from agent_env.scoring.calls_in_text import FENCED_JSON, call_in_text

MOST_OUTPUT = 256
"""Output tokens of a call: enough for a call, and for what most models think before it."""
CALL_S = 120.0
QUESTION = Message(
    role="user",
    content="This is a test of the connection. If you have a tool, call one of them once, with any "
    "arguments that fit; else reply with the word OK.",
)
AWAY = ("connection", "timeout", "authentication")
"""Errors after which the server is asked nothing more."""
REFUSED = ("bad_request", "context_overflow")
"""Errors by which it refuses what a request holds."""
PARSER = (
    "its parser does not fit the model: choose another (vLLM, SGLang: --tool-call-parser; "
    "llama.cpp: --jinja), or take --tool-protocol text"
)
TEMPLATE = (
    "start it with a chat template that knows tools (llama.cpp: --jinja and --chat-template-file), "
    "or take --tool-protocol text"
)


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked, and how."""

    name: str
    """The model, as on the command line."""
    base_url: str | None
    facts: ServerFacts
    in_text: bool
    """Whether tools are offered by the text protocol."""


async def preflight(
    model: Model,
    target: Target,
    conditions: Sequence[Condition],
    offers: Mapping[tuple[str, ...], Sequence[ToolSpec]],
    at: str,
) -> Preflight:
    """What the server shows; `offers` has the tools of the conditions by their names."""
    bare = await _probe(model, (), "auto")
    probes: dict[tuple[str, ...], Probe] = {(): bare}
    for names, specs in offers.items():
        required = any(c.first_step == "required" for c in conditions if c.tools == names)
        choice: ToolChoice = "required" if required else "auto"
        if bare.error_kind in AWAY:
            probes[names] = Probe(tools=names, tool_choice=choice, error="not asked any more")
        else:
            probes[names] = await _probe(model, specs, choice)
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
        probes=tuple(probes.values()),
        conditions=tuple(
            _check(c.name, bare, probes[c.tools], target) for c in conditions if c.tools in offers
        ),
        problem=_other_model(target, served),
    )


async def _probe(model: Model, specs: Sequence[ToolSpec], choice: ToolChoice) -> Probe:
    names = tuple(spec.name for spec in specs)
    try:
        with boundary(ModelError, f"model {model.name}"):
            async with asyncio.timeout(CALL_S):
                reply = await model.generate((QUESTION,), specs, ReplyOptions(choice))
    except EpisodeError as exc:
        told = exc.usage if isinstance(exc, ModelError) else None
        kind = exc.kind if isinstance(exc, ModelError) else None
        if isinstance(exc.__cause__, TimeoutError):
            kind = "timeout"
        error = {"error": str(exc), "error_kind": kind}
        return Probe(tools=names, tool_choice=choice, **error, **({"usage": told} if told else {}))
    counted = known_or_estimated(reply.usage, (QUESTION,), specs, reply.message)
    return Probe(
        tools=names,
        tool_choice=choice,
        served_model=reply.model,
        usage=reply.usage,
        charged=None if counted is reply.usage else counted,
        calls=tuple(call.name for call in reply.message.tool_calls if call.problem is None),
        call_in_text=_written_call(reply, names),
        finish_reason=reply.finish_reason,
    )


def _written_call(reply: Reply, names: Sequence[str]) -> str | None:
    """The form of a call that did not arrive as one."""
    readable = any(call.problem is None for call in reply.message.tool_calls)
    return None if readable or not names else call_in_text(reply.message.content, names)


def _check(name: str, bare: Probe, offered: Probe, target: Target) -> ToolCheck:
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
    """None where either is unknown, or they were not counted alike."""
    before, after = bare.usage.input_tokens, offered.usage.input_tokens
    if before is None or after is None or bare.usage.source != offered.usage.source:
        return None
    return after - before


def _is_reached(added: int | None, bare: Probe, offered: Probe, target: Target) -> bool | None:
    if offered.error is not None:
        return False if bare.error is None and offered.error_kind in REFUSED else None
    if added is not None:
        return added > 0
    return False if target.facts.supports_tools is False and not target.in_text else None


def _problem(added: int | None, bare: Probe, offered: Probe, target: Target) -> str:
    if offered.error is not None:
        return f"the server refuses its tools: {offered.error}"
    seen = []
    if added is not None:
        seen.append(f"{offered.usage.input_tokens} input tokens with tools")
        seen.append(f"{bare.usage.input_tokens} without")
    if target.facts.supports_tools is False:
        seen.append("its template knows no tools")
    return f"the server drops its tools ({', '.join(seen)})"


def _other_model(target: Target, served: Sequence[str]) -> str | None:
    """Why another model answers than the one asked for; None where that is not known. A proxy may
    serve more than it lists, and call a model by its maker's name; llama.cpp answers any name."""
    wanted, listed = served_name(target.name), target.facts.models
    if listed is None or not listed or is_listed(wanted, listed):
        return None
    others = [name for name in served if not is_listed(wanted, [name])]
    if not others and not target.facts.is_single:
        return None
    told = f", and {others[0]} answers" if others else ", and answers any name"
    return f"the server has no model {wanted}: it serves {', '.join(listed[:5])}{told}"


def refusal(preflight: Preflight, in_text: bool) -> str | None:
    """Why the run is not begun, with what to do; None where it is."""
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
    said = " ".join((checks[0].problem or "").split())
    if "refuses" not in said:  # the server's own words come with advice
        said += f"; {remedy}"
    return f"{where}: condition {which} cannot mean anything: {said}; {anyway}"


def remarks(preflight: Preflight) -> Iterator[str]:
    """What is wrong or unknown and does not keep the run from beginning, a line each."""
    wanted = served_name(preflight.model)
    served = preflight.served_model
    if preflight.problem is None and served is not None and not is_listed(wanted, [served]):
        yield f"the server calls the model {served}, not {wanted}"
    elif preflight.listed_models and not is_listed(wanted, preflight.listed_models):
        yield f"the server's list of models has no {wanted}"
    if preflight.problem is not None:
        yield preflight.problem
    for error in dict.fromkeys(p.error for p in preflight.probes if p.error):
        yield f"unknown, as a call failed: {error}"
    for problem, names in _alike((c.problem, c.condition) for c in preflight.conditions):
        yield f"{names}: {problem}"
    forms = {probe.tools: probe.call_in_text for probe in preflight.probes if probe.call_in_text}
    for tools, form in forms.items():
        yield f"the call of {' or '.join(tools)} came as text ({form}): {PARSER}"
    disobeyed = [c.condition for c in preflight.conditions if c.required_obeyed is False]
    if disobeyed:
        yield f"no call came though one was required: {', '.join(disobeyed)}"
    if preflight.tells_usage is False:
        yield "the server does not tell the tokens used"


def _alike(found: Iterator[tuple[str | None, str]]) -> Iterator[tuple[str, str]]:
    names: dict[str, list[str]] = {}
    for problem, name in found:
        if problem is not None:
            names.setdefault(problem, []).append(name)
    for problem, own in names.items():
        yield problem, ", ".join(own)


def saw_fences(preflight: Preflight) -> bool:
    """Whether a call stood in a fenced block of another name than the text protocol's."""
    return any(probe.call_in_text == FENCED_JSON for probe in preflight.probes)
