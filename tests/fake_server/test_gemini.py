"""Gemini's API as Google's own SDK speaks it, and what it refuses."""

import asyncio

import httpx
import pytest

from agent_env.models.apis import google
from agent_env.models.client import ApiModel
from agent_env.models.settings import Parameters
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, ToolSpec
from agent_env.wiring.trust import own_call
from tests.fake_server import FakeServer, ScriptedAnswer, tool_call
from tests.fake_server.talk import agent, always

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH = ToolSpec(name="web_search", description="Searches.", parameters=SCHEMA)
DECLARED = {
    "functionDeclarations": [
        {"name": "web_search", "description": "Searches.", "parametersJsonSchema": SCHEMA}
    ]
}
QUESTION = {"role": "user", "parts": [{"text": "Which day was it?"}]}
MODEL = "gemini-3-pro-preview"


def served(script, policy=agent, mode="gemini", **options):
    """Runs `script(server)` against a server."""

    async def run():
        async with FakeServer(policy, mode=mode, **options) as server:
            return await script(server)

    return asyncio.run(run())


def talk(script, policy=agent, mode="gemini", model=MODEL, **options):
    """Runs `script(post)`; `post` sends a request by plain HTTP."""

    async def run(server):
        async with httpx.AsyncClient(verify=False) as client:

            async def post(body, key="k"):
                root = server.url.removesuffix("/v1")
                return await client.post(
                    f"{root}/v1beta/models/{model}:generateContent",
                    json=body,
                    headers={} if key is None else {"x-goog-api-key": key},
                )

            return await script(post)

    return served(run, policy, mode, **options)


def results(content):
    return {
        "role": "user",
        "parts": [
            {"functionResponse": {**_named(part["functionCall"]), "response": {"result": "found"}}}
            for part in content["parts"]
            if "functionCall" in part
        ],
    }


def _named(call):
    return {name: call[name] for name in ("id", "name") if name in call}


async def conversation(post, change=lambda content: None):
    """Asks to the end, sending back what came through `change`; gives the last response."""
    contents = [QUESTION]
    while True:
        response = await post({"contents": contents, "tools": [DECLARED]})
        if response.status_code != 200:
            return response
        content = response.json()["candidates"][0]["content"]
        if not any("functionCall" in part for part in content["parts"]):
            return response
        change(content)
        contents = [*contents, content, results(content)]


@pytest.mark.parametrize("stream", [False, True])
def test_the_official_sdk_calls_functions_and_hears_the_end(stream):
    """Its chat keeps the history, signatures and ids itself, and Google's names are its own."""
    genai = pytest.importorskip("google.genai", reason="needs the extra dev")
    types = genai.types

    async def script(server):
        root = server.url.removesuffix("/v1")
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=root))
        off = types.AutomaticFunctionCallingConfig(disable=True)
        tool = types.Tool(
            function_declarations=[
                types.FunctionDeclaration(
                    name="web_search", description="Searches.", parameters_json_schema=SCHEMA
                )
            ]
        )
        config = types.GenerateContentConfig(
            tools=[tool],
            automatic_function_calling=off,
            system_instruction="Be brief.",
            temperature=0.0,
            thinking_config=types.ThinkingConfig(include_thoughts=True),
        )
        chat = client.aio.chats.create(model=MODEL, config=config)
        message = "Which day was it?"
        calls = []
        while True:
            if stream:
                chunks = [chunk async for chunk in await chat.send_message_stream(message)]
            else:
                chunks = [await chat.send_message(message)]
            parts = [p for c in chunks for p in c.candidates[0].content.parts]
            asked = [part.function_call for part in parts if part.function_call]
            calls.append(len(asked))
            if not asked:
                text = "".join(p.text for p in parts if p.text and not p.thought)
                return calls, text, chunks[-1], any(p.thought for p in parts)
            message = [
                types.Part(
                    function_response=types.FunctionResponse(
                        id=call.id, name=call.name, response={"result": "found"}
                    )
                )
                for call in asked
            ]

    calls, text, last, has_thoughts = served(script)
    assert (calls, text, has_thoughts) == ([2, 1, 0], "Friday", True)
    assert last.candidates[0].finish_reason.value == "STOP"
    assert last.model_version == MODEL
    assert last.usage_metadata.prompt_token_count > 0


