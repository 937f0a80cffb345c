"""A tool made of a function: its type hints are the schema, its docstring is what the model reads.

    @tool
    async def almanac(city: str, month: int) -> str:
        "Mean temperature of a city in a month, in degrees Celsius."

A class with a `__call__` is a tool with a state of its own in each episode. With `sandboxed` the
function's source runs in the episode's sandbox instead of this process.

One that runs in the episode's sandbox is alone: its source is sent there, and its arguments; it
imports what it needs in its body, takes and gives what JSON has, and is not a coroutine.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent
from types import TracebackType
from typing import Any, Self, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo
from pydantic_core import to_json

from agent_env.errors import ConfigError, SandboxError
from agent_env.foreign_calls import call
from agent_env.protocols import Sandbox, Supplies, Tool, ToolDeclaration
from agent_env.records.schema import ExecResult, ToolResult, ToolSpec
from agent_env.records.tool_traits import ToolTraits
from agent_env.tools.toolbox import parse_arguments, tool_spec


@dataclass(frozen=True, slots=True)
class FunctionTool(ToolDeclaration):
    """The declaration of a tool that is a function, and still the function."""

    __wrapped__: Callable[..., Any] = lambda: None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)


Function = Callable[..., Any]


@overload
def tool(function: Function, /) -> FunctionTool: ...


@overload
def tool(
    *,
    name: str | None = None,
    timeout_s: float = 30.0,
    output_limit: int = 20_000,
    keeps_state: bool | None = None,
    sandboxed: bool = False,
    shows_web: bool = False,
    gives_dates: bool = False,
) -> Callable[[Function], FunctionTool]: ...


def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    timeout_s: float = 30.0,
    output_limit: int = 20_000,
    keeps_state: bool | None = None,
    sandboxed: bool = False,
    shows_web: bool = False,
    gives_dates: bool = False,
) -> FunctionTool | Callable[[Function], FunctionTool]:
    """The function as a tool; ConfigError where a parameter has no type hint, or the function no
    docstring. The traits are those of `ToolTraits`; a class keeps state unless it says otherwise.
    """
    if function is None:
        return lambda each: tool_of(
            each,
            ToolTraits(
                name=name or each.__name__,
                timeout_s=timeout_s,
                output_limit=output_limit,
                keeps_state=inspect.isclass(each) if keeps_state is None else keeps_state,
                needs_sandbox=sandboxed,
                shows_web=shows_web,
                gives_dates=gives_dates,
            ),
        )
    if not getattr(function, "__name__", "").isidentifier():
        raise ConfigError(f"a {type(function).__name__} has no name; write a function or a class")
    traits = ToolTraits(name=function.__name__, keeps_state=inspect.isclass(function))
    return tool_of(function, traits)


def tool_of(function: Function, traits: ToolTraits) -> FunctionTool:
    signature = signature_of(function)
    spec = tool_spec(traits.name, signature.description, signature.arguments)
    if traits.needs_sandbox:
        source = source_of(function)

        def open_in_sandbox(supplies: Supplies) -> Tool:
            assert supplies.sandbox is not None  # a tool that needs one gets it
            inner = SandboxedFunction(supplies.sandbox, source, traits.timeout_s)
            return _InSandbox(inner, signature, spec)

        return FunctionTool(traits, open_in_sandbox, None, function)

    def open_here(supplies: Supplies) -> Tool:
        target: Any = function() if inspect.isclass(function) else function
        return _Here(target, signature, spec, traits.timeout_s)

    return FunctionTool(traits, open_here, None, function)


class _Here:
    """Calls the function in this process."""

    keeps_time = True

    def __init__(
        self, function: Function, signature: Signature, spec: ToolSpec, timeout_s: float
    ) -> None:
        self._function = function
        self._timeout_s = timeout_s
        self._signature = signature
        self.spec = spec

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        request = parse_arguments(self._signature.arguments, arguments)
        values = self._signature.values_of(request)
        function: Any = self._function
        target = function if inspect.isroutine(function) else function.__call__
        value = await call(self.spec.name, self._timeout_s, _bound(target, values))
        return value if isinstance(value, ToolResult) else ToolResult(output=as_text(value))

    def close(self) -> None:
        if (close := getattr(self._function, "close", None)) is not None:
            close()


class _InSandbox:
    """Calls the function in the episode's sandbox."""

    def __init__(self, inner: SandboxedFunction, signature: Signature, spec: ToolSpec) -> None:
        self._inner = inner
        self._signature = signature
        self.spec = spec

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        request = parse_arguments(self._signature.arguments, arguments)
        return await self._inner.run(request.model_dump(mode="json"))


