"""The contract of a tool."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from agent_env.errors import ToolError
from agent_env.foreign_calls import Overdue, call
from agent_env.protocols import Supplies, Tool, ToolDeclaration
from agent_env.records.schema import ToolResult, ToolSpec
from agent_env.records.tool_traits import ToolTraits
from agent_env.registry import PluginEntry
from agent_env.runs.waiting import wait_for
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.tasks.tool_registry import TOOLS
from agent_env.testing.fakes import FakeSearch, MemoryPages, raise_findings, raised
from agent_env.wiring.trust import own_call

Arguments = Mapping[str, Any]
WRONG: Mapping[str, object] = {
    "array": [[{}]], "object": {"no such": []}, "string": "no such value", "null": None,
}  # fmt: skip
"""Values that fit no other type, not even where numbers in texts are taken."""


def check_tool(
    tool: ToolDeclaration | Callable[..., Any] | str,
    *,
    arguments: Sequence[Arguments] = (),
    supplies: Supplies | None = None,
) -> None:
    """Checks a tool, given itself or by its NAME, MODULE:NAME or file.py:NAME.

    Its spec is what models take; wrong arguments are a ToolError; each of `arguments`, which are to
    be right, gives a text within the time and the output limit that its traits declare; state is
    declared.

    `supplies`: what a tool with `needs_web`, `needs_sandbox` or `needs_table` gets; by default an
    empty web and an unsafe subprocess.
    """
    if isinstance(tool, str):
        declaration = TOOLS.find(tool, own_call())
    else:
        name = getattr(tool, "__name__", type(tool).__name__)
        declaration = TOOLS.adapted(tool, PluginEntry(TOOLS.kind, name, name, None))
    traits = declaration.traits
    findings = wait_for(_all(_findings(declaration, supplies or Supplies(), arguments)))
    raise_findings(f"tool {traits.name}", findings)


async def _all(findings: AsyncIterator[str]) -> list[str]:
    return [finding async for finding in findings]


async def _findings(
    declaration: ToolDeclaration, supplies: Supplies, arguments: Sequence[Arguments]
) -> AsyncIterator[str]:
    traits = declaration.traits
    reads = declaration.reads or (lambda table: True)
    supplies = replace(supplies, tables=tuple(filter(reads, supplies.tables)))
    if traits.needs_table and not supplies.tables:
        yield f"it needs {traits.needs_table}; pass supplies=Supplies(tables=…)"
        return
    async with AsyncExitStack() as stack:
        if traits.needs_web:
            search, fetcher = supplies.search or FakeSearch({}), supplies.fetcher or MemoryPages()
            supplies = replace(supplies, search=search, fetcher=fetcher)
        if traits.needs_sandbox and supplies.sandbox is None:
            backend = await stack.enter_async_context(UnsafeSubprocess(SandboxLimits(), own_call()))
            session = await stack.enter_async_context(backend.session())
            supplies = replace(supplies, sandbox=session)
        try:
            tools = [declaration.open(supplies) for _ in range(1 + 2 * len(arguments))]
        except Exception as exc:  # the code of others
            yield f"it cannot be opened: {raised(exc)}"
            return
        first = tools[0]
        for finding in _of_spec(first.spec, traits):
            yield finding
        for wrong in _wrong_arguments(first.spec):
            if (defect := await _refusal(first, traits, wrong)) is not None:
                yield defect
        for at, values in enumerate(arguments):
            for finding in await _of_call(tools[1 + 2 * at :], traits, values):
                yield finding
        for each in tools:
            if (close := getattr(each, "close", None)) is not None:
                close()


def _of_spec(spec: ToolSpec, traits: ToolTraits) -> Iterator[str]:
    if spec.name != traits.name:
        yield f"its spec is called {spec.name}; give spec and traits one name"
    if not spec.description.strip():
        yield "its spec has no description; models choose tools by it"
    if spec.parameters.get("type") != "object":
        yield 'its parameters are not a JSON schema of type "object"; make them by tool_spec'


def _wrong_arguments(spec: ToolSpec) -> Iterator[Arguments]:
    """Arguments against the schema: none where some are required, one of another name, and for each
    a value of another type."""
    fields: Any = spec.parameters.get("properties", {})
    right = {name: _fitting(field) for name, field in fields.items()}
    if spec.parameters.get("required"):
        yield {}
    if spec.parameters.get("additionalProperties") is False:
        yield {**right, "no_such_argument": 1}
    for name, field in fields.items():
        types = _types(field)
        if types and (values := [value for kind, value in WRONG.items() if kind not in types]):
            yield {**right, name: values[0]}


def _types(field: Mapping[str, Any]) -> set[str]:
    """The JSON types of a field; none where the schema does not say."""
    options = [field, *field.get("anyOf", ())]
    if any("$ref" in each or "allOf" in each or "oneOf" in each for each in options):
        return set()
    types = [each.get("type", ()) for each in options]
    return {name for each in types for name in ([each] if isinstance(each, str) else each)}


def _fitting(field: Mapping[str, Any]) -> object:
    values: dict[str, object] = {"integer": 1, "number": 1.0, "boolean": True, "array": []}
    known = [value for kind, value in values.items() if kind in _types(field)]
    return field.get("default", known[0] if known else "text")


async def _refusal(tool: Tool, traits: ToolTraits, wrong: Arguments) -> str | None:
    """What is wrong with how it takes wrong arguments; None for a ToolError with a text."""
    try:
        result = await call("a tool", traits.timeout_s, tool.run, dict(wrong))
    except ToolError as exc:
        text = str(exc).strip()
        return None if text else f"arguments {wrong} are refused without a text; say what to do"
    except Exception as exc:  # the code of others
        return f"arguments {wrong} raised {raised(exc)}; raise a ToolError that says what to do"
    return (
        f"arguments {wrong} do not fit its schema and gave {result.output[:60]!r}; "
        "raise a ToolError (parse_arguments does)"
    )


async def _of_call(tools: Sequence[Tool], traits: ToolTraits, values: Arguments) -> list[str]:
    """What is wrong with a right call, made twice and once more in another episode."""
    outputs = []
    for each in (tools[0], tools[0], tools[1]):
        try:
            result = await call("a tool", traits.timeout_s, each.run, dict(values))
        except Overdue:
            return [f"arguments {values} gave nothing within its {traits.timeout_s:g} s"]
        except Exception as exc:  # the code of others
            return [f"arguments {values}, which are right, raised {raised(exc)}"]
        if not isinstance(result, ToolResult):
            return [f"arguments {values} gave a {type(result).__name__}; give a ToolResult"]
        outputs.append(result.output)
    findings = []
    if not outputs[0].strip():
        findings.append(f"arguments {values} gave an empty text; say that there is nothing")
    if len(outputs[0]) > traits.output_limit:
        findings.append(
            f"arguments {values} gave {len(outputs[0]):,} characters, of which models get "
            f"{traits.output_limit:,}; give less, or raise output_limit"
        )
    if outputs[0] == outputs[2] != outputs[1] and not traits.keeps_state:
        findings.append(
            f"arguments {values} give something else the second time; declare keeps_state, so that "
            "resume runs earlier calls again"
        )
    return findings
