"""Tools, search providers, sandboxes and models of ours keep the contract; one that breaks it is
told how. The hostile suite (tests/sandbox) goes further with the sandboxes that contain."""

from functools import partial

import httpx
import pytest

import agent_env as ae
from agent_env import testing
from agent_env.errors import ModelError
from agent_env.protocols import Supplies, ToolDeclaration
from agent_env.records.pages import Hit
from agent_env.records.schema import ExecResult, MaterialTable
from agent_env.records.tool_traits import ToolTraits
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.tasks.tool_registry import tool_names
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_call, own_plugins
from tests.commands import serving
from tests.fake_server import FakeServer, model_policy
from tests.web.providers.services import NAMES, Service, provider_at, reply, two_results


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


@pytest.mark.parametrize("name", NAMES)
def test_each_live_provider_conforms(name):
    class AtItsService:
        """Asks a server that gives two results to everything."""

        async def search(self, query, limit):
            async with (
                Service([reply(two_results(name))]) as service,
                httpx.AsyncClient(verify=False) as http,
            ):
                return await provider_at(name, service.url, http=http).search(query, limit)

    testing.check_search(AtItsService)


def test_the_fake_conforms():
    testing.check_search(
        testing.FakeSearch({"moon": [Hit(url="https://a.example/", title="A", snippet="")]})
    )


def test_a_provider_is_told_of_each_breach():
    class Odd:
        name = "odd"

        async def search(self, query, limit):
            if not query:
                raise KeyError(query)
            return [Hit(url="a", title="", snippet="", published="May")] * (2 if limit == 1 else 1)

    lines = breaches(testing.check_search, Odd())
    assert lines[:4] == [
        "search provider odd: query 'moon': 'a' is not an http address and cannot be opened",
        "search provider odd: query 'moon': a has no title; give its address where there is none",
        "search provider odd: query 'moon': a is of 'May'; write YYYY-MM-DD, or None",
        "search provider odd: query 'moon' gave 2 hits where 1 were asked for",
    ]
    assert lines[4].startswith("search provider odd: query '' raised KeyError: '' at ")
    assert lines[4].endswith("raise a ToolError where the model can mend it, else a SearchError")


def test_the_unsafe_one_does_all_but_contain():
    testing.check_sandbox(partial(UnsafeSubprocess, permit=own_call()), contains=False)


def test_a_sandbox_is_told_of_each_breach():
    class Forgetful(testing.FakeSandbox):
        name = "forgetful"

        def session(self):
            return testing.FakeSandbox()

    lines = breaches(testing.check_sandbox, Forgetful(), contains=False)
    assert lines[0] == (
        "sandbox forgetful: `mark + 1` is to give value 21, from the call before; it gave {}"
    )
    assert "`while True: pass` is to give status timeout; it gave {}" in lines[5]
    assert lines[-1] == "sandbox forgetful: a second session sees the variables of the first"


def test_namespaces_contain():
    try:
        testing.check_sandbox("namespaces")
    except testing.Nonconformance as exc:
        if "it failed: " in str(exc):
            pytest.skip(f"namespaces do not open here: {exc}")
        raise


ANSWERS = testing.ScriptedModel([testing.answer("2000")])


@pytest.mark.parametrize("name", ["openai/fake", "compatible/fake"])
def test_both_apis_conform_with_a_server_and_without(name, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "planted-0123456789")
    with serving(FakeServer(model_policy(ANSWERS))) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        own = url if name.startswith("compatible") else None
        model = make_model(name, own, {}, own_plugins())
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/nowhere")
        refused = make_model(name, own and f"{url}/nowhere", {}, own_plugins())
        testing.check_model(model, failing=refused)


def test_functions_and_scripts_conform():
    async def guess(messages):
        return "Monday"

    testing.check_model(guess)
    testing.check_model("reference")
    failing = testing.ScriptedModel([ModelError("the server is full", kind="server")])
    testing.check_model(ANSWERS, failing=failing)


def test_a_model_is_told_of_each_breach():
    class Odd:
        name = "odd"

        async def generate(self, messages, tools, options):
            if not tools:
                return testing.calls(("look_up", "[]"))
            return "2000" if options.tool_choice == "none" else testing.answer("")

    async def breaks(messages):
        raise ModelError("no idea")

    assert breaches(testing.check_model, Odd(), failing=breaks) == [
        "model odd: without tools it calls look_up, which is not offered",
        "model odd: without tools the arguments '[]' are no JSON object",
        "model odd: after a tool's result it calls look_up, which is not offered",
        "model odd: after a tool's result the arguments '[]' are no JSON object",
        "model odd: with tools the reply is empty; raise a ModelError of kind 'unreadable' instead",
        "model odd: with tools that it may not call it gave a str; give a Reply",
        "model odd: its failure has the kind None; say one of rate_limit, timeout, connection, "
        "server, authentication, bad_request, context_overflow, unreadable",
    ]


def test_a_reply_that_no_trace_can_hold_is_found():
    message = ae.Message(role="assistant", content="\ud800")
    lines = breaches(testing.check_model, testing.ScriptedModel([ae.Reply(message=message)]))
    assert "no trace can hold the reply" in lines[0]
