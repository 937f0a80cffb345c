"""Gemini's API as our own client speaks it, and what it refuses."""

import pytest

from agent_env.models.apis import google
from agent_env.models.client import ApiModel
from agent_env.models.settings import Parameters
from agent_env.records.schema import Message, ToolSpec
from agent_env.wiring.trust import own_call
from tests.fake_server import FakeServer, ScriptedAnswer
from tests.fake_server.talk import agent, always, at_server, to_the_end

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH = ToolSpec(name="web_search", description="Searches.", parameters=SCHEMA)
NAMED = {"name": "web_search", "description": "Searches."}
DECLARED = {"functionDeclarations": [NAMED | {"parametersJsonSchema": SCHEMA}]}
QUESTION = {"role": "user", "parts": [{"text": "Which day was it?"}]}
MODEL = "gemini-3-pro-preview"


def talk(script, policy=agent, mode="gemini"):
    """Runs `script(ask)`; `ask` sends a request by plain HTTP."""
    path, head = f"/v1beta/models/{MODEL}:generateContent", {"x-goog-api-key": "k"}
    return at_server(lambda post: script(lambda body: post(path, body, head)), policy, mode)


def results(content):
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    found = {"response": {"result": "found"}}
    named = [{name: call[name] for name in ("id", "name") if name in call} for call in calls]
    return {"role": "user", "parts": [{"functionResponse": each | found} for each in named]}


async def conversation(post, change=lambda content: None):
    """Asks to the end, sending back what came through `change`; gives the last response."""
    contents = [QUESTION]
    while (response := await post({"contents": contents, "tools": [DECLARED]})).status_code == 200:
        content = response.json()["candidates"][0]["content"]
        if not any("functionCall" in part for part in content["parts"]):
            break
        change(content)
        contents = [*contents, content, results(content)]
    return response


@pytest.mark.parametrize("stream", [False, True])
async def test_our_own_client_keeps_every_signature(stream):
    async with FakeServer(agent, mode="gemini") as server:
        url = server.url.replace("/v1", "/v1beta")
        model = ApiModel(
            google.API, "n", MODEL, url, "k", Parameters(), 5.0, stream, permit=own_call()
        )
        question = Message(role="user", content="Which day was it?")
        replies = await to_the_end(model, [question], [SEARCH], "found" * 2000)
    assert [len(each.message.tool_calls) for each in replies] == [2, 1, 0]
    assert replies[-1].message.content == "Friday"
    assert all(each.message.reasoning and each.usage.reasoning_tokens for each in replies)
    assert replies[0].usage.cached_tokens is None
    assert replies[-1].usage.cached_tokens > 4000


def test_a_call_of_this_turn_without_its_signature_or_with_another_is_refused():
    def drop(content):
        for part in content["parts"]:
            part.pop("thoughtSignature", None)

    def change(content):
        for part in content["parts"]:
            if "thoughtSignature" in part:
                part["thoughtSignature"] = "AAAA"

    def mark(content):
        drop(content)
        content["parts"][-1]["functionCall"].pop("id")
        calls = [part for part in content["parts"] if "functionCall" in part]
        calls[0]["thoughtSignature"] = "skip_thought_signature_validator"

    missing = talk(lambda post: conversation(post, drop))
    assert missing.status_code == 400
    assert "`default_api:web_search` , position 2" in missing.json()["error"]["message"]
    corrupted = talk(lambda post: conversation(post, change))
    assert corrupted.json()["error"] == {
        "code": 400, "message": "Corrupted thought signature.", "status": "INVALID_ARGUMENT"
    }  # fmt: skip
    assert talk(lambda post: conversation(post, mark)).status_code == 200
    assert talk(lambda post: conversation(post, drop), mode="lenient").status_code == 200


CALL = {"functionCall": {"name": "web_search", "args": {"query": "a"}}}
ANSWERED = {"functionResponse": {"name": "web_search", "response": {"result": "x"}}}


def turns(*contents):
    return [{"role": role, "parts": list(parts)} for role, *parts in contents]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"contents": []}, "contents is not specified"),
        ({"contents": turns(("system", {"text": "x"}))}, "valid role: user, model"),
        ({"contents": turns(("model", {"text": "x"}))}, "begin and end with a user role"),
        ({"contents": [QUESTION, *turns(("model", CALL, CALL), ("user", ANSWERED))]},
         "number of function response parts"),
        ({"contents": [QUESTION, *turns(("model", CALL), ("user", {"text": "x"}))]},
         "number of function response parts"),
        ({"contents": [{"parts": [{"text": "x", "reasoning": "y"}]}]},
         "Unknown name \"reasoning\" at 'parts'"),
        ({"messages": []}, 'Unknown name "messages" at'),
        ({"generationConfig": {"max_tokens": 1}}, "Unknown name \"maxTokens\""),
    ],
)  # fmt: skip
def test_what_the_documents_forbid_is_refused(change, words):
    body = {"contents": [QUESTION], "tools": [DECLARED]} | change
    response = talk(lambda post: post(body), always(ScriptedAnswer("x")))
    error = response.json()["error"]
    assert (response.status_code, error["status"]) == (400, "INVALID_ARGUMENT")
    assert words in error["message"]
