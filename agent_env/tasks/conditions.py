"""Conditions by name: parts joined by `+`, such as `web+python`, and optionally the first step's
tool choice, `web~auto`, where a run has the same condition with several choices, what is disturbed
in its world, `web~shifted`, whose loop it is, `web~by-codex`, the day of its clock,
`web~on-1995-06-01`, and the answer's format, `web~schema`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from agent_env.errors import ConfigError
from agent_env.permits import NOTHING, Permit
from agent_env.protocols import ToolChoice
from agent_env.records.disturbance import Disturbance
from agent_env.records.schema import Condition, Sample, Wording
from agent_env.records.tool_traits import AgentUse, ToolTraits
from agent_env.tasks.answer_forms import FORMATS, AnswerFormat
from agent_env.tasks.tool_registry import TOOLS, plugin_tool, tool_names, traits_of
from agent_env.temporal.days import iso_day

WORDINGS: tuple[Wording, ...] = ("facts", "explicit", "explicit-paper")
PARTS = ("base", *WORDINGS, "cited", "web", "web-once", "cal", "events", "python", "sql")
"""Known parts, in the order of a condition's name; `base` is alone, and `cited` may be
`cited:NAME`. Other tools follow: each tool's name is a part, for which MODULE:NAME or file.py:NAME
of a tool of the user's may stand."""

ALIASES = {
    "web": ("web_search", "open_page"),
    "web-once": ("web_search", "open_page"),
    "cal": ("calendars",),
    "events": ("query_events",),
}
"""Parts with another name than their tools."""
LADDER = "ladder"
"""Stands for RUNGS."""
RUNGS = ("base", "explicit", "facts", "cited", "web-once", "web", "web+python")
"""Conditions that show at which step points are lost: a model is told nothing; the dates, so that
it writes them down; the looked-up dates, so that it computes; the pages, so that it reads; it
searches once; it searches freely; it also runs code."""

MCP = "mcp:"
"""Begins the part of an MCP server's tools."""
MOST_TOOLS = 128
"""Of one server in a condition: what servers of models take."""
CONTEXT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""The NAME of `cited:NAME`; part of a folder's name."""


Tools = Mapping[str, ToolTraits]
"""Plugged-in tools by name."""
NO_TOOLS: Tools = MappingProxyType({})
AnySample = TypeVar("AnySample", bound=Sample)


def parse_conditions(
    names: Sequence[str | Condition],
    contexts: Sequence[str] = (),
    tools: Tools = NO_TOOLS,
    permit: Permit = NOTHING,
) -> tuple[Condition, ...]:
    """The conditions of these names; `contexts`: those available, as `cited` or `cited:NAME`. A
    plain `cited` stands for each of them; ConfigError for one, and for one of `tools`, that no
    condition uses. A Condition stays as it is."""
    parsed: list[Condition] = []
    for name in (rung for each in names for rung in (RUNGS if each == LADDER else (each,))):
        if isinstance(name, Condition):
            parsed.append(name)
        else:
            each = _for_each_context(name, contexts)
            parsed += [parse_condition(text, tools, permit) for text in each]
    used_tools = {tool for condition in parsed for tool in condition.tools}
    for part in dict.fromkeys(map(_tool_part, tools.values())):
        if not any(name in used_tools for name, tool in tools.items() if _tool_part(tool) == part):
            server = part.removeprefix(MCP)
            raise ConfigError(f"no condition uses the MCP server {server}; add --condition {part}")
    if len({c.name for c in parsed}) < len(parsed):
        raise ConfigError("a condition is named twice; use --repeats to ask more than once")
    for condition in parsed:
        if condition.context is not None and condition.context not in contexts:
            raise ConfigError(
                f"condition '{condition.name}' needs its pages: {_option(condition.context)}"
            )
    used = {condition.context for condition in parsed}
    for context in contexts:
        if context not in used:
            raise ConfigError(f"no condition uses {_option(context)}; add --condition {context}")
    return tuple(parsed)


