"""Which program a server is, and its version: by what it shows without a key or a question.

Guarantees: only GET requests to fixed paths, without a key; whatever comes back, or does not, is a
name or None.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx

from agent_env.permits import Permit
from agent_env.records.reach import Reach

TIMEOUT_S = 5.0
LONGEST = 80
PATHS = {
    "/props": ("llama.cpp", "build_info"),
    "/api/version": ("Ollama", "version"),
    "/get_server_info": ("SGLang", "version"),
    "/version": ("vLLM", "version"),
    "/info": ("TGI", "version"),
}
"""Paths below the server's root, the program that has each, and the field of its version."""
OWNERS = {"llamacpp": "llama.cpp", "vllm": "vLLM", "sglang": "SGLang", "library": "Ollama"}
"""`owned_by` in the list of models, by program."""
ANYBODY = ("openai", "user", "system", "library")
"""`owned_by` of servers that do not mean themselves."""


async def server_identity(base_url: str, permit: Permit) -> tuple[str | None, str | None]:
    """Name and version."""
    permit.check(Reach.ADDRESS, base_url)
    root = _root(base_url)
    async with httpx.AsyncClient(timeout=TIMEOUT_S) as http:
        models, headers = await _get(http, f"{base_url.rstrip('/')}/models")
        owner = _owner(models)
        known = OWNERS.get(owner or "")
        for path, (name, field) in PATHS.items():
            body, _ = await _get(http, f"{root}{path}")
            if isinstance(version := body.get(field), str) and known in (None, name):
                return name, version[:LONGEST]
        body, _ = await _get(http, f"{root}/openapi.json")
    title, version = _titles(body)
    named = None if owner in ANYBODY else owner
    return known or title or named or _short(headers.get("server")), version


def _titles(body: dict[str, Any]) -> tuple[str | None, str | None]:
    """Name and version of a program that describes its own API, as FastAPI lets it."""
    info = body.get("info")
    title = info.get("title") if isinstance(info, dict) else None
    if not isinstance(title, str) or not isinstance(info, dict) or title == "FastAPI":
        return None, None
    version = info.get("version")
    name = _short(title.removesuffix(" API"))
    return name, _short(version) if isinstance(version, str) else None


def _root(base_url: str) -> str:
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1')}"


async def _get(http: httpx.AsyncClient, url: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The JSON object at the address, empty where there is none; and the headers."""
    try:
        answer = await http.get(url)
        body = answer.json() if answer.is_success else {}
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        return {}, {}
    return body if isinstance(body, dict) else {}, dict(answer.headers)


def _owner(models: dict[str, Any]) -> str | None:
    entries = models.get("data")
    for entry in entries if isinstance(entries, list) else ():
        owner = entry.get("owned_by") if isinstance(entry, dict) else None
        if isinstance(owner, str) and owner:
            return _short(owner)
    return None


def _short(text: str | None) -> str | None:
    return " ".join(text.split())[:LONGEST] if text else None
