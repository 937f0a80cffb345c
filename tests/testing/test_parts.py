"""Search providers, sandboxes and models of ours keep the contract; one that breaks it is told how.

The hostile suite (tests/sandbox) goes further with the sandboxes that contain.
"""

from functools import partial

import httpx
import pytest

import agent_env as ae
from agent_env import testing
from agent_env.errors import ModelError
from agent_env.records.pages import Hit
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_call, own_plugins
from tests.commands import serving
from tests.fake_server import FakeServer, model_policy
from tests.testing.test_tool import breaches
from tests.web.providers.services import NAMES, Service, provider_at, reply, two_results


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
