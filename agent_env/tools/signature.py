"""A function's parameters as a type that checks arguments, and its docstring taken apart."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from agent_env.errors import ConfigError

MAX_DESCRIPTION = 4_000
_SECTION = re.compile(r"(?:Args|Arguments|Parameters):\s*")
_ENTRY = re.compile(r"(?P<name>\w++)\s*+(?:\([^)]*+\)\s*+)?:\s*+(?P<text>.+)")
_FIELD = re.compile(r":param (?:[\w.\[\], |]+ )?(?P<name>\w+):\s*(?P<text>.+)")
_END = re.compile(
    r"(?:Returns|Return|Raises|Yields|Example|Examples|Note|Notes):|:return|:raises|:rtype"
)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a model is told of a function."""

    description: str
    arguments: type[BaseModel]

    def values_of(self, request: BaseModel) -> dict[str, Any]:
        """The checked values by parameter."""
        return {name: getattr(request, name) for name in self.arguments.model_fields}


def signature_of(function: Callable[..., Any]) -> Signature:
    """From type hints and docstring; ConfigError says what is missing, by file and line."""
    where = place(function)
    called = function.__call__ if inspect.isclass(function) else function
    text = inspect.cleandoc(inspect.getdoc(function) or "")
    description, notes = docstring_parts(text)
    if not description:
        raise ConfigError(f"{where}: it has no docstring, which models read to know what it does")
    try:
        hints = get_type_hints(called, include_extras=True)
    except Exception as exc:  # a hint is any expression
        raise ConfigError(f"{where}: its type hints cannot be read: {exc}") from exc
    fields: dict[str, Any] = {}
    for parameter in _parameters(called, where):
        if parameter.name not in hints:
            raise ConfigError(f"{where}: parameter '{parameter.name}' has no type hint")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], _field(default, notes, parameter.name))
    try:
        arguments = create_model(
            f"{function.__name__}_arguments", __config__=ConfigDict(extra="forbid"), **fields
        )
        arguments.model_json_schema()
    except Exception as exc:  # pydantic knows many kinds of types that are none for JSON
        first = str(exc).splitlines()[0]
        raise ConfigError(f"{where}: its parameters have no JSON schema: {first}") from exc
    return Signature(description[:MAX_DESCRIPTION], arguments)


def _field(default: Any, notes: dict[str, str], name: str) -> Any:
    if isinstance(default, FieldInfo):
        return default
    return Field(default, description=notes[name]) if name in notes else default


def _parameters(function: Callable[..., Any], where: str) -> list[inspect.Parameter]:
    parameters = list(inspect.signature(function).parameters.values())
    if parameters and parameters[0].name == "self":
        del parameters[0]
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    for parameter in parameters:
        if parameter.kind not in by_name:
            raise ConfigError(f"{where}: parameter '{parameter.name}' cannot be given by name")
        if parameter.name.startswith("_"):
            raise ConfigError(f"{where}: parameter '{parameter.name}' begins with an underscore")
    return parameters


def place(function: Callable[..., Any]) -> str:
    """FILE:LINE and the function's name, for users."""
    try:
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (OSError, TypeError):
        return function.__name__
    return f"{file}:{line}: {function.__name__}"


def docstring_parts(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the parameters, and a text for each parameter that has one: below `Args:`,
    or behind `:param NAME:`."""
    description: list[str] = []
    notes: dict[str, str] = {}
    part, current = "text", ""
    for line in text.splitlines():
        stripped = line.strip()
        if match := _FIELD.match(stripped):
            part, current = "parameters", match["name"]
            notes[current] = match["text"]
        elif _SECTION.fullmatch(stripped):
            part, current = "parameters", ""
        elif _END.match(stripped):
            part = "result"
        elif part == "text" or (stripped and not line[0].isspace()):
            part = "text"
            description.append(line)
        elif part == "parameters" and (match := _ENTRY.match(stripped)) and not _is_deeper(line):
            current = match["name"]
            notes[current] = match["text"]
        elif part == "parameters" and current and stripped:
            notes[current] += f" {stripped}"
    return "\n".join(description).strip(), notes


def _is_deeper(line: str) -> bool:
    return len(line) - len(line.lstrip()) > 4
