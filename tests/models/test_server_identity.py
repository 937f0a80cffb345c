"""Which program a server says it is, and that nothing it sends can hurt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from agent_env.models import server_identity as identity
from agent_env.wiring.trust import own_call

ROOT = "http://127.0.0.1:1"


def told(
    monkeypatch: pytest.MonkeyPatch, places: Mapping[str, Any], server: str = "uvicorn"
) -> tuple[str | None, str | None]:
    def answer(request: httpx.Request) -> httpx.Response:
        assert "authorization" not in request.headers
        body = places.get(request.url.path)
        text = body if isinstance(body, str) else json.dumps(body)
        return httpx.Response(404 if body is None else 200, text=text, headers={"server": server})

    class Client(httpx.AsyncClient):
        def __init__(self, **options: Any) -> None:
            super().__init__(transport=httpx.MockTransport(answer), **options)

    monkeypatch.setattr(identity.httpx, "AsyncClient", Client)
    return asyncio.run(identity.server_identity(f"{ROOT}/v1", own_call()))


@pytest.mark.parametrize(
    ("places", "found"),
    [
        ({"/props": {"build_info": "b5432-abc"}}, ("llama.cpp", "b5432-abc")),
        ({"/version": {"version": "0.11.0"}}, ("vLLM", "0.11.0")),
        ({"/api/version": {"version": "0.9"}, "/version": {"version": "0.9"}}, ("Ollama", "0.9")),
        (
            {"/openapi.json": {"info": {"title": "LiteLLM API", "version": "1.106.2"}}},
            ("LiteLLM", "1.106.2"),
        ),
        ({"/v1/models": {"data": [{"owned_by": "cyllama"}]}}, ("cyllama", None)),
        ({"/v1/models": {"data": [{"owned_by": "openai"}]}}, ("uvicorn", None)),
        ({"/v1/models": {"data": [{"owned_by": "sglang"}]}, "/version": {"version": "1"}},
         ("SGLang", None)),
        ({"/openapi.json": {"info": {"title": "FastAPI", "version": "0"}}}, ("uvicorn", None)),
        ({"/props": "[", "/version": {"version": 3}, "/openapi.json": []}, ("uvicorn", None)),
    ],
)  # fmt: skip
def test_its_name_and_version(
    monkeypatch: pytest.MonkeyPatch, places: dict[str, Any], found: tuple[str, str | None]
) -> None:
    assert told(monkeypatch, places) == found
