"""Conditions by name: parts joined by `+`, such as `web+python`, and behind them modifiers, such as
`web~on-1995-06-01~schema` (`tasks.modifiers`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from agent_env.errors import ConfigError, did_you_mean
from agent_env.permits import NOTHING, Permit
from agent_env.records.schema import Condition, Wording, World
from agent_env.records.tool_traits import ToolTraits
from agent_env.tasks.features import joined_name, sources, split_name
from agent_env.tasks.modifiers import (
    CHOICES,
    FIRST_STEP,
    bare_name,
    modifier_of,
    said_in,
    with_modifier,
    with_modifiers,
)
from agent_env.tasks.tool_registry import TOOLS, plugin_tool, tool_names, traits_of

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

MOST_TOOLS = 128
"""Of one server in a condition: what servers of models take."""
CONTEXT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""The NAME of `cited:NAME`; part of a folder's name."""


Tools = Mapping[str, ToolTraits]
"""Plugged-in tools by name."""
NO_TOOLS: Tools = MappingProxyType({})


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
    for part in dict.fromkeys(tool.origin for tool in tools.values()):
        if not any(name in used_tools for name, tool in tools.items() if tool.origin == part):
            raise ConfigError(f"no condition uses {part}; add --condition {part}")
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
    parts = bare_name(name).split("+")
    return next((wording for wording in WORDINGS if wording in parts), "implicit")


def world_of(name: str) -> World:
    """In which the condition of this name asks samples."""
    its = modifier_of("today")
    text = None if its is None else its.text_in(name)
    today = None if its is None or text is None else its.parse(text)
    return World(today, said_in(name, "disturbance") == "shifted", wording_of(name))


def _for_each_context(name: str, contexts: Sequence[str]) -> list[str]:
    """The name once for each context if it has a plain `cited`, else the name itself."""
    bare, texts = split_name(name)
    parts = [part.strip() for part in bare.split("+")]
    if "cited" not in parts or not contexts:
        return [name]
    at = parts.index("cited")
    named = ("+".join([*parts[:at], context, *parts[at + 1 :]]) for context in contexts)
    return [joined_name(each, texts) for each in named]


def _option(context: str) -> str:
    _, _, name = context.partition(":")
    return f"--cited-from {name}=FILE" if name else "--cited-from FILE"


def parse_condition(text: str, tools: Tools = NO_TOOLS, permit: Permit = NOTHING) -> Condition:
    """The condition of this name; ConfigError names the wrong part. `permit` is for tools by their
    MODULE:NAME."""
    if (bare := bare_name(text)) != text:
        return with_modifiers(parse_condition(bare, tools, permit), text)
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
    if (
        source := next((one for one in sources() if part.startswith(one.prefix)), None)
    ) is not None:
        return source.part(part, text, tools)
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
        f"unknown condition '{text}': no part '{part}'; {did_you_mean(part, names)}join these by "
        f"+: {', '.join(names)}, or the MODULE:NAME or file.py:NAME of a tool of your own"
    )


def tools_of(conditions: Iterable[Condition], name: str | None = None) -> list[ToolTraits]:
    """The conditions' tools, each once; with a name, those that have it or that this part of a
    condition brings."""
    tools = {traits.name: traits for each in conditions for traits in traits_of(each)}
    if name is None:
        return list(tools.values())
    names = ALIASES.get(name, (name,))
    return [each for each in tools.values() if each.name in names or each.origin == name]


BOTH = "both"
"""Two conditions: the first step must call a tool in one, and may in the other."""


def with_first_steps(
    conditions: Sequence[Condition], choices: Sequence[str], permit: Permit = NOTHING
) -> tuple[Condition, ...]:
    """The conditions with the tool choice of their first step: by CONDITION=CHOICE among `choices`,
    else by a CHOICE for all, else `required`; `auto` without tools; a choice in the name stays. For
    `both` there are two conditions, NAME (required) and NAME~auto."""
    by_name = {condition.name: condition for condition in conditions}
    for_all, named = "required", dict[str, str]()
    for text in choices:
        name, equals, choice = text.rpartition("=")
        if choice not in (*CHOICES, BOTH):
            advice = "write required, auto, none or both, or CONDITION=one of them"
            raise ConfigError(f"--first-step {text}: {advice}")
        if not equals:
            for_all = choice
            continue
        full_name = parse_condition(name, own_tools(conditions), permit).name
        problem = None
        if (condition := by_name.get(full_name)) is None:
            problem = f"the run has no such condition, but {', '.join(by_name)}"
        elif reason := FIRST_STEP.applies(condition, choice):
            problem = f"'{full_name}': {reason}"
        elif FIRST_STEP.text_in(full_name):
            problem = "the name says its choice already"
        if problem is not None:
            raise ConfigError(f"--first-step {text}: {problem}")
        named[full_name] = choice
    result: list[Condition] = []
    for each in conditions:
        choice = named.get(each.name, for_all) if each.tools else "auto"
        if not FIRST_STEP.text_in(each.name) and each.agent is None:
            first = "required" if choice == BOTH else choice
            result.append(each.model_copy(update={"first_step": first}))
            result += [with_modifier(each, FIRST_STEP, "auto")] if choice == BOTH else []
        else:
            result.append(each)
    if twice := next((c.name for c in result if result.count(c) > 1), None):
        raise ConfigError(f"condition '{twice}' is there twice by --first-step both; name it once")
    return tuple(result)


def own_tools(conditions: Sequence[Condition]) -> Tools:
    return {traits.name: traits for each in conditions for traits in each.own_tools}


def _kind(part: str) -> str:
    """The known part: `cited` for `cited:NAME`."""
    kind, _, name = part.partition(":")
    return kind if kind == "cited" and CONTEXT_NAME.fullmatch(name) else part
