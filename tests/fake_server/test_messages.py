"""The fake server as Anthropic's: what it refuses, what it caches."""

import copy
import re

import pytest

from agent_env.models.apis import anthropic as messages_api
from agent_env.models.client import ApiModel
from agent_env.models.settings import Parameters
from agent_env.records.schema import Message, ToolSpec
from agent_env.wiring.trust import own_call
from tests.fake_server import FakeServer, ScriptedAnswer, tool_call
from tests.fake_server.talk import at_server, to_the_end

LONG = "A long question about the calendar. " * 200
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}}
SEARCH = {"name": "web_search", "description": "Searches.", "input_schema": QUERY}
HEAD = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
ADAPTIVE = {"type": "adaptive"}
MARK = {"type": "ephemeral"}


async def searcher(turns, offers):
    """Calls twice at once, then once for each step, until the ninth answers."""
    spoken = sum(turn.role == "assistant" for turn in turns)
    if spoken == 0:
        two = tuple(tool_call("web_search", f'{{"query": "{word}"}}') for word in "ab")
        return ScriptedAnswer("Let me look.", calls=two)
    if spoken < 9:
        return ScriptedAnswer(calls=(tool_call("web_search", '{"query": "c"}'),))
    return ScriptedAnswer("Friday")


def talk(script, policy=searcher):
    async def messages(post):
        async def ask(messages, head=HEAD, **fields):
            body = {"model": "claude-opus-5", "max_tokens": 9000, "tools": [SEARCH]} | fields
            body = {n: value for n, value in body.items() if value is not None}
            reply = await post("/v1/messages", body | {"messages": messages}, head)
            return reply.status_code, reply.json()

        return await script(ask)

    return at_server(messages, policy)


def result(id_):
    return {"type": "tool_result", "tool_use_id": id_, "content": "a hit"}


def results_of(body):
    ids = [block["id"] for block in body["content"] if block["type"] == "tool_use"]
    return {"role": "user", "content": [result(id_) for id_ in ids]}


QUESTION = {"role": "user", "content": "Which day was it?"}


LIMITED = {"type": "enabled", "budget_tokens": 9000}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"head": {"x-api-key": "k"}}, "anthropic-version: header is required"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": 0}, "max_tokens: Input should be greater"),
        ({"seed": 1}, "seed: Extra inputs are not permitted"),
        ({"thinking": ADAPTIVE, "tool_choice": {"type": "any"}}, "Thinking may not be enabled"),
        ({"thinking": LIMITED}, "Use .thinking.type.adaptive"),
        ({"thinking": ADAPTIVE, "model": "claude-haiku-4-5"}, "adaptive thinking is not supported"),
        (
            {"thinking": LIMITED, "model": "claude-haiku-4-5"},
            "must be greater than `thinking.budge",
        ),
        ({"thinking": ADAPTIVE, "temperature": 0.5}, "may only be set to 1"),
        ({"tools": [SEARCH | {"cache_control": MARK}] * 5}, "maximum of 4 blocks .* Found 5"),
        ({"tools": None, "tool_choice": {"type": "any"}}, "only be specified while providing"),
    ],
)
def test_requests_that_the_documents_forbid_are_refused(fields, words):
    status, body = talk(lambda post: post([QUESTION], **fields))
    assert (status, body["type"], body["error"]["type"]) == (400, "error", "invalid_request_error")
    assert re.search(words, body["error"]["message"])


SO, EMPTY = ({"type": "text", "text": text} for text in ("So:", ""))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda said, heard: None, None),
        (lambda said, heard: said.pop(0), "Invalid `signature` in `thinking`"),
        (lambda said, heard: said[0].update(thinking="Other."), "Invalid `signature`"),
        (lambda said, heard: said[0].update(signature="AAAA"), "Invalid `signature`"),
        (lambda said, heard: said[0].pop("signature"), "signature: Field required"),
        (lambda said, heard: said[1].update(data="AAAA"), "Invalid `signature`"),
        (lambda said, heard: said.__delitem__(slice(2)), "Expected `thinking` or"),
        (lambda said, heard: heard.clear(), "`tool_use` ids were found without `tool_result`"),
        (lambda said, heard: heard.pop(), "`tool_use` ids were found without"),
        (lambda said, heard: heard.insert(0, SO), "`tool_use` ids were found without"),
        (lambda said, heard: heard.append(result("other")), "unexpected `tool_use_id`"),
        (lambda said, heard: heard.append(EMPTY), "non-empty"),
    ],
)
def test_what_the_model_said_must_come_back_as_it_was(spoil, words):
    async def script(post):
        _, first = await post([QUESTION], thinking=ADAPTIVE)
        said = {"role": "assistant", "content": copy.deepcopy(first["content"])}
        heard = results_of(first)
        spoil(said["content"], heard["content"])
        turns = [said, heard] if heard["content"] else [said]
        return await post([QUESTION, *turns], thinking=ADAPTIVE)

    status, body = talk(script)
    if words is None:
        assert (status, body["stop_reason"]) == (200, "tool_use")
    else:
        assert status == 400
        assert words in body["error"]["message"]


def test_the_cache_holds_prefixes_up_to_a_mark_from_the_least_length_on():
    async def script(post):
        counts = []
        other = ("Another question?", LONG, {"type": "any"})
        same, short = ("Which day?", LONG, None), ("Which day?", "Short.", None)
        for question, text, choice in (same, same, other, short):
            system = [{"type": "text", "text": text, "cache_control": MARK}]
            asked = [{"role": "user", "content": question}]
            usage = (await post(asked, system=system, tool_choice=choice))[1]["usage"]
            counts.append([usage[f"cache_{way}_input_tokens"] for way in ("creation", "read")])
        return counts

    first, second, third, short = talk(script)
    assert first[0] > 1800
    assert (first[1], second, third[1], short) == (0, [0, first[0]], first[0], [0, 0])


SPEC = ToolSpec(name="web_search", description="Searches.", parameters=SEARCH["input_schema"])


@pytest.mark.parametrize("stream", [False, True])
async def test_our_own_episode_keeps_its_thinking_and_reads_its_prefix_from_the_cache(stream):
    """Ten steps: at least 85 % of what could be is read from the cache."""
    async with FakeServer(searcher) as server:
        model = ApiModel(
            messages_api.API, "n", "claude-opus-5", server.url, "k",
            Parameters(reasoning_effort="high"), 9.0, stream, permit=own_call(),
        )  # fmt: skip
        replies = await to_the_end(model, [Message(role="user", content=LONG)], [SPEC], LONG)
    assert (server.counts["refused"], len(replies)) == (0, 10)
    assert replies[-1].message.content == "Friday"
    could_be = sum(reply.usage.input_tokens for reply in replies[:-1])
    assert sum(reply.usage.cached_tokens for reply in replies) >= 0.85 * could_be


def test_a_turn_that_was_paused_goes_on():
    async def policy(turns, offers):
        if turns[-1].role == "assistant":
            return ScriptedAnswer(" Friday.")
        return ScriptedAnswer("Looking.", finish="paused")

    async def script(post):
        _, first = await post([QUESTION])
        heard = [QUESTION, {"role": "assistant", "content": first["content"]}]
        return first, (await post(heard))[1]

    first, second = talk(script, policy)
    assert (first["stop_reason"], second["stop_reason"]) == ("pause_turn", "end_turn")