def wording_of(name: str) -> Wording:
    parts = name.partition("~")[0].split("+")
    return next((wording for wording in WORDINGS if wording in parts), "implicit")


def sample_under(sample: AnySample, condition: Condition | str) -> AnySample:
    """The sample as the condition, or the one of this name, asks it: in its shifted world where the
    web is shifted, on the day of the condition, with the gold of the wording."""
    name, wording = (
        (condition, wording_of(condition))
        if isinstance(condition, str)
        else (condition.name, condition.wording)
    )
    its_world = sample.in_shifted_world() if "shifted" in name.split("~")[1:] else sample
    return its_world.on_day(today_of(name)).worded(wording)


def today_of(name: str) -> str | None:
    """The day of the condition of this name; None for the real one."""
    suffixes = (each for each in name.split("~")[1:] if each.startswith(ON))
    return next((each.removeprefix(ON) for each in suffixes), None)


def _for_each_context(name: str, contexts: Sequence[str]) -> list[str]:
    """The name once for each context if it has a plain `cited`, else the name itself."""
    parts = [part.strip() for part in name.split("+")]
    if "cited" not in parts or not contexts:
        return [name]
    at = parts.index("cited")
    return ["+".join([*parts[:at], context, *parts[at + 1 :]]) for context in contexts]


def _option(context: str) -> str:
    _, _, name = context.partition(":")
    return f"--cited-from {name}=FILE" if name else "--cited-from FILE"


def parse_condition(text: str, tools: Tools = NO_TOOLS, permit: Permit = NOTHING) -> Condition:
    """The condition of this name; ConfigError names the wrong part. `permit` is for tools by their
    MODULE:NAME."""
    bare, *suffixes = text.split("~")
    if suffixes:
        condition = parse_condition(bare, tools, permit)
        for suffix in suffixes:
            condition = _with_suffix(condition, suffix.strip(), text)
        return condition
    named = [_part(part.strip(), text, tools, permit) for part in text.split("+")]
    parts = [part for part, _ in named]
    kinds = [_kind(part) for part in parts]
    if kinds.count("cited") > 1:
        raise ConfigError(f"condition '{text}': only one set of cited pages at a time")
    if len(set(parts)) < len(parts):
        raise ConfigError(f"condition '{text}' names a part twice")
    if "base" in parts and len(parts) > 1:
        raise ConfigError(f"condition '{text}': base means without anything; use it alone")
    for group in (("web", "web-once"), WORDINGS):
        pair = [part for part in group if part in parts]
        if len(pair) > 1:
            raise ConfigError(f"condition '{text}': {' and '.join(pair)} exclude each other")
    if "cited" in kinds and (web := {"web", "web-once"} & set(parts)):
        raise ConfigError(
            f"condition '{text}': cited gives the pages that {web.pop()} would look for, "
            "so they exclude each other"
        )
    by_part = dict(named)
    ordered = sorted(parts, key=_place)
    offered = [tool for part in ordered for tool in by_part[part]]
    if twice := next((t.name for t in offered if [o.name for o in offered].count(t.name) > 1), ""):
        raise ConfigError(f"condition '{text}' has the tool {twice} twice")
    condition = Condition(
        name="+".join(ordered),
        wording=wording_of("+".join(parts)),
        tools=tuple(tool.name for tool in offered),
        strategy="one-round" if "web-once" in parts else "tool-loop",
        context=next((part for part in parts if _kind(part) == "cited"), None),
    )
    own_tools = tuple(tool for tool in offered if tool.is_own)
    return condition.model_copy(update={"own_tools": own_tools}) if own_tools else condition


def _short(part: str) -> str:
    """The alias of the tool where it has one, else the part itself."""
    return next((alias for alias, tools in ALIASES.items() if tools == (part,)), part)


def _place(part: str) -> tuple[int, str]:
    kind = _kind(part)
    return (PARTS.index(kind), "") if kind in PARTS else (len(PARTS), part)


