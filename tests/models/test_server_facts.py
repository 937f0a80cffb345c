"""What servers say of themselves, and whether they are up."""

import asyncio
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx2
import pytest

from agent_env.models import server_facts as identity
from agent_env.models.server_facts import Health, ServerFacts, is_listed, server_facts
from agent_env.wiring.trust import own_call
from tests.tables import tables

from .raw_server import RawServer, reply

CASES = tables(__file__)
VLLM = {"data": [{"id": "Qwen/Qwen3-8B", "max_model_len": 40960}, {"id": "other"}]}
LLAMA_CPP = {
    "default_generation_settings": {"n_ctx": 8192},
    "model_path": "/models/smollm2.gguf",
    "chat_template": "{{ messages }}",
    "chat_template_caps": {"supports_tools": False},
}


def facts(places, model="smollm2"):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = places.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("content-length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/v1"
            return asyncio.run(server_facts(model, url, None, own_call()))
        finally:
            server.shutdown()
            thread.join()


def test_a_server_tells_its_models_its_context_and_its_template():
    found = facts({"/v1/models": json.dumps(VLLM).encode()}, "Qwen/Qwen3-8B")
    assert found == ServerFacts(models=("Qwen/Qwen3-8B", "other"), context_tokens=40960)
    models = {"data": [{"id": "/models/smollm2.gguf", "aliases": ["smollm2"]}]}
    found = facts({"/v1/models": json.dumps(models).encode(),
                   "/props": json.dumps(LLAMA_CPP).encode()})  # fmt: skip
    assert found.models == ("/models/smollm2.gguf", "smollm2")
    assert (found.context_tokens, found.supports_tools, found.is_single) == (8192, False, True)
    assert (found.template_digest or "")[:8] == "f24189f0"
    found = asyncio.run(server_facts("m", "http://127.0.0.1:9/v1", None, own_call()))
    assert found == ServerFacts()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[" * 100_000,
        b'{"data": 7, "chat_template_caps": [], "default_generation_settings": {"n_ctx": "many"}}',
        b'{"data": [1, {"id": 2}, {"id": "x", "aliases": 3, "max_model_len": true}, null]}',
        json.dumps({"data": [{"id": "x" * 5_000_000}] * 1}).encode(),
        json.dumps({"data": [{"id": str(n)} for n in range(10_000)]}).encode(),
    ],
)
def test_what_a_server_sends_amiss_is_unknown(body):
    found = facts({"/v1/models": body, "/props": body})
    assert (found.context_tokens, found.supports_tools, found.template_digest) == (None, None, None)
    assert len(found.models or ()) <= 100
    assert all(len(name) <= 200 for name in found.models or ())


@pytest.mark.parametrize(("name", "listed", "is_there"), CASES["listed"])
def test_a_models_name_is_known_in_its_usual_forms(name, listed, is_there):
    assert is_listed(name, [listed]) is is_there


ROOT = "http://127.0.0.1:1"


def told(monkeypatch, places, server="uvicorn"):
    def answer(request):
        assert "authorization" not in request.headers
        body = places.get(request.url.path)
        text = body if isinstance(body, str) else json.dumps(body)
        return httpx2.Response(404 if body is None else 200, text=text, headers={"server": server})

    class Client(httpx2.AsyncClient):
        def __init__(self, **options):
            super().__init__(transport=httpx2.MockTransport(answer), **options)

    monkeypatch.setattr(identity.httpx2, "AsyncClient", Client)
    return asyncio.run(identity.server_identity(f"{ROOT}/v1", own_call()))


@pytest.mark.parametrize(("places", "name", "version"), CASES["identities"])
def test_its_name_and_version(monkeypatch, places, name, version):
    assert told(monkeypatch, places) == (name, version or None)


LLAMA = reply('{"data": [{"id": "m", "owned_by": "llamacpp"}]}')


@pytest.mark.parametrize(
    ("answers", "is_up"),
    [
        ([reply('{"data": []}')], True),
        ([reply("no", "401 Unauthorized")], True),
        ([reply("no", "404 Not Found")], True),
        ([reply("no", "502 Bad Gateway")], False),
        ([LLAMA, reply('{"error": "Loading model"}', "503 Service Unavailable")], False),
        ([LLAMA, reply('{"status": "ok"}')], True),
    ],
)
async def test_a_server_is_up_where_it_answers_for_itself(answers, is_up):
    async with RawServer(*answers) as server:
        assert await Health(server.url, permit=own_call()).is_up() is is_up
    assert await Health(server.url, permit=own_call()).is_up() is False