@pytest.mark.parametrize("stream", [False, True])
def test_our_own_client_keeps_every_signature(stream):
    async def script(server):
        url = server.url.replace("/v1", "/v1beta")
        model = ApiModel(
            google.API, "n", MODEL, url, "k", Parameters(), 5.0, stream, permit=own_call()
        )
        messages = [Message(role="user", content="Which day was it?")]
        replies = []
        while True:
            replies.append(await model.generate(messages, [SEARCH], ReplyOptions()))
            message = replies[-1].message
            if not message.tool_calls:
                await model.close()
                return replies
            found = [
                Message(role="tool", content="found" * 2000, tool_call_id=call.id)
                for call in message.tool_calls
            ]
            messages = [*messages, message, *found]

    replies = served(script)
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
        ({"toolConfig": {"functionCallingConfig": {"mode": "FORCE"}}}, "mode"),
        ({"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["a"]}}}, "mode is ANY"),
        ({"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a"]}}},
         "has what is not declared: a"),
        ({"tools": [DECLARED, {"googleSearch": {}}]}, "include_server_side_tool_invocations"),
        ({"generationConfig": {"responseJsonSchema": SCHEMA}}, "response_mime_type"),
        ({"generationConfig": {"maxOutputTokens": 0}}, "must be positive"),
        ({"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW", "thinkingBudget": 1}}},
         "only set one of"),
    ],
)  # fmt: skip
def test_what_the_documents_forbid_is_refused(change, words):
    body = {"contents": [QUESTION], "tools": [DECLARED]} | change
    response = talk(lambda post: post(body), always(ScriptedAnswer("x")))
    error = response.json()["error"]
    assert (response.status_code, error["status"]) == (400, "INVALID_ARGUMENT")
    assert words in error["message"]


def test_older_models_hold_no_schema_beside_functions_and_have_no_levels():
    held = {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}}
    for config, words in (
        (held, "response mime type"),
        ({"thinkingConfig": {"thinkingLevel": "LOW"}}, "Thinking level"),
    ):
        body = {"contents": [QUESTION], "tools": [DECLARED], "generationConfig": config}
        old = talk(lambda post, body=body: post(body), model="gemini-2.5-pro")
        assert words in old.json()["error"]["message"]
        assert talk(lambda post, body=body: post(body)).status_code == 200


def test_a_key_is_wanted_in_its_header():
    body = {"contents": [QUESTION]}
    answer = always(ScriptedAnswer("x"))
    none = talk(lambda post: post(body, key=None), answer)
    assert (none.status_code, none.json()["error"]["status"]) == (403, "PERMISSION_DENIED")
    assert talk(lambda post: post(body), answer).status_code == 200


def test_a_forced_call_comes_and_a_forbidden_one_does_not():
    body = {"contents": [QUESTION], "tools": [DECLARED]}

    def ask(mode, policy):
        config = {"toolConfig": {"functionCallingConfig": {"mode": mode}}}
        response = talk(lambda post: post(body | config), policy)
        return [next(iter(part)) for part in response.json()["candidates"][0]["content"]["parts"]]

    assert ask("ANY", always(ScriptedAnswer("x"))) == ["functionCall"]
    assert ask("NONE", always(ScriptedAnswer("x", (tool_call("web_search", "{}"),)))) == ["text"]


def test_a_drawn_fault_is_googles():
    response = talk(lambda post: post({"contents": [QUESTION]}), errors={"429": 1.0})
    assert response.json()["error"]["status"] == "RESOURCE_EXHAUSTED"
    assert response.headers["retry-after"] == "1"
