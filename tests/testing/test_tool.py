"""Every tool of ours keeps the contract, and one that breaks it is told how."""

import pytest

import agent_env as ae
from agent_env import testing
from agent_env.protocols import Supplies, ToolDeclaration
from agent_env.records.schema import ExecResult, MaterialTable
from agent_env.records.tool_traits import ToolTraits
from agent_env.tasks.tool_registry import tool_names


def breaches(check, *given, **how):
    """The lines of the check."""
    with pytest.raises(testing.Nonconformance) as caught:
        check(*given, **how)
    return str(caught.value).splitlines()


EVENTS = MaterialTable(
    name="events",
    columns=("event", "subject", "location", "time"),
    rows=(("tea", "Ann", "garden", "2023-01-02T10:00:00+00:00"),),
)
TERMS = MaterialTable(
    name="terms", columns=("name", "start", "end"), rows=(("tea", "2023-01-02", "2023-01-03"),)
)
URL = "https://a.example/"
OWN = {
    "calendars": ({"operation": "describe", "date": "2000-02-29"}, None),
    "open_page": ({"url": URL}, Supplies(fetcher=testing.MemoryPages([testing.page(URL, "x")]))),
    "python": ({"code": "1"}, Supplies(sandbox=testing.FakeSandbox([ExecResult(value="1")] * 9))),
    "query_events": ({"operation": "count"}, Supplies(tables=(EVENTS,))),
    "sql": ({"query": "select name from terms"}, Supplies(tables=(TERMS,))),
    "web_search": ({"query": "moon"}, None),
}


@pytest.mark.parametrize("name", tool_names())
def test_our_tools_conform(name):
    assert name in OWN, f"add arguments to try {name} with to OWN"
    arguments, supplies = OWN[name]
    testing.check_tool(name, arguments=[arguments], supplies=supplies)


def test_a_function_conforms_as_a_tool():
    @ae.tool
    def double(number: int, unit: str = "m") -> str:
        """Twice the number."""
        return f"{2 * number} {unit}"

    testing.check_tool(double, arguments=[{"number": 3}])


def test_a_tool_is_told_of_each_breach():
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    class Echo:
        spec = ae.ToolSpec(name="echoes", description=" ", parameters=schema)
        calls = 0

        async def run(self, arguments):
            self.calls += 1
            return ae.ToolResult(output=f"{arguments['text']} {self.calls}")

    declaration = ToolDeclaration(ToolTraits(name="echo", output_limit=2), lambda supplies: Echo())
    lines = breaches(testing.check_tool, declaration, arguments=[{"text": "abc"}])
    assert lines[:2] == [
        "tool echo: its spec is called echoes; give spec and traits one name",
        "tool echo: its spec has no description; models choose tools by it",
    ]
    assert lines[2].startswith("tool echo: arguments {} raised KeyError: 'text' at ")
    assert lines[3].startswith("tool echo: arguments {'text': [[{}]]} do not fit its schema")
    assert "gave 5 characters, of which models get 2; give less" in lines[4]
    assert "something else the second time; declare keeps_state" in lines[5]
    assert len(lines) == 6
