"""Joins a run's model and what counts its tokens: wiring's part for models."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from agent_env.errors import ConfigError
from agent_env.manifest import Manifest

if TYPE_CHECKING:
    from agent_env.models.server_facts import ServerFacts
    from agent_env.models.server_tokenizer import ServerTokenizer
    from agent_env.models.settings import ModelSettings
    from agent_env.protocols import Model, Tokenizer

SCRIPTS = ("reference", "reference-static")
MODELS = (*SCRIPTS, "openai/NAME", "compatible/NAME")
KEYS = ("OPENAI_API_KEY", "COMPATIBLE_API_KEY")
SERVER = "server"
"""The tokenizer of the model's own server."""
OPENAI_URL = "https://api.openai.com/v1"
MODEL_TIMEOUT_S = 600.0


def make_model(
    name: str,
    base_url: str | None,
    parameters: Mapping[str, JsonValue],
    tokenizer: ServerTokenizer | None = None,
) -> Model:
    """The model of this name; ConfigError where its key or address is missing. The server's
    `tokenizer` counts what its replies do not tell."""
    if name in SCRIPTS:
        from agent_env.models.reference.policy import Reference, ReferenceStatic

        if parameters:
            given = ", ".join(parameters)
            raise ConfigError(f"model {name} is a script and takes no parameters: {given}")
        return Reference() if name == "reference" else ReferenceStatic()
    if base_url is not None and ("@" in base_url or "?" in base_url):
        raise ConfigError(
            "the base URL holds a user, a password or a query, which would be stored with the run; "
            "give a plain URL and the key by COMPATIBLE_API_KEY or OPENAI_API_KEY"
        )
    kind, _, wanted = name.partition("/")
    chosen = model_settings(parameters)
    timeout_s = chosen.reply_timeout_s or MODEL_TIMEOUT_S
    if chosen.hosted_tools and kind != "openai":
        raise ConfigError(f"--hosted-tools: only openai/NAME has them, not {name}")
    if kind == "openai" and wanted:
        from agent_env.models.responses import Responses

        key = os.environ.get("OPENAI_API_KEY")
        if not key:
            raise ConfigError(f"model {name} needs a key: set OPENAI_API_KEY")
        url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        return chosen.worded(
            Responses(
                name, wanted, url, key, chosen.parameters, timeout_s, chosen.stream, chosen.idle_s
            )
        )
    if kind == "compatible" and wanted:
        from agent_env.models.chat_completions import ChatCompletions

        if base_url is None:
            raise ConfigError(f"model {name} needs --base-url, like http://127.0.0.1:8000/v1")
        key = os.environ.get("COMPATIBLE_API_KEY")
        chat = ChatCompletions(
            name, wanted, base_url, key, chosen.parameters, timeout_s, chosen.stream, chosen.idle_s
        )
        if tokenizer is None:
            return chosen.worded(chat)
        from agent_env.models.server_tokenizer import CountedByServer

        return chosen.worded(CountedByServer(chat, tokenizer))
    raise ConfigError(f"unknown model '{name}'; known: {', '.join(MODELS)}")


def model_of(manifest: Manifest, tokenizer: ServerTokenizer | None = None) -> Model:
    """The model as the run asks it; ConfigError where its key or address is missing."""
    parameters = {k: v for k, v in manifest.model_parameters.items() if k != "base_url"}
    base_url = manifest.model_parameters.get("base_url")
    return make_model(manifest.model, base_url, parameters, tokenizer)  # type: ignore[arg-type]


def health_of(model: str, base_url: JsonValue) -> Callable[[], Awaitable[bool]] | None:
    """Asks whether the model's server is up; None where the model has none."""
    from agent_env.models.health import Health

    if model.startswith("openai/"):
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    return Health(base_url).is_up if isinstance(base_url, str) and base_url else None


def model_settings(given: Mapping[str, JsonValue]) -> ModelSettings:
    """The parameters as a run stores them; ConfigError where one cannot be, or holds a key."""
    from agent_env.models.settings import ModelSettings

    settings = ModelSettings.read(given)
    kept = json.dumps(given, ensure_ascii=False)
    for name in KEYS:
        key = os.environ.get(name, "")
        if len(key) >= 8 and key in kept:
            raise ConfigError(
                f"the parameters hold the key of {name}; they are stored, so take it out"
            )
    return settings


def make_tokenizer(name: str) -> Tokenizer:
    """Counts what tools add to the context."""
    from agent_env.models.tokenizers import Estimate, Tiktoken

    if name == "estimate":
        return Estimate()
    if name == SERVER:
        raise ConfigError("--tokenizer server: only a run that asks a server has one to ask")
    ranks = os.environ.get("TIKTOKEN_CACHE_DIR")
    return Tiktoken(name, Path(ranks) if ranks else None)


@asynccontextmanager
async def server_tokenizer(model: str, base_url: str | None) -> AsyncIterator[ServerTokenizer]:
    """The tokenizer of the model's own server; ConfigError where it has none."""
    from agent_env.models.server_tokenizer import ServerTokenizer

    kind, _, wanted = model.partition("/")
    if kind != "compatible" or base_url is None:
        raise ConfigError(
            f"--tokenizer server: {model} has no server that counts for others; only "
            "compatible/NAME has, where it is vLLM or llama.cpp"
        )
    made = ServerTokenizer(wanted, base_url, os.environ.get("COMPATIBLE_API_KEY"))
    try:
        await made.open()
        yield made
    finally:
        await made.close()


async def facts_of_server(model: str, base_url: str | None) -> ServerFacts:
    """What the model's server tells of itself; nothing where it is none of the user's own."""
    from agent_env.models.server_facts import ServerFacts, server_facts

    kind, _, wanted = model.partition("/")
    if kind != "compatible" or base_url is None:
        return ServerFacts()
    return await server_facts(wanted, base_url, os.environ.get("COMPATIBLE_API_KEY"))


async def open_counted(
    manifest: Manifest, note: Callable[[str], None], stack: AsyncExitStack
) -> tuple[Model, Tokenizer | ServerTokenizer]:
    """The run's model, and what counts its tokens; closed with the stack."""
    tokenizer: Tokenizer | ServerTokenizer
    if manifest.tokenizer == SERVER:
        base_url = manifest.model_parameters.get("base_url")
        opened = server_tokenizer(manifest.model, str(base_url) if base_url else None)
        tokenizer = served = await stack.enter_async_context(opened)
        stack.callback(lambda: _tell_estimated(served, note))
        model = model_of(manifest, served)
    else:
        model, tokenizer = model_of(manifest), make_tokenizer(manifest.tokenizer)
    if (close := getattr(model, "close", None)) is not None:  # those that hold connections
        stack.push_async_callback(close)
    return model, tokenizer


def _tell_estimated(tokenizer: ServerTokenizer, note: Callable[[str], None]) -> None:
    if tokenizer.failures:
        note(
            f"the server's tokenizer failed {tokenizer.failures} times; these counts are bytes / 4 "
            f"and marked as estimates; the first time: {tokenizer.problem}"
        )
