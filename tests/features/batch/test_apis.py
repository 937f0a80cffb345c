"""Batch APIs: the fake servers as the providers' own SDKs see them, and what we read of results."""

import asyncio
import json
import os
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_env.errors import ModelError, StorageError
from agent_env.features.batch import apis
from agent_env.features.batch.apis import AnthropicBatches, BatchResult, OpenAiBatches
from agent_env.models.apis import anthropic, google, openai
from agent_env.models.endpoint import Endpoint
from agent_env.wiring.trust import own_call
from tests.commands import serving
from tests.fake_server import Refusal, ScriptedAnswer
from tests.features.batch.batch_server import BatchServer
from tests.features.batch.gemini_batches import GeminiBatchServer
from tests.features.batch.message_batches import MessageBatchServer

ASK = {"role": "user", "content": "Hello"}
PARAMS = {"model": "claude-opus-5", "max_tokens": 99, "messages": [ASK]}
GEMINI = "gemini-3-pro-preview"


async def policy(turns, offers):
    if turns[-1].content == "Refuse this":
        raise Refusal(400, "this is refused")
    return ScriptedAnswer(f"You said: {turns[-1].content}")


@pytest.fixture
def messages_server():
    with serving(made := MessageBatchServer(policy)):
        yield made


@pytest.fixture
def gemini_server():
    with serving(made := GeminiBatchServer(policy)):
        yield made


def root(server):
    return server.url.removesuffix("/v1")


def request(id, words="Hello", **more):
    return {"custom_id": id, "params": PARAMS | {"messages": [ASK | {"content": words}]} | more}


def test_the_client_of_anthropic_makes_reads_and_cancels_batches(messages_server):
    sdk = pytest.importorskip("anthropic")
    client = sdk.Anthropic(api_key="k", base_url=root(messages_server), max_retries=0)
    batches = client.messages.batches
    made = batches.create(requests=[request("a"), request("b", "Refuse this"), request("c")])
    assert (made.processing_status, made.request_counts.processing) == ("in_progress", 3)
    with pytest.raises(sdk.AnthropicError, match="No `results_url`"):
        batches.results(made.id)
    messages_server.moves = False
    asyncio.run(messages_server.tick(made.id))
    ended = batches.retrieve(made.id)
    counts = ended.request_counts
    assert (ended.processing_status, counts.succeeded, counts.errored) == ("ended", 2, 1)
    results = {each.custom_id: each.result for each in batches.results(made.id)}
    assert list(results) == ["c", "a", "b"]
    assert results["a"].message.content[0].text == "You said: Hello"
    assert results["b"].error.error.type == "invalid_request_error"
    assert batches.cancel(made.id).processing_status == "ended"

    other = batches.create(requests=[request("a"), request("b")])
    assert batches.cancel(other.id).processing_status == "canceling"
    asyncio.run(messages_server.tick(other.id))
    results = {each.custom_id: each.result.type for each in batches.results(other.id)}
    assert results == {"a": "succeeded", "b": "canceled"}
    assert [each.id for each in batches.list()] == [other.id, made.id]


def test_the_client_of_google_makes_and_cancels_batches_and_gives_files(gemini_server):
    genai = pytest.importorskip("google.genai", reason="needs the extra dev")
    options = genai.types.HttpOptions(base_url=root(gemini_server))
    client = genai.Client(api_key="k", http_options=options)
    asked = [contents(words) | {"metadata": {"key": words}} for words in WORDS]

    def create(name):
        return client.batches.create(model=GEMINI, src=asked, config={"display_name": name})

    made = create("ours")
    assert made.display_name == "ours"
    looks = [client.batches.get(name=made.name) for _ in range(2)]
    assert [each.state.name for each in looks] == ["JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED"]
    results = looks[1].dest.inlined_responses
    assert [each.metadata["key"] for each in results] == ["Bye", "Hello", "Refuse this"]
    assert results[0].response.text == "You said: Bye"
    assert (results[2].error.code, results[2].error.message) == (3, "this is refused")
    other = create("other")
    client.batches.cancel(name=other.name)
    assert client.batches.get(name=other.name).state.name == "JOB_STATE_CANCELLED"
    assert [each.display_name for each in client.batches.list()] == ["ours", "other"]
    gemini_server.by_file = True
    made = create("in a file")
    looks = [client.batches.get(name=made.name) for _ in range(2)]
    first, *_ = client.files.download(file=looks[1].dest.file_name).splitlines()
    (part,) = json.loads(first)["response"]["candidates"][0]["content"]["parts"]
    assert part["text"] == "You said: Bye"
    gemini_server.most_bytes = 100
    with pytest.raises(genai.errors.ClientError, match="payload size exceeds"):
        create("large")


