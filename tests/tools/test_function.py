"""Tools made of functions: what models are told of them, what they may send, what they get."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agent_env.errors import ConfigError, EpisodeError, SandboxError
from agent_env.protocols import Supplies
from agent_env.records.schema import ExecResult, ToolCall, ToolResult
from agent_env.records.tool_traits import ToolTraits
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.testing import FakeSandbox
from agent_env.tools.function import CHUNK, Prepared, docstring_parts, tool
from agent_env.tools.toolbox import ToolSet, open_plugin
from agent_env.wiring.trust import own_call
from tests.loops import in_loop


@tool
async def almanac(city: str, month: Annotated[int, Field(ge=1, le=12)] = 1) -> str:
    """Mean temperature of a city in a month.

    In degrees Celsius.

    Args:
        city: Its English name,
            without the country.
        month: 1 to 12.

    Returns:
        A number.
    """
    return f"{city} {month}"


def opened(declaration, **traits):
    own = declaration.traits.model_copy(update={"path": "here", **traits})
    return ToolSet([open_plugin(declaration, own, Supplies())])


def call(tools, arguments=""):
    name = tools.specs[0].name
    made = ToolCall(id="1", name=name, arguments=arguments)
    return asyncio.run(tools.run(made, frozenset([name])))


def test_hints_and_docstring_are_what_the_model_reads():
    (spec,) = opened(almanac).specs
    assert spec.name == "almanac"
    assert spec.description == "Mean temperature of a city in a month.\n\nIn degrees Celsius."
    city = {"description": "Its English name, without the country.", "type": "string"}
    bounds = {"maximum": 12, "minimum": 1, "default": 1}
    month = {"description": "1 to 12.", "type": "integer"} | bounds
    assert spec.parameters == {
        "additionalProperties": False,
        "properties": {"city": city, "month": month},
        "required": ["city"],
        "type": "object",
    }


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ('{"city": "Oslo"}', "Oslo 1"),
        ('{"city": "Oslo", "month": 13}', "Error: wrong arguments: month: Input should be less"),
        ("{}", "Error: wrong arguments: city: Field required"),
        ('{"city": "Oslo", "year": 1}', "Error: wrong arguments: year: Extra inputs are not perm"),
        ("{", "Error: the arguments are not valid JSON"),
    ],
)
def test_bad_arguments_are_told_like_those_of_our_own_tools(arguments, output):
    assert call(opened(almanac), arguments).output.startswith(output)


class Colour(Enum):
    RED = "red"


class Place(BaseModel):
    name: str


@dataclass
class Reading:
    at: date
    value: float


def test_any_type_that_json_has_a_schema_for_may_be_a_parameter_or_a_value():
    @tool
    def read(
        day: date, place: Place, colour: Colour, kind: Literal["a", "b"], more: list[int] | None
    ) -> Reading:
        """Read."""
        assert (place.name, colour, kind, more) == ("x", Colour.RED, "a", None)
        return Reading(day, 0.5)

    text = '{"day": "2000-02-29", "place": {"name": "x"}, "colour": "red", "kind": "a", "more": nu'
    assert call(opened(read), text + "ll}").output == '{"at":"2000-02-29","value":0.5}'


@pytest.mark.parametrize(
    ("value", "output"),
    [("text", "text"), (None, "(no output)"), (5, "5"), (["é"], '["é"]'),
     (ToolResult(output="own"), "own")],
)  # fmt: skip
def test_values_become_text(value, output):
    def give() -> Any:
        """Give."""
        return value

    assert call(opened(tool(give))).output == output


def test_a_plain_function_runs_beside_the_loop():
    def where() -> str:
        """Where."""
        return threading.current_thread().name

    assert call(opened(tool(where))).output == "agent-env plug-in"


def test_long_output_is_cut_and_says_so():
    def much() -> str:
        """Much."""
        return "x" * 1001

    text = call(opened(tool(output_limit=1000)(much))).output
    assert text == "x" * 1000 + "\n[The output has 1,001 characters; these are the first 1,000.]"


def wait_long() -> None:
    """Wait."""
    time.sleep(3)  # the line


async def wait_async() -> None:
    """Wait."""
    await asyncio.sleep(30)  # the line


async def never_gives_up() -> None:
    """Wait."""
    for _ in range(3):
        try:
            await asyncio.sleep(0.5)  # the line
        except asyncio.CancelledError:
            continue


@pytest.mark.parametrize("function", [wait_long, wait_async, never_gives_up])
def test_what_takes_too_long_is_told_with_the_line(function):
    result = call(opened(tool(timeout_s=0.05)(function)))
    told = f"{function.__name__} gave nothing within 0.05 s"
    assert result.output == f"Error: {told}"
    lines = enumerate(Path(__file__).read_text().splitlines(), 1)
    begin = next(n for n, line in lines if f"def {function.__name__}" in line)
    at = next(n for n, line in lines if n > begin and "# the line" in line)
    assert result.error == f"{told}; it stood at {__file__}:{at}"


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(3), StopIteration(), TimeoutError()])
def test_what_it_raises_ends_the_episode_with_its_name(error):
    def fail() -> None:
        """Fail."""
        raise error

    with pytest.raises(EpisodeError, match=r"the tool fail \(here\) raised .") as raised:
        call(opened(tool(fail)))
    assert not str(raised.value).endswith(" raised ")


class Counter:
    """Count calls."""

    def __init__(self):
        self.count = 0

    def __call__(self, step: int = 1) -> int:
        self.count += step
        return self.count


def test_a_class_has_a_state_of_its_own_in_each_episode():
    declaration = tool(name="counter")(Counter)
    assert declaration.traits.keeps_state
    first, second = opened(declaration), opened(declaration)
    assert [call(first, '{"step": 2}').output for _ in range(2)] == ["2", "4"]
    assert call(second).output == "1"


def no_docstring(x: int) -> None: ...


def no_hint(x) -> None:  # type: ignore[no-untyped-def]
    """Doc."""


def several(*x: int) -> None:
    """Doc."""


def by_place(x: int, /) -> None:
    """Doc."""


def no_schema(x: ToolSet) -> None:
    """Doc."""


def unknown(x: Unknown) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Doc."""


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (no_docstring, "it has no docstring, which models read"),
        (no_hint, "parameter 'x' has no type hint"),
        (several, "parameter 'x' cannot be given by name"),
        (by_place, "parameter 'x' cannot be given by name"),
        (no_schema, "its parameters have no JSON schema"),
        (unknown, "its type hints cannot be read: name 'Unknown' is not defined"),
    ],
)
def test_a_function_that_says_too_little_is_refused_by_its_line(function, told):
    with pytest.raises(ConfigError) as raised:
        tool(function)
    assert str(raised.value).startswith(f"{__file__}:")
    assert f"{function.__name__}: {told}" in str(raised.value)


