"""The tools of one episode, and the errors of calls that cannot be run.

Plugged-in tools get a limit of time, a limit of output, and errors with names. What the model can
mend is told to the model; anything else that the tool raises ends its episode, and no other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agent_env.errors import EpisodeError, ToolError, place_of
from agent_env.foreign_calls import Overdue, call
from agent_env.protocols import Supplies, Tool, ToolDeclaration
from agent_env.records.escaping import writable
from agent_env.records.schema import ToolCall, ToolResult, ToolSpec
from agent_env.records.tool_traits import ToolTraits

A = TypeVar("A", bound=BaseModel)
MAX_ARGUMENTS = 200_000
"""Characters of a call's arguments."""


class ToolSet:
    """The Toolbox over Tool objects. Unknown tools, invalid JSON and wrong types become results
    that say what to do; what a tool raises beyond ToolError passes through."""

    def __init__(self, tools: Sequence[Tool], is_short: bool = False) -> None:
        """`is_short`: they are described in the short form."""
        self._tools = {tool.spec.name: tool for tool in tools}
        self.specs = tuple(short_spec(tool.spec) if is_short else tool.spec for tool in tools)

    async def run(self, call: ToolCall, offered: frozenset[str]) -> ToolResult:
        try:
            if call.problem is not None:
                raise ToolError(call.problem)
            tool = self._find(call.name, offered)
            result = await tool.run(without_nulls(parse_json(call.arguments), tool.spec))
        except ToolError as exc:
            return ToolResult.failure(exc)
        output = writable(result.output)
        return result if output == result.output else result.model_copy(update={"output": output})

    def _find(self, name: str, offered: frozenset[str]) -> Tool:
        if name in offered and name in self._tools:
            return self._tools[name]
        names = ", ".join(tool for tool in self._tools if tool in offered) or "none"
        raise ToolError(f"there is no tool '{name}' here; tools you can call: {names}")


def short_spec(spec: ToolSpec) -> ToolSpec:
    """The tool in one sentence, with the arguments that a call cannot do without: all where one of
    them chooses an operation, which needs others. What is left out may still be given."""
    properties, required = spec.parameters.get("properties"), spec.parameters.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list) or spec.hosted:
        return spec
    needed = {name: properties.get(str(name)) for name in map(str, required)}
    if any(isinstance(each, dict) and "enum" in each for each in needed.values()):
        return spec
    description = re.split(r"(?<=[.;]) ", spec.description, maxsplit=1)[0].rstrip(";")
    parameters = spec.parameters | {"properties": needed}
    return spec.model_copy(update={"description": description, "parameters": parameters})


def parse_json(arguments: str) -> dict[str, object]:
    """The arguments object of a call; an empty string counts as an empty object."""
    if len(arguments) > MAX_ARGUMENTS:
        raise ToolError(
            f"the arguments have {len(arguments):,} characters; send at most {MAX_ARGUMENTS:,}"
        )
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as exc:
        raise ToolError(f"the arguments are not valid JSON ({exc}); send one object") from exc
    if isinstance(value, str):
        raise ToolError("the arguments are a string that holds JSON; send the object itself")
    if not isinstance(value, dict):
        raise ToolError(f"the arguments must be a JSON object, not {type(value).__name__}")
    return value


def without_nulls(arguments: dict[str, object], spec: ToolSpec) -> dict[str, object]:
    """Without optional arguments that are null: models write so what they leave out."""
    required = spec.parameters.get("required")
    needed = required if isinstance(required, list) else []
    return {n: each for n, each in arguments.items() if each is not None or n in needed}


def parse_arguments(kind: type[A], arguments: dict[str, object]) -> A:
    """The arguments as the tool's own type; the error names every field that is wrong."""
    try:
        return kind.model_validate(arguments)
    except ValidationError as exc:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in exc.errors()
        )
        raise ToolError(f"wrong arguments: {problems}") from exc


@lru_cache(maxsize=100)
def tool_spec(name: str, description: str, arguments: type[BaseModel]) -> ToolSpec:
    """A spec whose JSON schema is made from the arguments' type. An optional argument is left out
    rather than null: a small model reads one type more easily than two."""
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for field in schema.get("properties", {}).values():
        field.pop("title", None)
        kinds = [each for each in field.get("anyOf", ()) if each != {"type": "null"}]
        if len(kinds) == 1:
            del field["anyOf"]
            field |= kinds[0]
        if field.get("default", "") is None:
            del field["default"]
    return ToolSpec(name=name, description=description, parameters=schema)


def with_markers(what: str, text: str, digest: str, notice: str) -> str:
    """The text between two lines that are named after its digest, which it cannot contain of
    itself."""
    mark = f"{what} {digest[:12]}"
    return f"[{mark} begins: {notice}]\n{text}\n[{mark} ends]"


def open_plugin(declaration: ToolDeclaration, traits: ToolTraits, supplies: Supplies) -> Tool:
    """The tool of one episode; EpisodeError names the plug-in that cannot be made."""
    try:
        tool = declaration.open(supplies)
    except Exception as exc:  # the code of others
        raise _failure(traits, exc) from exc
    spec = getattr(tool, "spec", None)
    if spec is None or not hasattr(tool, "run"):
        raise EpisodeError(f"{_named(traits)} makes a {type(tool).__name__}, which is not a tool")
    if spec.name != traits.name:
        raise EpisodeError(f"{_named(traits)} calls itself {spec.name} in its spec")
    return PluginTool(tool, traits)


class PluginTool:
    """A tool of somebody else's."""

    def __init__(self, inner: Tool, traits: ToolTraits) -> None:
        self._inner = inner
        self._traits = traits
        self.spec = inner.spec

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        traits = self._traits
        try:
            if getattr(self._inner, "keeps_time", False):
                result = await self._inner.run(arguments)
            else:
                who = f"the tool {traits.name}"
                result = await call(who, traits.timeout_s, self._inner.run, arguments)
        except (ToolError, EpisodeError):
            raise
        except Overdue as exc:
            text = f"{traits.name} gave nothing within {traits.timeout_s:g} s"
            stood = f"; it stood at {exc.place}" if exc.place else ""
            return ToolResult(output=f"Error: {text}", error=text + stood)
        except Exception as exc:  # the code of others
            raise _failure(traits, exc) from exc
        if not isinstance(result, ToolResult):
            raise EpisodeError(f"{_named(traits)} gave a {type(result).__name__}, no ToolResult")
        if len(result.output) <= traits.output_limit:
            return result
        most = traits.output_limit
        notice = f"The output has {len(result.output):,} characters; these are the first {most:,}."
        return result.model_copy(update={"output": f"{result.output[:most]}\n[{notice}]"})

    def close(self) -> None:
        """Closes the tool where it wants that."""
        if (close := getattr(self._inner, "close", None)) is not None:
            try:
                close()
            except Exception as exc:  # the code of others
                raise _failure(self._traits, exc) from exc


def _named(traits: ToolTraits) -> str:
    return f"the tool {traits.name} ({traits.path})"


def _failure(traits: ToolTraits, exc: Exception) -> EpisodeError:
    where = f" at {place}" if (place := place_of(exc)) else ""
    return EpisodeError(f"{_named(traits)} raised {type(exc).__name__}: {exc}{where}")


class HostedTool:
    """A Tool of the provider's."""

    def __init__(self, name: str) -> None:
        text = f"The provider's own {name}, run by the provider within its reply."
        self.spec = ToolSpec(name=name, description=text, parameters={}, hosted=name)

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        raise ToolError(f"{self.spec.name} is run by the provider; it cannot be called here")
