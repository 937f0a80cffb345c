"""A model API is one file."""

import sys

import pytest

from agent_env.errors import ConfigError
from agent_env.models import apis
from agent_env.models.api import Api
from agent_env.models.settings import Parameters
from agent_env.protocols import ReplyOptions
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins
from tests.models.raw_server import LOOKUP, USER, RawServer, reply

POLITE = """
from agent_env.models.api import Api, Fault, openai_request
from agent_env.models.chat import text
from agent_env.records.schema import Message, Reply


def _reply(body, exchange):
    if not (said := text(body, "said")):
        return Fault(what="said nothing", answer=body)
    return Reply(message=Message(role="assistant", content=said))


API = Api(
    path="/please",
    request=openai_request(
        lambda question: {"texts": [each.content for each in question.messages]},
        lambda tool: {"called": tool.name},
        lambda question: {"longest": question.parameters.max_output_tokens},
    ),
    whole=lambda events: events[-1],
    reply=_reply,
    refuses={"seed": "the polite API takes no seed"},
    own_url="http://127.0.0.1:1/v1",
    url_variable="POLITE_URL",
    key_variable="POLITE_KEY",
)
"""


@pytest.fixture
def polite(tmp_path, monkeypatch):
    (tmp_path / "polite.py").write_text(POLITE)
    monkeypatch.setattr(apis, "__path__", [*apis.__path__, str(tmp_path)])
    monkeypatch.setenv("POLITE_KEY", "a-polite-key")


@pytest.mark.usefixtures("polite")
async def test_its_requests_and_replies_are_its_own(monkeypatch):
    async with RawServer(reply({"said": "Friday"})) as server:
        monkeypatch.setenv("POLITE_URL", server.url)
        model = make_model("polite/x", None, {"max_output_tokens": 9}, own_plugins())
        got = await model.generate([USER], [LOOKUP], ReplyOptions("required"))
    assert (got.message.content, server.heads[0].split()[1]) == ("Friday", b"/v1/please")
    assert b"Bearer a-polite-key" in server.heads[0]
    assert server.bodies[0] == {
        "model": "x", "texts": ["Which day?"], "tools": [{"called": "lookup"}],
        "tool_choice": "required", "longest": 9,
    }  # fmt: skip


@pytest.mark.usefixtures("polite")
async def test_its_key_goes_in_headers_of_its_own(tmp_path, monkeypatch):
    own = 'headers=lambda key: {"x-key": key, "x-version": "7"}, path='
    (tmp_path / "formal.py").write_text(POLITE.replace("path=", own))
    monkeypatch.delitem(sys.modules, "agent_env.models.apis.formal", raising=False)
    async with RawServer(reply({"said": "Friday"})) as server:
        monkeypatch.setenv("POLITE_URL", server.url)
        await make_model("formal/x", None, {}, own_plugins()).generate([USER], [])
        (head,) = server.heads
    assert b"x-key: a-polite-key" in head
    assert b"x-version: 7" in head
    assert b"authorization" not in head.lower()


@pytest.mark.usefixtures("polite")
@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("polite/x", {"seed": 1}, "the polite API takes no seed"),
        ("rude/x", {}, r"known: .*polite/NAME, openai/NAME, .*compatible/NAME\["),
        ("polite/x", {}, "model polite/x needs a key: set POLITE_KEY"),
        ("gpt-5.2", {}, r"write openai/gpt-5\.2, with your key in OPENAI_API_KEY"),
    ],
)
def test_what_it_does_not_know_is_said(name, parameters, words, monkeypatch):
    if "needs a key" in words:
        monkeypatch.delenv("POLITE_KEY")
    with pytest.raises(ConfigError, match=words):
        make_model(name, None, parameters, own_plugins())


def test_its_path_and_the_fields_of_the_user_are_put_together():
    api = Api(
        path="/v2/models/{model}:say", stream_path="/v2/models/{model}:stream?alt=sse",
        request=lambda parts: {}, whole=lambda events: events[-1], reply=lambda body, heard: body,
    )  # fmt: skip
    assert api.path_for("a b", "http://h", stream=False) == "/v2/models/a%20b:say"
    assert api.path_for("x", "http://h/v2/", stream=True) == "/models/x:stream?alt=sse"
    parameters = Parameters(extra_body={"reasoning": {"summary": "auto"}, "top_k": 3})
    assert parameters.body({"reasoning": {"effort": "low"}, "seed": None}) == {
        "reasoning": {"effort": "low", "summary": "auto"}, "top_k": 3,
    }  # fmt: skip