WORDS = ("Hello", "Refuse this", "Bye")


def contents(words):
    return {"contents": [{"role": "user", "parts": [{"text": words}]}]}


@asynccontextmanager
async def opened(kind, server, api, model="m", path="/v1"):
    url = root(server) + path
    endpoint = Endpoint(model, url, "k", 9.0, headers=api.headers, permit=own_call())
    yield kind(endpoint, api.path_for(model, url, stream=False))
    await endpoint.close()


async def ended(batches, id):
    while not (state := await batches.state(id)).is_ended:
        pass
    return state


@pytest.mark.parametrize("path", ["", "/v1"])
async def test_our_batches_of_messages_are_those_of_the_api(messages_server, path):
    body = request("b", "Refuse this")["params"]
    async with opened(AnthropicBatches, messages_server, anthropic.API, path=path) as batches:
        id = await batches.submit("ours", [batches.line("a", PARAMS), batches.line("b", body)])
        state = await ended(batches, id)
        await batches.cancel(id)
    assert state.word == "ended, 1 of 2 replied"
    results = {r.call: r for r in map(batches.read, state.lines)}
    assert results["a"].body["content"] == [{"type": "text", "text": "You said: Hello"}]
    message = {"type": "invalid_request_error", "message": "this is refused"}
    assert results["b"] == BatchResult("b", error=message)


@pytest.mark.parametrize("by_file", [False, True])
async def test_our_batches_of_gemini_are_those_of_the_api(gemini_server, by_file):
    gemini_server.by_file = by_file
    async with opened(apis.GeminiBatches, gemini_server, google.API, GEMINI, "/v1beta") as batches:
        lines = [batches.line(words, contents(words)) for words in WORDS[:2]]
        ids = [await batches.submit(name, lines) for name in ("one", "two", "three")]
        now = datetime.now(UTC)
        assert [await batches.find(n, (), now) for n in ("two", "four")] == [ids[1], None]
        await batches.cancel(ids[1])
        gemini_server.fails = {3: 8}
        states = [await ended(batches, id) for id in ids]
    assert [(s.word, s.error, len(s.lines)) for s in states] == [
        ("succeeded, 1 of 2 replied", None, 2),
        ("cancelled, 0 of 2 replied", None, 0),
        ("failed, 0 of 2 replied", {"code": 429, "message": "the batch has failed"}, 0),
    ]
    results = {r.call: r for r in map(batches.read, states[0].lines)}
    assert results["Hello"].body["candidates"][0]["finishReason"] == "STOP"
    message = {"code": 3, "message": "this is refused"}
    assert results["Refuse this"] == BatchResult("Refuse this", error=message, status=400)


async def test_a_batch_of_messages_is_ours_when_its_results_name_our_calls(messages_server):
    """Nobody knows while one of the same size is under way; nothing is handed in meanwhile."""
    now = datetime.now(UTC)
    messages_server.moves = False
    async with opened(AnthropicBatches, messages_server, anthropic.API) as batches:
        assert await batches.find("ours", ("a", "b"), now) is None
        lines = [batches.line(name, PARAMS) for name in "abcd"]
        theirs = await batches.submit("theirs", lines[2:])
        with pytest.raises(ModelError, match="is known when it has ended"):
            await batches.find("ours", ("a", "b"), now)
        ours = await batches.submit("ours", lines[:2])
        await batches.submit("larger", lines)
        for id in (theirs, ours) * 2:
            await messages_server.tick(id)
        assert await batches.find("ours", ("a", "b"), now) == ours
        assert await batches.find("ours", ("a", "b"), now + timedelta(days=1)) is None