def _bound(function: Function, values: dict[str, Any]) -> Function:
    if inspect.iscoroutinefunction(function):

        async def later() -> Any:
            return await function(**values)

        return later
    return lambda: function(**values)


def as_text(value: Any) -> str:
    """A function's value as the model reads it: a text as it is, nothing as such, else JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "(no output)"
    return to_json(value, fallback=str).decode()


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
    parameters = list(inspect.signature(called).parameters.values())
    if parameters and parameters[0].name == "self":
        del parameters[0]
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    for each in parameters:
        if each.kind not in by_name:
            raise ConfigError(f"{where}: parameter '{each.name}' cannot be given by name")
        if each.name.startswith("_"):
            raise ConfigError(f"{where}: parameter '{each.name}' begins with an underscore")
    for parameter in parameters:
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


def place(function: Callable[..., Any]) -> str:
    """FILE:LINE and the function's name, for users."""
    try:
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (OSError, TypeError):
        return function.__name__
    return f"{file}:{line}: {function.__name__}"


def docstring_parts(text: str) -> tuple[str, dict[str, str]]:
    """What is before the parameters, and a text for each parameter that has one: below `Args:`,
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


def source_of(function: Callable[..., Any]) -> str:
    """Its definition without decorators and type hints, which need names that are not there."""
    if inspect.isclass(function) or inspect.iscoroutinefunction(function):
        raise ConfigError(f"{function.__name__}: a sandboxed tool is a plain def")
    try:
        tree = ast.parse(dedent(inspect.getsource(function)))
    except (OSError, SyntaxError) as exc:
        raise ConfigError(f"{function.__name__}: its source cannot be read: {exc}") from exc
    (definition,) = tree.body
    if not isinstance(definition, ast.FunctionDef):
        raise ConfigError(f"{function.__name__}: a sandboxed tool is a plain def")
    definition.decorator_list, definition.returns, definition.name = [], None, "_tool"
    for each in [*definition.args.args, *definition.args.kwonlyargs]:
        each.annotation = None
    return ast.unparse(definition)


class SandboxedFunction:
    """Calls the function in a session; defined anew each time, as a session may be lost."""

    def __init__(self, sandbox: Sandbox, source: str, timeout_s: float) -> None:
        self._sandbox = sandbox
        self._source = source
        self._timeout_s = timeout_s

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """The function's value; its error is the model's to read."""
        args = json.dumps(json.dumps(arguments))
        code = f"{self._source}\nimport json as _json\n_value = _tool(**_json.loads({args}))\n" + (
            "print(_value if isinstance(_value, str) else "
            "_json.dumps(_value, ensure_ascii=False, default=str))"
        )
        result = await self._sandbox.run(code, self._timeout_s)
        text = result.stdout.rstrip("\n")
        if result.status == "ok":
            return ToolResult(output=text, duration_s=result.duration_s)
        problem = (result.error or result.status).strip().rsplit("\n", 1)[-1]
        return ToolResult(
            output=f"Error: {problem}", error=f"{result.status}: {problem}",
            duration_s=result.duration_s,
        )  # fmt: skip


CHUNK = 100_000
"""Characters of setup code sent in one call; sandboxes bound the code of a call."""


class Prepared:
    """Runs the setup before the first call of a session, unseen by the model. Closing the session
    is left to whoever opened it."""

    def __init__(self, inner: Sandbox, setup: str, timeout_s: float) -> None:
        self._inner = inner
        self._setup = setup
        self._timeout_s = timeout_s
        self._ready = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    async def run(self, code: str, timeout_s: float) -> ExecResult:
        """What the code did; SandboxError where the setup could not be run."""
        if not self._ready:
            # A name of its own holds the text until it is whole
            starts = range(0, len(self._setup), CHUNK)
            parts = [json.dumps(self._setup[at : at + CHUNK]) for at in starts]
            codes = ["_setup = ''", *(f"_setup += {part}" for part in parts), "exec(_setup)"]
            for piece in [*codes, "del _setup"] if len(parts) > 1 else [self._setup]:
                done = await self._inner.run(piece, self._timeout_s)
                if done.status != "ok":
                    raise SandboxError(f"the session could not be prepared: {done.error}")
            self._ready = True
        result = await self._inner.run(code, timeout_s)
        self._ready = result.status in ("ok", "error")
        return result
