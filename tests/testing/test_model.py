"""Models of ours keep the contract, and one that breaks it is told how."""

import pytest

import agent_env as ae
from agent_env.errors import ModelError
from agent_env.testing import Nonconformance, ScriptedModel, answer, calls, check_model
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins
from tests.commands import serving
from tests.fake_server import FakeServer, model_policy

ANSWERS = ScriptedModel([answer("2000")])


@pytest.mark.parametrize("name", ["openai/fake", "compatible/fake"])
def test_both_apis_conform_with_a_server_and_without(name, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "planted-0123456789")
    with serving(FakeServer(model_policy(ANSWERS))) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        own = url if name.startswith("compatible") else None
        model = make_model(name, own, {}, own_plugins())
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/nowhere")
        refused = make_model(name, own and f"{url}/nowhere", {}, own_plugins())
        check_model(model, failing=refused)


def test_functions_and_scripts_conform():
    async def guess(messages):
        return "Monday"

    check_model(guess)
    check_model("reference")
    failing = ScriptedModel([ModelError("the server is full", kind="server")])
    check_model(ANSWERS, failing=failing)


def test_a_model_is_told_of_each_breach():
    class Odd:
        name = "odd"

        async def generate(self, messages, tools, options):
            if not tools:
                return calls(("look_up", "[]"))
            return "2000" if options.tool_choice == "none" else answer("")

    async def breaks(messages):
        raise ModelError("no idea")

    with pytest.raises(Nonconformance) as caught:
        check_model(Odd(), failing=breaks)
    assert str(caught.value).splitlines() == [
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
    with pytest.raises(Nonconformance, match="no trace can hold the reply"):
        check_model(ScriptedModel([ae.Reply(message=message)]))
