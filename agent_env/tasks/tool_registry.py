"""Finds tools by name; a built-in one is a file in tools/builtin.

Traits of plugged-in tools are read from the stored condition; their code is imported only when the
tool is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from inspect import isclass
from pkgutil import iter_modules
from typing import Any

from agent_env.permits import NOTHING, Permit
from agent_env.protocols import ToolDeclaration
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import ToolTraits
from agent_env.registry import PluginEntry, Plugins, Registry, load_path

BUILT_IN = "agent_env.tools.builtin"
FROM_FUNCTION = "agent_env.tools.function:tool"


@cache
def tool_names() -> tuple[str, ...]:
    return tuple(sorted(each.name for each in iter_modules(import_module(BUILT_IN).__path__)))


def _built_in_paths() -> Mapping[str, str]:
    return {name: f"{BUILT_IN}.{name}:TOOL" for name in tool_names()}


def _declaration(thing: Any, name: str) -> ToolDeclaration | None:
    """What a plug-in declares, or what its function makes."""
    if isinstance(thing, ToolDeclaration):
        return thing
    if not callable(thing) or (isclass(thing) and "__call__" not in vars(thing)):
        return None
    declaration: ToolDeclaration = load_path(FROM_FUNCTION)(thing)
    return declaration


TOOLS = Registry("tool", "tools", "a ToolDeclaration or a function", _declaration, _built_in_paths)


def plugin_tool(text: str, permit: Permit) -> ToolTraits:
    """What the plugged-in tool of a user's NAME, MODULE:NAME or file.py:NAME says of itself, and
    its `path`; ConfigError where it calls itself like another."""
    entry = TOOLS.entry(text)
    traits = TOOLS.load(entry, permit).traits
    TOOLS.check_free(traits.name, entry)
    return traits.model_copy(update={"path": entry.reference or entry.path})


def open_tool(plugins: Plugins, traits: ToolTraits) -> ToolDeclaration:
    """The declaration of a condition's tool."""
    if traits.path is None or (TOOLS.kind, traits.name) in plugins.objects:
        return plugins.find(TOOLS, traits.name)
    return TOOLS.find(traits.path, plugins.permit)


def traits_of(condition: Condition) -> tuple[ToolTraits, ...]:
    """The traits of the condition's tools, in order; only the name of a tool that no longer
    exists. What is stored of a built-in tool does not count."""
    by_name = {traits.name: traits for traits in condition.own_tools if traits.is_own}
    return tuple(by_name.get(name) or _built_in(name) for name in condition.tools)


def _built_in(name: str) -> ToolTraits:
    if name not in tool_names():
        return ToolTraits.model_construct(name=name)
    return TOOLS.load(PluginEntry(TOOLS.kind, name, _built_in_paths()[name]), NOTHING).traits


def web_tools(condition: Condition) -> frozenset[str]:
    """The tools whose results are evidence from the web."""
    return frozenset(traits.name for traits in traits_of(condition) if traits.shows_web)


def needs_web(conditions: Iterable[Condition]) -> bool:
    """Whether any of them has a tool that uses the run's web."""
    return any(traits.needs_web for each in conditions for traits in traits_of(each))


def needs_sandbox(condition: Condition) -> bool:
    """Whether one of its tools runs code."""
    return any(traits.needs_sandbox for traits in traits_of(condition))