def _part(part: str, text: str, tools: Tools, permit: Permit) -> tuple[str, tuple[ToolTraits, ...]]:
    """The part's name and tools, imported where they are neither built in nor among `tools`;
    ConfigError for an unknown part."""
    part = _short(part)
    if part in ALIASES or part in tool_names():
        return part, tuple(ToolTraits(name=name) for name in ALIASES.get(part, (part,)))
    if _kind(part) in PARTS:
        return part, ()
    if part.startswith(MCP):
        return _mcp_part(part, text, tools)
    if part in tools:
        return part, (tools[part],)
    if len(names := re.split(r"[,\s]+", text)) > 1:
        again = " ".join(f"--condition {name}" for name in names)
        raise ConfigError(f"unknown condition '{text}': name each by itself: {again}")
    if ":" in part.removeprefix("cited:") or part in TOOLS.names():
        try:
            traits = plugin_tool(part, permit)
        except ConfigError as exc:
            raise ConfigError(f"condition '{text}': no part '{part}': {exc}") from exc
        return traits.name, (traits,)
    known = dict.fromkeys([*PARTS, *map(_short, tool_names()), *tools, *TOOLS.names()])
    names = [name for name in known if _short(name) == name]
    raise ConfigError(
        f"unknown condition '{text}': no part '{part}'; join these by +: {', '.join(names)}, or "
        "the MODULE:NAME or file.py:NAME of a tool of your own"
    )


def _tool_part(traits: ToolTraits) -> str:
    """The part that brings a plugged-in tool, at least."""
    return traits.name if traits.mcp is None else MCP + traits.mcp.partition("/")[0]


def _mcp_part(part: str, text: str, tools: Tools) -> tuple[str, tuple[ToolTraits, ...]]:
    """`mcp:SERVER` with all its tools, or one of them by its own name or that for models:
    `mcp:SERVER/TOOL`, which is `mcp:SERVER.NAME` in the condition's name."""
    server, *rest = re.split("[/.]", part.removeprefix(MCP), maxsplit=1)
    traits = [each for each in tools.values() if _tool_part(each) == MCP + server]
    if not traits:
        names = dict.fromkeys(_tool_part(each) for each in tools.values() if each.mcp)
        known = ", ".join(names) or "none"
        raise ConfigError(
            f"condition '{text}': there is no MCP server '{server}'; known: {known}; name it by "
            f"--mcp {server}=COMMAND"
        )
    if not rest:
        if len(traits) > MOST_TOOLS:
            raise ConfigError(
                f"condition '{text}': {server} offers {len(traits)} tools, and models take at most "
                f"{MOST_TOOLS}; name those that you want: mcp:{server}/{traits[0].name}"
            )
        return part, tuple(traits)
    for each in traits:
        if rest[0] in (each.name, (each.mcp or "").partition("/")[2]):
            return f"{MCP}{server}.{each.name}", (each,)
    names = {each.name: None for each in traits[:20]}
    raise ConfigError(
        f"condition '{text}': the MCP server {server} offers no tool '{rest[0]}'; it offers "
        f"{', '.join(names)}{', …' if len(traits) > len(names) else ''}"
    )


CHOICES: tuple[ToolChoice, ...] = ("required", "auto", "none")
BOTH = "both"
"""Two conditions: the first step must call a tool in one, and may in the other."""
ON = "on-"
"""Begins the suffix with the day that is today in the condition's world."""
CLOCK_YEARS = range(1678, 2262)
"""What a clock of nanoseconds in 64 bits can show whole."""


def _with_suffix(condition: Condition, suffix: str, text: str) -> Condition:
    if suffix.startswith(ON) and condition.today is None:
        return on_day(condition, suffix.removeprefix(ON), f"condition '{text}'")
    choice = next((known for known in CHOICES if known == suffix), None)
    answer_format = next((known for known in FORMATS[1:] if known == suffix), None)
    if answer_format is not None and condition.answer_format == "free":
        return _with_format(condition, answer_format)
    if choice is None or has_choice(condition.name):
        known = ", ".join((*CHOICES, f"{ON}YYYY-MM-DD", *FORMATS[1:]))
        raise ConfigError(f"condition '{text}': after ~ write one of {known}, each kind once")
    return _with_choice(condition, choice, text)


