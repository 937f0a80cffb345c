"""Finds tools by name: a built-in one is a file in tools/builtin, any other is at MODULE:NAME.

Traits of foreign tools are read from the stored condition; a foreign module is imported only when
its tool is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from agent_env.errors import ConfigError
from agent_env.protocols import ToolDeclaration
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import ToolTraits

BUILT_IN = "agent_env.tools.builtin"


@cache
def tool_names() -> tuple[str, ...]:
    """The built-in tools."""
    return tuple(sorted(each.name for each in iter_modules(import_module(BUILT_IN).__path__)))


def find_tool(name: str) -> ToolDeclaration:
    """The declaration of a built-in tool, or the one at MODULE:NAME; ConfigError if missing."""
    module, colon, attribute = name.partition(":")
    if not colon:
        if name not in tool_names():
            raise ConfigError(f"no tool '{name}'; known: {', '.join(tool_names())}")
        module, attribute = f"{BUILT_IN}.{name}", "TOOL"
    try:
        tool = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as exc:
        raise ConfigError(f"tool '{name}' cannot be imported: {exc}") from exc
    if not isinstance(tool, ToolDeclaration):
        raise ConfigError(f"tool '{name}' is no ToolDeclaration, but {type(tool).__name__}")
    return tool


def traits_of(condition: Condition) -> tuple[ToolTraits, ...]:
    """The traits of the condition's tools, in order; only the name of a tool that no longer
    exists. What is stored of a built-in tool does not count."""
    own = {traits.name: traits for traits in condition.own_tools if traits.path is not None}
    return tuple(own.get(name) or _built_in(name) for name in condition.tools)


def _built_in(name: str) -> ToolTraits:
    return find_tool(name).traits if name in tool_names() else ToolTraits.model_construct(name=name)


def web_tools(condition: Condition) -> frozenset[str]:
    """The tools whose results are evidence from the web."""
    return frozenset(traits.name for traits in traits_of(condition) if traits.shows_web)


def needs_web(conditions: Iterable[Condition]) -> bool:
    """Whether any of them has a tool that uses the run's web."""
    return any(traits.needs_web for each in conditions for traits in traits_of(each))


def needs_sandbox(condition: Condition) -> bool:
    """Whether one of its tools runs code."""
    return any(traits.needs_sandbox for traits in traits_of(condition))
