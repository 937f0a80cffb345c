"""Probing any server that speaks one of the two APIs, for `check`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import JsonValue

from agent_env.episodes.calls.preflight import ProbedModel
from agent_env.episodes.calls.server_features import Bodies, ServerCalls, probe_features
from agent_env.errors import ConfigError, ModelError
from agent_env.models.addresses import COMPATIBLE, is_address, server_url, split_address
from agent_env.models.server_facts import Health, ServerFacts, server_facts, server_identity
from agent_env.permits import Permit
from agent_env.protocols import Model
from agent_env.records.manifest import Preflight
from agent_env.records.options import Opt
from agent_env.records.server_probe import ServerProbe
from agent_env.version import __version__
from agent_env.wiring.models import watched_model
from agent_env.wiring.trust import own_call

APIS = {"chat": "compatible", "responses": "openai"}
"""The API, and the prefix of its models' names."""
KEY = "COMPATIBLE_API_KEY"
SHOWN = 12
"""Models that an error lists."""


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    url: Annotated[
        str,
        Opt("Such as http://127.0.0.1:8000/v1.", argument=True, metavar="URL", read=server_url),
    ]
    model: Annotated[str | None, Opt("Its name there; default: the only one listed.")] = None
    api: Annotated[Literal["chat", "responses"], Opt("chat (Chat Completions) or responses.")] = (
        "chat"
    )
    api_key_env: Annotated[
        str | None,
        Opt("The environment variable with its key; default: COMPATIBLE_API_KEY.", metavar="NAME"),
    ] = None
    note: Annotated[str, Opt("Kept in the record, such as the server's flags.")] = ""


async def probe_server(
    options: ProbeOptions, note: Callable[[str], None]
) -> tuple[Preflight, ServerProbe]:
    """What the server shows; ConfigError for a mistake, ModelError where it does not answer."""
    key, permit = os.environ.get(options.api_key_env or KEY), own_call()
    if options.api_key_env is not None and not key:
        raise ConfigError(f"--api-key-env {options.api_key_env}: the variable is not set")
    url, facts = await _server_at(options.url, options.model or "", key, permit)
    if facts.models is None and not await Health(url, permit=permit).is_up():
        raise ConfigError(f"{options.url} does not answer; check that the server runs, and the URL")
    options = replace(options, url=url)
    model = options.model or _only_model(options.url, facts)
    if options.model is None:  # its context is told by its name
        facts = await server_facts(model, options.url, key, permit)
    note(f"probing {model}: about twenty short calls, within a minute")
    server, version = await server_identity(options.url, permit)

    def opened(
        parameters: Mapping[str, JsonValue],
    ) -> AbstractAsyncContextManager[tuple[Model, Bodies]]:
        return watched_model(APIS[options.api], model, options.url, key, parameters, permit)

    calls = ServerCalls(opened, has_seed=options.api == "chat", note=note)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    target = ProbedModel(f"{APIS[options.api]}/{model}", options.url, facts, in_text=False)
    preflight, features = await probe_features(calls, target, at)
    if not features:
        raise ModelError(preflight.probes[0].error or "no reply came")
    record = ServerProbe(
        at=at,
        agent_env=__version__,
        api=options.api,
        server=server,
        version=version,
        model=model,
        served_model=preflight.served_model,
        context_tokens=facts.context_tokens,
        template_digest=facts.template_digest,
        features=features,
        calls=calls.count,
        note=options.note,
    )
    return preflight, record


async def resolve_models(models: Sequence[str], api_key_envs: Sequence[str]) -> list[str]:
    """The models' names; of the address of a server, that of the only model it serves, as
    `compatible/NAME@URL`. ConfigError where it does not answer, or serves several. A key goes there
    where there is one model alone."""
    for text in filter(is_address, models):
        if "://" not in text:
            raise ConfigError(f"model '{text}' is an address without http://; write http://{text}")
    variable = next((name for name in api_key_envs if "=" not in name), KEY)
    key = os.environ.get(variable) if len(models) == 1 else None
    return [await _model_at(text, key) if is_address(text) else _plain(text) for text in models]


async def resolve_model(model: str, api_key_env: str | None) -> str:
    """The name of one model, whose key is in this variable."""
    return (await resolve_models([model], [api_key_env] if api_key_env else []))[0]


def _plain(model: str) -> str:
    """A name, with the base URL alone where it has an address."""
    name, url = split_address(model)
    return name if url is None else f"{name}@{url}"


async def _model_at(text: str, key: str | None) -> str:
    permit = own_call()
    url, facts = await _server_at(server_url(text), "", key, permit)
    if facts.models is not None:
        return f"{COMPATIBLE}{_only_model(url, facts, COMPATIBLE)}@{url}"
    raise ConfigError(
        f"{text} lists no models at {url}/models: check that the server runs, and the address; "
        f"or name the model: --model {COMPATIBLE}NAME@{url}"
    )


async def _server_at(
    base: str, model: str, key: str | None, permit: Permit
) -> tuple[str, ServerFacts]:
    """Where the server lists its models, at /v1 or without, and what it shows; /v1 where neither
    has a list."""
    if not urlsplit(base).hostname:
        raise ConfigError(f"{base} is not an address; write http://HOST:PORT")
    likely = f"{base.removesuffix('/v1')}/v1"
    first = await server_facts(model, likely, key, permit)
    if first.models is None and base != likely:
        facts = await server_facts(model, base, key, permit)
        if facts.models is not None:
            return base, facts
    return likely, first


def _only_model(url: str, facts: ServerFacts, prefix: str = "") -> str:
    names: tuple[Any, ...] = facts.models or ()
    if len(names) == 1:
        return str(names[0])
    if not names:
        raise ConfigError(
            f"{url}/models lists no model: is the URL right (http://HOST:PORT/v1)? Else name one "
            "with --model"
        )
    listed = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    at = f"@{url}" if prefix else ""
    raise ConfigError(
        f"{url} serves {len(names)} models ({listed}); name one: --model {prefix}{names[0]}{at}"
    )