def _with_choice(condition: Condition, choice: ToolChoice, text: str) -> Condition:
    if not condition.tools:
        raise ConfigError(f"condition '{text}' offers no tools, so it has no choice")
    bare, tilde, answer_format = condition.name.partition("~")
    update = {"name": f"{bare}~{choice}{tilde}{answer_format}", "first_step": choice}
    return condition.model_copy(update=update)


def _with_format(condition: Condition, answer_format: AnswerFormat) -> Condition:
    if condition.agent is not None:
        raise ConfigError(
            f"condition '{condition.name}': answer formats are of our own loop; leave them out, or "
            "the agent"
        )
    update = {"name": f"{condition.name}~{answer_format}", "answer_format": answer_format}
    return condition.model_copy(update=update)


def has_choice(name: str) -> bool:
    """Whether a condition's name states the tool choice of its first step."""
    return any(choice in name.split("~")[1:] for choice in CHOICES)


def with_formats(conditions: Sequence[Condition], formats: Sequence[str]) -> tuple[Condition, ...]:
    """Each condition in each of the answer formats; a format in its name stays."""
    if unknown := next((each for each in formats if each not in FORMATS), None):
        raise ConfigError(f"--answer-format {unknown}: write one of {', '.join(FORMATS)}")
    chosen: Sequence[AnswerFormat] = [known for known in FORMATS if known in formats]
    result = [
        condition if known == "free" else _with_format(condition, known)
        for condition in conditions
        for known in (chosen if condition.answer_format == "free" else FORMATS[:1])
    ]
    names = [condition.name for condition in result]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"condition '{twice}' is there twice by --answer-format; name it once")
    return tuple(result)


def tools_of(conditions: Iterable[Condition], name: str | None = None) -> list[ToolTraits]:
    """The conditions' tools, each once; with a name, those that have it or that this part of a
    condition brings."""
    tools = {traits.name: traits for each in conditions for traits in traits_of(each)}
    if name is None:
        return list(tools.values())
    names = ALIASES.get(name, (name,))
    server = name.removeprefix(MCP) if name.startswith(MCP) else None
    return [
        traits
        for traits in tools.values()
        if traits.name in names or (server and (traits.mcp or "").partition("/")[0] == server)
    ]


def with_disturbances(
    conditions: Sequence[Condition], disturbances: Sequence[Disturbance]
) -> tuple[Condition, ...]:
    """Each condition, and behind it one for each disturbance that concerns its tools."""
    return tuple(
        each
        for condition in conditions
        for each in (
            condition,
            *(_disturbed(condition, d) for d in disturbances if _concerns(d, condition)),
        )
    )


def _concerns(disturbance: Disturbance, condition: Condition) -> bool:
    """Whether it has a tool for which anything would change. An ablation takes the evidence away,
    which a prompt with the dates or a tool that reads the tables would give again."""
    tools = traits_of(condition)
    if disturbance.ablation is not None:
        gives = condition.wording != "implicit" or any(traits.needs_table for traits in tools)
        return not gives and any(traits.needs_web for traits in tools)
    if disturbance.attack is not None:
        return any(traits.needs_web for traits in tools)
    return any(fault.tool in condition.tools for fault in disturbance.faults)


def _disturbed(condition: Condition, disturbance: Disturbance) -> Condition:
    name = _before_format(condition, disturbance.suffix)
    return condition.model_copy(update={"name": name, "disturbance": disturbance})


def _before_format(condition: Condition, suffix: str) -> str:
    """The condition's name with the suffix; it ends with the answer format, whichever of the two
    was chosen first."""
    bare = condition.name.removesuffix(f"~{condition.answer_format}")
    return f"{bare}~{suffix}{condition.name[len(bare) :]}"