@pytest.mark.parametrize(
    ("docstring", "parts"),
    [
        (
            "Do.\n\n:param x: The x.\n:param int y: y,\n  whole.\n:return: z",
            ("Do.", {"x": "The x.", "y": "y, whole."}),
        ),
        ("Do.\n\nArgs:\n    x (int): The x.\n\nMore text.", ("Do.\n\nMore text.", {"x": "The x."})),
    ],
)
def test_parameters_are_found_in_both_styles_of_docstrings(docstring, parts):
    assert docstring_parts(docstring) == parts


@tool(sandboxed=True, timeout_s=20)
def power(base: int, exponent: int = 2) -> dict[str, int]:
    """A power."""
    import math

    return {"power": int(math.pow(base, exponent))}


def test_a_sandboxed_function_runs_where_its_traits_say():
    @in_loop
    async def run(arguments):
        backend = UnsafeSubprocess(SandboxLimits(), own_call())
        async with backend, backend.session() as session:
            own = power.traits.model_copy(update={"path": "here"})
            tools = ToolSet([open_plugin(power, own, Supplies(sandbox=session))])
            made = ToolCall(id="1", name="power", arguments=arguments)
            return (await tools.run(made, frozenset(["power"]))).output

    assert power.traits.needs_sandbox
    assert run('{"base": 3}') == '{"power": 9}'
    assert run('{"base": 3, "exponent": 100000}') == "Error: OverflowError: math range error"


def test_a_sandboxed_function_is_sent_without_what_it_cannot_have():
    sandbox = FakeSandbox([ExecResult(stdout="ok\n")])
    declared = open_plugin(power, ToolTraits(name="power", path="p"), Supplies(sandbox=sandbox))
    assert asyncio.run(declared.run({"base": 1})).output == "ok"
    assert sandbox.code[0].startswith("def _tool(base, exponent=2):\n")
    with pytest.raises(ConfigError, match="a sandboxed tool is a plain def"):
        tool(sandboxed=True)(wait_async)


@in_loop
async def prepared(setup, *codes, results=()):
    """What is run in a session that begins with this."""
    sandbox = FakeSandbox(results)
    async with Prepared(sandbox, setup, 5.0) as session:
        for code in codes:
            await session.run(code, 5.0)
    return sandbox.code


def test_the_setup_runs_once_and_again_only_after_a_lost_session():
    assert prepared("x = 1", "x", "x + 1") == ["x = 1", "x", "x + 1"]
    again = prepared(
        "x = 1", "while True: pass", "x", results=[ExecResult(), ExecResult(status="timeout")]
    )
    assert again == ["x = 1", "while True: pass", "x = 1", "x"]
    kept = prepared(
        "x = 1", "y", "x", results=[ExecResult(), ExecResult(status="error", error="NameError")]
    )
    assert kept == ["x = 1", "y", "x"]
    with pytest.raises(SandboxError, match="could not be prepared: SyntaxError"):
        prepared("x =", "x", results=[ExecResult(status="error", error="SyntaxError")])


def test_a_long_setup_goes_in_parts_and_comes_out_whole():
    code = prepared(f"text = {'é' * (2 * CHUNK)!r}", "text")
    assert len(code) > 4
    assert max(map(len, code[:-1])) < 1_000_000
    found = {}
    exec("\n".join(code[:-1]), found)
    assert found["text"] == "é" * (2 * CHUNK)
    assert "_setup" not in found