async def test_a_list_of_batches_is_read_by_pages():
    pages = {
        "/batches?limit=100": {"data": [{"id": "batch_2"}], "has_more": True},
        "/batches?limit=100&after=batch_2": {
            "data": [{"id": "batch_1", "metadata": {"agent_env_batch": "ours"}}],
            "has_more": False,
        },
    }

    class Pages:
        async def get(self, path):
            return pages.pop(path)

    batches = OpenAiBatches(Pages(), "/responses")
    assert await batches.find("ours", (), datetime.now(UTC)) == "batch_1"
    assert pages == {}


def test_results_without_end_are_refused_before_they_are_read_apart():
    with pytest.raises(ModelError, match="15,000,000 lines; at most 2,000,000 are read"):
        apis._lines("{}\n" * 15_000_000)


@pytest.mark.parametrize(("make", "what"), [(Path.mkdir, "Is a directory"), (os.mkfifo, "a fifo")])
async def test_an_answer_that_is_no_file_is_said(tmp_path, make, what):
    batches = apis.FileBatches(tmp_path, "/v1/chat/completions", own_call())
    await batches.submit("one", [b"{}"])
    make(tmp_path / "one.results.jsonl")
    with pytest.raises(StorageError, match=what):
        await batches.state("one")


async def test_lines_of_openai_hold_other_breaks_than_those_between_them():
    text = "one\u2028two"
    async with BatchServer(policy) as fake, opened(OpenAiBatches, fake, openai.API) as batches:
        fake.dump = lambda line: json.dumps(line, ensure_ascii=False).encode()
        id = await batches.submit("ours", [batches.line("a", {"model": "m", "input": text})])
        (result,) = map(batches.read, (await ended(batches, id)).lines)
    assert result.body["output"][0]["content"][0]["text"] == f"You said: {text}"


LATE = BatchResult("a", error=apis.EXPIRED)
BODY = {"choices": []}
REFUSED = {"message": "too long", "code": 400}


@pytest.mark.parametrize(
    ("kind", "line", "result"),
    [
        (OpenAiBatches, {"custom_id": "a", "response": {"status_code": 200, "body": BODY}},
         BatchResult("a", BODY, status=200)),
        (OpenAiBatches, {"custom_id": "a", "response": {"status_code": 400, "body": None},
                       "error": REFUSED},  # as vLLM writes a request that it refuses
         BatchResult("a", error=REFUSED, status=400)),
        (OpenAiBatches, {"custom_id": "a", "response": None}, BatchResult("a", error="no reply")),
        (OpenAiBatches, {"response": {"body": {}}}, None),
        (OpenAiBatches, "no line", None),
        (AnthropicBatches, {"custom_id": "a", "result": {"type": "expired"}}, LATE),
        (AnthropicBatches, {"custom_id": "a", "result": {"type": "canceled"}}, LATE),
        (AnthropicBatches, {"result": {"type": "expired"}}, None),
        (AnthropicBatches, "no line", None),
        (apis.GeminiBatches, {"key": "a", "error": {"code": 503}},
         BatchResult("a", error={"code": 503}, status=503)),
        (apis.GeminiBatches, {"metadata": {"key": "a"}}, BatchResult("a", error="no reply")),
        (apis.GeminiBatches, {"response": {"candidates": []}}, None),
        (apis.GeminiBatches, ["no line"], None),
    ],
)  # fmt: skip
def test_a_result_without_a_reply_is_an_error_and_one_without_an_id_is_nobodys(kind, line, result):
    assert kind(None, "").read(json.dumps(line)) == result