def on_day(condition: Condition, day: str, where: str) -> Condition:
    """The condition in a world where it is this day; ConfigError begins with `where`."""
    if (parsed := iso_day(day)) is None or parsed.year not in CLOCK_YEARS:
        raise ConfigError(
            f"{where}: '{day}' is not a day that a clock can show; write YYYY-MM-DD (Gregorian, "
            f"without a time or zone), from {CLOCK_YEARS[0]} to {CLOCK_YEARS[-1]}"
        )
    return condition.model_copy(
        update={"name": _before_format(condition, f"{ON}{day}"), "today": day}
    )


OUR_LOOP = "loop"
"""Stands for our own loop among agents."""
BY = "by-"
"""Begins the suffix with the name of somebody else's agent."""


def with_agents(
    conditions: Sequence[Condition], agents: Sequence[AgentUse | None]
) -> tuple[Condition, ...]:
    """Each condition by each of the agents; None stands for our own loop. ConfigError for what only
    our own loop can do."""
    result = []
    for condition in conditions:
        for agent in agents:
            if agent is None:
                result.append(condition)
                continue
            name = _before_format(condition, f"{BY}{agent.name}")
            if condition.strategy != "tool-loop":
                raise ConfigError(
                    f"condition '{name}': strategies are of our own loop; leave it out, or the "
                    "agent"
                )
            update = {"name": name, "agent": agent, "first_step": "auto"}
            result.append(condition.model_copy(update=update))
    return tuple(result)


def is_twin(one: Condition, other: Condition, field: str) -> bool:
    """Whether the two are the same condition but for this field, and for their names; an agent
    makes its first step as it likes."""
    free = ("name", field, "first_step") if field == "agent" else ("name", field)
    names = (name for name in Condition.model_fields if name not in free)
    return all(getattr(one, name) == getattr(other, name) for name in names)


def with_first_steps(
    conditions: Sequence[Condition], choices: Sequence[str], permit: Permit = NOTHING
) -> tuple[Condition, ...]:
    """The conditions with the tool choice of their first step: by CONDITION=CHOICE among `choices`,
    else by a CHOICE for all, else `required`; `auto` without tools; a choice in the name stays. For
    `both` there are two conditions, NAME (required) and NAME~auto."""
    for_all = "required"
    named: dict[str, str] = {}
    for text in choices:
        name, equals, choice = text.rpartition("=")
        if choice not in (*CHOICES, BOTH):
            advice = "write required, auto, none or both, or CONDITION=one of them"
            raise ConfigError(f"--first-step {text}: {advice}")
        if equals:
            full_name = parse_condition(name, own_tools(conditions), permit).name
            condition = next((c for c in conditions if c.name == full_name), None)
            if condition is None:
                names = ", ".join(c.name for c in conditions)
                raise ConfigError(
                    f"--first-step {text}: the run has no such condition, but {names}"
                )
            if not condition.tools:
                problem = "offers no tools, so it has no choice"
                raise ConfigError(f"--first-step {text}: '{full_name}' {problem}")
            if has_choice(full_name):
                raise ConfigError(f"--first-step {text}: the name says its choice already")
            named[full_name] = choice
        else:
            for_all = choice
    result = [new for c in conditions for new in _with_first_step(c, named.get(c.name, for_all))]
    if twice := next((c.name for c in result if result.count(c) > 1), None):
        raise ConfigError(f"condition '{twice}' is there twice by --first-step both; name it once")
    return tuple(result)


def _with_first_step(condition: Condition, choice: str) -> list[Condition]:
    """The condition with this choice on its first step; two for `both`."""
    if not condition.tools:
        return [condition.model_copy(update={"first_step": "auto"})]
    if has_choice(condition.name):
        return [condition]
    if choice == BOTH:
        required = condition.model_copy(update={"first_step": "required"})
        return [required, _with_choice(condition, "auto", condition.name)]
    return [condition.model_copy(update={"first_step": choice})]


def own_tools(conditions: Sequence[Condition]) -> Tools:
    return {traits.name: traits for each in conditions for traits in each.own_tools}


def _kind(part: str) -> str:
    """The known part: `cited` for `cited:NAME`."""
    kind, _, name = part.partition(":")
    return kind if kind == "cited" and CONTEXT_NAME.fullmatch(name) else part
