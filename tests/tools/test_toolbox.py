"""What a model may send in a call, and what must come back whatever it sends."""

import asyncio

from agent_env.errors import ToolError
from agent_env.records.schema import ToolCall, ToolResult, ToolSpec
from agent_env.testing import FakeTool
from agent_env.tools.toolbox import ToolSet, short_spec

HALF = "\ud800"
"""Half of a surrogate pair: JSON can say it, UTF-8 cannot."""


class Foreign(FakeTool):
    """A tool that passes on what somebody else's server said."""

    async def run(self, arguments):
        if arguments:
            raise ToolError(f"no page {HALF}")
        return ToolResult(output=f"a page {HALF}")


def answer(arguments, tool=None):
    call = ToolCall(id="1", name="foreign", arguments=arguments)
    tools = ToolSet([tool or Foreign("foreign", str)])
    return asyncio.run(tools.run(call, frozenset({"foreign"})))


def test_the_short_form_has_one_sentence_and_what_a_call_needs():
    page = {"url": {"type": "string"}, "find": {"type": "string"}}
    needs = {"type": "object", "properties": page, "required": ["url"]}
    whole = "Open a page. Long ones come in windows."
    spec = ToolSpec(name="open", description=whole, parameters=needs)
    short = short_spec(spec)
    assert (short.description, [*short.parameters["properties"]]) == ("Open a page.", ["url"])
    choice = {"properties": {"operation": {"enum": ["a"]}, "day": {}}, "required": ["operation"]}
    for parameters in (choice, {"type": "object"}):
        spec = spec.model_copy(update={"parameters": parameters})
        assert short_spec(spec) == spec


def test_halves_of_letters_are_replaced_and_arguments_that_are_no_object_told():
    assert answer("{}").output == "a page �"
    refused = answer('{"a": 1}')
    assert (refused.output, refused.error) == ("Error: no page �", "no page �")
    told = "the arguments are a string that holds JSON; send the object itself"
    assert answer('"{}"').error == told


def test_null_for_an_optional_argument_is_its_absence():
    strict = FakeTool("foreign", str)
    properties = {"a": {}, "b": {"type": "string"}}
    parameters = {"properties": properties, "required": ["a"]}
    strict.spec = ToolSpec(name="foreign", description="", parameters=parameters)
    assert answer('{"a": 1, "b": null}', strict).output == "{'a': 1}"
    assert answer('{"a": null, "b": "x"}', strict).output == "{'a': None, 'b': 'x'}"
