"""Conditions by name: parts joined by `+`, such as `web+ci`. The first step's tool choice may stand
behind them, `web~auto`, where a run has the same condition with several."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_env.errors import ConfigError
from agent_env.protocols import ToolChoice
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import ToolTraits
from agent_env.tasks.tool_registry import find_tool, tool_names

PARTS = ("base", "explicit", "cited", "web", "web-once", "cal", "events", "ci", "sql")
"""Known parts, in the order in which a condition's name gives them; `base` stands alone, and
`cited` may bear a name: `cited:NAME`. Behind them come other tools: each tool's name is a part, and
so is the MODULE:NAME of a tool that is not built in."""

ALIASES = {
    "web": ("web_search", "open_page"),
    "web-once": ("web_search", "open_page"),
    "cal": ("calendars",),
    "events": ("query_events",),
    "ci": ("python",),
}
"""Parts that have another name than the tools they stand for."""

CONTEXT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""The NAME of `cited:NAME`; it becomes part of a folder's name."""


def parse_conditions(names: Sequence[str], contexts: Sequence[str] = ()) -> tuple[Condition, ...]:
    """The conditions of these names; `contexts` are those that there are, as `cited` or
    `cited:NAME`. A plain `cited` stands for each of them; one that no condition uses is refused."""
    parsed = [parse_condition(each) for name in names for each in _spread(name, contexts)]
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


def _spread(name: str, contexts: Sequence[str]) -> list[str]:
    """The name once for each context where it has a plain `cited`, else the name itself."""
    parts = [part.strip() for part in name.split("+")]
    if "cited" not in parts or not contexts:
        return [name]
    at = parts.index("cited")
    return ["+".join([*parts[:at], context, *parts[at + 1 :]]) for context in contexts]


def _option(context: str) -> str:
    _, _, name = context.partition(":")
    return f"--cited-from {name}=FILE" if name else "--cited-from FILE"


def parse_condition(text: str) -> Condition:
    """The condition of this name; ConfigError names the part that is wrong."""
    bare, tilde, wanted = text.partition("~")
    if tilde:
        return _with_choice(parse_condition(bare), wanted, text)
    parts = [_short(part.strip()) for part in text.split("+")]
    kinds = [_kind(part) for part in parts]
    tools = {part: _tools(part, kind, text) for part, kind in zip(parts, kinds, strict=True)}
    _check(text, parts, kinds)
    ordered = sorted(parts, key=_place)
    offered = [tool for part in ordered for tool in tools[part]]
    if twice := next((t.name for t in offered if [o.name for o in offered].count(t.name) > 1), ""):
        raise ConfigError(f"condition '{text}' has the tool {twice} twice")
    condition = Condition(
        name="+".join(ordered),
        wording="explicit" if "explicit" in parts else "implicit",
        tools=tuple(tool.name for tool in offered),
        strategy="one-round" if "web-once" in parts else "tool-loop",
        context=next((part for part in parts if _kind(part) == "cited"), None),
    )
    own = tuple(tool for tool in offered if tool.path is not None)
    return condition.model_copy(update={"own_tools": own}) if own else condition


def _short(part: str) -> str:
    """The alias of a tool that has one of its own, as conditions' names have it."""
    return next((alias for alias, tools in ALIASES.items() if tools == (part,)), part)


def _place(part: str) -> tuple[int, str]:
    kind = _kind(part)
    return (PARTS.index(kind), "") if kind in PARTS else (len(PARTS), part)


def _tools(part: str, kind: str, text: str) -> tuple[ToolTraits, ...]:
    """The tools that the part stands for, imported where they are not built in; ConfigError where
    there is no such part."""
    if part in ALIASES or part in tool_names():
        return tuple(ToolTraits(name=name) for name in ALIASES.get(part, (part,)))
    if kind in PARTS:
        return ()
    if "," in text:
        again = " ".join(f"--condition {name.strip()}" for name in text.split(","))
        raise ConfigError(f"unknown condition '{text}': name each by itself: {again}")
    reason = f"no part '{part}'"
    module, _, name = part.partition(":")
    if module not in ("", "cited") and name:
        try:
            traits = find_tool(part).traits
        except ConfigError as exc:
            reason += f" ({exc})"
        else:
            return (traits.model_copy(update={"path": part}),)
    known = dict.fromkeys([*PARTS, *map(_short, tool_names())])
    raise ConfigError(
        f"unknown condition '{text}': {reason}; join these by +: {', '.join(known)}, or the "
        "MODULE:NAME of a tool of your own"
    )


