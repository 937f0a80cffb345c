"""Conditions by name: parts joined by `+`, such as `web+ci`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_env.errors import ConfigError
from agent_env.protocols import ToolChoice
from agent_env.schema import Condition

PARTS = ("base", "explicit", "cited", "web", "web-once", "cal", "events", "ci", "sql")
"""Known parts, in the order in which a condition's name gives them; `base` stands alone, and
`cited` may bear a name: `cited:NAME`."""

TOOLS = {
    "web": ("web_search", "open_page"),
    "web-once": ("web_search", "open_page"),
    "cal": ("calendars",),
    "events": ("query_events",),
    "ci": ("python",),
    "sql": ("sql",),
}

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
    parts = [part.strip() for part in text.split("+")]
    kinds = [_kind(part) for part in parts]
    for part, kind in zip(parts, kinds, strict=True):
        if kind not in PARTS:
            if "," in text:
                again = " ".join(f"--condition {name.strip()}" for name in text.split(","))
                raise ConfigError(f"unknown condition '{text}': name each by itself: {again}")
            raise ConfigError(
                f"unknown condition '{text}': no part '{part}'; join these by +: {', '.join(PARTS)}"
            )
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
    ordered = sorted(parts, key=lambda part: PARTS.index(_kind(part)))
    return Condition(
        name="+".join(ordered),
        wording="explicit" if "explicit" in parts else "implicit",
        tools=tuple(tool for part in ordered for tool in TOOLS.get(part, ())),
        strategy="one-round" if "web-once" in parts else "tool-loop",
        context=next((part for part in parts if _kind(part) == "cited"), None),
    )


CHOICES: tuple[ToolChoice, ...] = ("required", "auto", "none")


def with_first_steps(
    conditions: Sequence[Condition], asked: Sequence[str]
) -> tuple[Condition, ...]:
    """The conditions with the first step's tool choice: as CONDITION=CHOICE among `asked` says, or
    else a CHOICE there for all conditions, or else `required`. Without tools it is `auto`."""
    for_all: ToolChoice = "required"
    named: dict[str, ToolChoice] = {}
    for text in asked:
        name, equals, wanted = text.rpartition("=")
        choice = next((known for known in CHOICES if known == wanted), None)
        if choice is None:
            told = "write required, auto or none, or CONDITION=one of them"
            raise ConfigError(f"--first-step {text}: {told}")
        if equals:
            named[_asked_with_tools(name, conditions, text)] = choice
        else:
            for_all = choice
    return tuple(
        c.model_copy(update={"first_step": named.get(c.name, for_all) if c.tools else "auto"})
        for c in conditions
    )


def _asked_with_tools(name: str, conditions: Sequence[Condition], text: str) -> str:
    """The name as the run has it."""
    wanted = parse_condition(name).name
    found = next((c for c in conditions if c.name == wanted), None)
    if found is None:
        names = ", ".join(c.name for c in conditions)
        raise ConfigError(f"--first-step {text}: the run has no such condition, but {names}")
    if not found.tools:
        raise ConfigError(f"--first-step {text}: '{wanted}' offers no tools, so it has no choice")
    return wanted


def _kind(part: str) -> str:
    """The known part that this is: `cited` for `cited:NAME`."""
    kind, colon, name = part.partition(":")
    if kind == "cited" and colon:
        return "cited" if CONTEXT_NAME.fullmatch(name) else part
    return part
