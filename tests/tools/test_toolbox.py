"""What a model may send in a call, and what must come back whatever it sends."""

import asyncio

from agent_env.errors import ToolError
from agent_env.records.schema import ToolCall, ToolResult, ToolSpec
from agent_env.tools.toolbox import ToolSet, short_spec

HALF = "\ud800"
"""Half of a surrogate pair: JSON can say it, UTF-8 cannot."""


class Foreign:
    """A tool that passes on what somebody else's server said."""

    spec = ToolSpec(name="foreign", description="", parameters={})

    async def run(self, arguments):
        if arguments:
            raise ToolError(f"no page {HALF}")
        return ToolResult(output=f"a page {HALF}")


def answer(arguments):
    call = ToolCall(id="1", name="foreign", arguments=arguments)
    return asyncio.run(ToolSet([Foreign()]).run(call, frozenset({"foreign"})))


def test_the_short_form_has_one_sentence_and_what_a_call_needs():
    page = {"url": {"type": "string"}, "find": {"type": "string"}}
    spec = ToolSpec(
        name="open", description="Open a page. Long ones come in windows.",
        parameters={"type": "object", "properties": page, "required": ["url"]},
    )  # fmt: skip
    short = short_spec(spec)
    assert (short.description, [*short.parameters["properties"]]) == ("Open a page.", ["url"])
    choice = {"properties": {"operation": {"enum": ["a"]}, "day": {}}, "required": ["operation"]}
    for parameters in (choice, {"type": "object"}):
        spec = spec.model_copy(update={"parameters": parameters})
        assert short_spec(spec) == spec


def test_halves_of_letters_are_replaced_and_arguments_that_are_no_object_told():
    assert answer("{}").output == "a page �"
    assert answer('{"a": 1}').output == "Error: no page �"
    assert answer('{"a": 1}').error == "no page �"
    assert answer('"{}"').error == (
        "the arguments are a string that holds JSON; send the object itself"
    )


def test_null_for_an_optional_argument_is_its_absence():
    class Strict(Foreign):
        spec = ToolSpec(
            name="foreign", description="",
            parameters={"properties": {"a": {}, "b": {"type": "string"}}, "required": ["a"]},
        )  # fmt: skip

        async def run(self, arguments):
            return ToolResult(output=str(arguments))

    def run(arguments):
        call = ToolCall(id="1", name="foreign", arguments=arguments)
        return asyncio.run(ToolSet([Strict()]).run(call, frozenset({"foreign"}))).output

    assert run('{"a": 1, "b": null}') == "{'a': 1}"
    assert run('{"a": null, "b": "x"}') == "{'a': None, 'b': 'x'}"