def _check(text: str, parts: Sequence[str], kinds: Sequence[str]) -> None:
    """ConfigError where the parts do not go together."""
    if kinds.count("cited") > 1:
        raise ConfigError(f"condition '{text}': only one set of cited pages at a time")
    if len(set(parts)) < len(parts):
        raise ConfigError(f"condition '{text}' names a part twice")
    if "base" in parts and len(parts) > 1:
        raise ConfigError(f"condition '{text}': base means without anything, so it stands alone")
    if {"web", "web-once"} <= set(parts):
        raise ConfigError(f"condition '{text}': web and web-once exclude each other")
    if "cited" in kinds and (web := {"web", "web-once"} & set(parts)):
        raise ConfigError(
            f"condition '{text}': cited gives the pages that {web.pop()} would look for, "
            "so they exclude each other"
        )


CHOICES: tuple[ToolChoice, ...] = ("required", "auto", "none")
BOTH = "both"
"""Stands for two conditions: one whose first step must call a tool, one whose first step may."""


def _with_choice(condition: Condition, wanted: str, text: str) -> Condition:
    choice = next((known for known in CHOICES if known == wanted.strip()), None)
    if choice is None:
        raise ConfigError(f"condition '{text}': behind ~ stands {', '.join(CHOICES)}")
    if not condition.tools:
        raise ConfigError(f"condition '{text}' offers no tools, so it has no choice")
    name = f"{condition.name}~{choice}"
    return condition.model_copy(update={"name": name, "first_step": choice})


def with_first_steps(
    conditions: Sequence[Condition], asked: Sequence[str]
) -> tuple[Condition, ...]:
    """The conditions with the first step's tool choice: as CONDITION=CHOICE among `asked` says, or
    else a CHOICE there for all conditions, or else `required`. Without tools it is `auto`, and one
    whose name says it keeps its own. For `both` there are two, NAME (required) and NAME~auto."""
    for_all = "required"
    named: dict[str, str] = {}
    for text in asked:
        name, equals, wanted = text.rpartition("=")
        if wanted not in (*CHOICES, BOTH):
            told = "write required, auto, none or both, or CONDITION=one of them"
            raise ConfigError(f"--first-step {text}: {told}")
        if equals:
            named[_asked_with_tools(name, conditions, text)] = wanted
        else:
            for_all = wanted
    found = [new for c in conditions for new in _chosen(c, named.get(c.name, for_all))]
    if twice := next((c.name for c in found if found.count(c) > 1), None):
        raise ConfigError(f"condition '{twice}' is there twice by --first-step both; name it once")
    return tuple(found)


def _chosen(condition: Condition, choice: str) -> list[Condition]:
    """The condition with this choice on its first step; two for `both`."""
    if not condition.tools:
        return [condition.model_copy(update={"first_step": "auto"})]
    if "~" in condition.name:
        return [condition]
    if choice == BOTH:
        required = condition.model_copy(update={"first_step": "required"})
        return [required, _with_choice(condition, "auto", condition.name)]
    return [condition.model_copy(update={"first_step": choice})]


def _asked_with_tools(name: str, conditions: Sequence[Condition], text: str) -> str:
    """The name as the run has it."""
    wanted = parse_condition(name).name
    found = next((c for c in conditions if c.name == wanted), None)
    if found is None:
        names = ", ".join(c.name for c in conditions)
        raise ConfigError(f"--first-step {text}: the run has no such condition, but {names}")
    if not found.tools:
        raise ConfigError(f"--first-step {text}: '{wanted}' offers no tools, so it has no choice")
    if "~" in wanted:
        raise ConfigError(f"--first-step {text}: the name says its choice already")
    return wanted


def _kind(part: str) -> str:
    """The known part that this is: `cited` for `cited:NAME`."""
    kind, colon, name = part.partition(":")
    if kind == "cited" and colon:
        return "cited" if CONTEXT_NAME.fullmatch(name) else part
    return part
