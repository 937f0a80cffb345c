"""What a server says of itself, without a question to its model: whether it is up, its models,
context, chat template and version.

Guarantees: only GET requests, those for health and version without a key; whatever the server
sends, or fails to send, is a fact or None.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from agent_env.errors import ConfigError, ModelError
from agent_env.models.bounded import hooks
from agent_env.models.chat import Json, record, records, text
from agent_env.models.endpoint import Endpoint
from agent_env.permits import Permit
from agent_env.records.reach import Reach

AWAY = (502, 503, 504)
HEALTH_TIMEOUT_S = 5.0


class Health:
    """Asks the list of models, which costs nothing at any server; any answer but 502 to 504 means
    that it is up. llama.cpp lists models while it loads one, so its own `/health` is asked too; at
    others that address may call paid models."""

    def __init__(self, base_url: str, *, permit: Permit) -> None:
        permit.check(Reach.ADDRESS, base_url)
        self.address = base_url
        self._models = f"{base_url.rstrip('/')}/models"
        self._health = f"{_root(base_url)}/health"

    async def check_reached(self) -> None:
        """ConfigError where nothing listens at the address; a server may be slow, or not ready."""
        try:
            async with httpx2.AsyncClient(timeout=HEALTH_TIMEOUT_S, event_hooks=hooks()) as http:
                await http.get(self._models)
        except httpx2.ConnectError:
            raise ConfigError(
                f"no server answers at {self.address}: check that it runs, and the address"
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError):
            return

    async def is_up(self) -> bool:
        """Whether calls are worth a try."""
        try:
            async with (
                asyncio.timeout(2 * HEALTH_TIMEOUT_S),  # httpx bounds each read alone
                httpx2.AsyncClient(timeout=HEALTH_TIMEOUT_S, event_hooks=hooks()) as http,
            ):
                listed = await http.get(self._models)
                if listed.status_code in AWAY:
                    return False
                if "llamacpp" in listed.text[:100_000]:
                    return (await http.get(self._health)).status_code not in AWAY
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, TimeoutError):
            return False
        return True


MOST_MODELS = 100
TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Facts of one server and model; None where the server does not report it."""

    models: tuple[str, ...] | None = None
    """Names under which it serves models."""
    context_tokens: int | None = None
    template_digest: str | None = None
    """SHA-256 of the chat template."""
    supports_tools: bool | None = None
    """Whether the chat template knows tools."""
    is_single: bool = False
    """Whether it is known to answer any name with the one model that it has: llama.cpp."""


async def server_facts(
    model: str, base_url: str, api_key: str | None, permit: Permit
) -> ServerFacts:
    """What the server at this address reports of the model and itself."""
    place = base_url.rstrip("/")
    model_list = await _get(model, place, "/models", api_key, permit)
    props = await _get(model, place.removesuffix("/v1"), "/props", api_key, permit)
    template = text(props, "chat_template")
    supports = record(props, "chat_template_caps").get("supports_tools")
    return ServerFacts(
        models=_names(model_list) if "data" in model_list else None,
        context_tokens=_context(model, model_list, props),
        template_digest=hashlib.sha256(template.encode()).hexdigest() if template else None,
        supports_tools=supports if isinstance(supports, bool) else None,
        is_single=bool(template or props.get("model_path")),
    )


def is_listed(model: str, names: Iterable[str]) -> bool:
    """Whether a server with these names serves the model: `qwen3` is `qwen3:latest` to Ollama, a
    file's name stands for its path, and a snapshot's name begins with the model's."""
    target = _plain(model)
    plain = [_plain(name) for name in names]
    return any(name == target or name.startswith((f"{target}:", f"{target}-20")) for name in plain)


def _plain(name: str) -> str:
    name = name.lower()
    return name.rpartition("/")[2].removesuffix(".gguf")


async def _get(model: str, place: str, path: str, api_key: str | None, permit: Permit) -> Json:
    endpoint = Endpoint(model, place, api_key, TIMEOUT_S, permit=permit)
    try:
        return await endpoint.get(path)
    except ModelError:
        return {}
    finally:
        await endpoint.close()


def _names(model_list: Json) -> tuple[str, ...]:
    names = [
        name
        for entry in records(model_list, "data")[:MOST_MODELS]
        for name in (entry.get("id"), *_list(entry, "aliases"))
        if isinstance(name, str)
    ]
    return tuple(dict.fromkeys(name[:200] for name in names))[:MOST_MODELS]


def _list(entry: Json, name: str) -> list[object]:
    value = entry.get(name)
    return list(value) if isinstance(value, list) else []


def _context(model: str, model_list: Json, props: Json) -> int | None:
    """Of one request: llama.cpp's slot, or what vLLM says of the model."""
    slot_tokens = record(props, "default_generation_settings").get("n_ctx")
    entries = [e for e in records(model_list, "data") if is_listed(model, [text(e, "id")])]
    for value in (slot_tokens, *(entry.get("max_model_len") for entry in entries)):
        if type(value) is int and value > 0:
            return value
    return None


VERSION_TIMEOUT_S = 5.0
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
    async with httpx2.AsyncClient(timeout=VERSION_TIMEOUT_S, event_hooks=hooks()) as http:
        models, headers = await _get_json(http, f"{base_url.rstrip('/')}/models")
        owner = _owner(models)
        known = OWNERS.get(owner or "")
        for path, (name, field) in PATHS.items():
            body, _ = await _get_json(http, f"{root}{path}")
            if isinstance(version := body.get(field), str) and known in (None, name):
                return name, version[:LONGEST]
        body, _ = await _get_json(http, f"{root}/openapi.json")
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


async def _get_json(http: httpx2.AsyncClient, url: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The JSON object at the address, empty where there is none; and the headers."""
    try:
        async with asyncio.timeout(2 * VERSION_TIMEOUT_S):  # httpx bounds each read alone
            answer = await http.get(url)
        body = answer.json() if answer.is_success else {}
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, TimeoutError, ValueError):
        return {}, {}
    except RecursionError:
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
