"""Talk with the fake server by plain httpx: single requests, and whole conversations."""

import asyncio

import httpx

from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message
from tests.fake_server import FakeServer, ScriptedAnswer, tool_call

QUERY = {"query": {"type": "string"}, "limit": {"type": "integer"}}
PARAMETERS = {"type": "object", "properties": QUERY, "required": ["query"]}
FUNCTION = {"name": "web_search", "description": "Searches.", "parameters": PARAMETERS}
TOOL = {"type": "function", "function": FUNCTION}
QUESTION = {"role": "user", "content": "Which day was it?"}
TWO_CALLS = ScriptedAnswer(
    "Let me look.",
    calls=(tool_call("web_search", '{"query": "a"}'), tool_call("web_search", '{"query": "b"}')),
)


async def agent(turns, offers):
    """Calls twice at once, then once, then answers."""
    spoken = sum(turn.role == "assistant" for turn in turns)
    once = ScriptedAnswer(calls=TWO_CALLS.calls[:1])
    return (TWO_CALLS, once)[spoken] if spoken < 2 else ScriptedAnswer("Friday")


def always(answer):
    async def policy(turns, offers):
        return answer

    return policy


async def to_the_end(model, heard, tools, found="found", first="auto"):
    """The replies of our own client until one calls nothing; each call `found` this."""
    heard, replies = list(heard), []
    while not replies or replies[-1].message.tool_calls:
        choice = "auto" if replies else first
        replies.append(await model.generate(heard, tools, ReplyOptions(choice)))
        heard.append(replies[-1].message)
        ids = [call.id for call in heard[-1].tool_calls]
        heard += [Message(role="tool", tool_call_id=id_, content=found) for id_ in ids]
    await model.close()
    return replies


def at_server(script, policy=agent, mode="lenient", **options):
    """Runs `script(post)` against a server; `post` sends a body to one of its paths."""

    async def run():
        async with (
            FakeServer(policy, mode=mode, **options) as server,
            httpx.AsyncClient(base_url=server.url.removesuffix("/v1"), verify=False) as client,
        ):

            async def post(path, body, head=None):
                sent = {"content" if isinstance(body, bytes) else "json": body}
                return await client.post(path, headers=head, **sent)

            return await script(post)

    return asyncio.run(run())


def talk(policy, script, mode="lenient"):
    """Runs `script(ask)` against a server; `ask` sends a chat request."""

    async def chat(post):
        async def ask(messages, **fields):
            body = {"model": "m", "messages": messages, "tools": [TOOL]} | fields
            return await post("/v1/chat/completions", body)

        return await script(ask)

    return at_server(chat, policy, mode)


def post_once(policy, messages, mode="lenient", **fields):
    return talk(policy, lambda post: post(messages, **fields), mode=mode)


def message_of(response):
    """The message of a reply."""
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]["message"]


def results(message):
    return [
        {"role": "tool", "tool_call_id": call["id"], "content": "found"}
        for call in message["tool_calls"]
    ]


async def conversation(post, change=lambda message: message):
    """Asks to the end, sending back what came through `change`; gives the last response."""
    messages = [QUESTION]
    while (response := await post(messages)).status_code == 200:
        message = message_of(response)
        if not message.get("tool_calls"):
            break
        messages = [*messages, change(message), *results(message)]
    return response
