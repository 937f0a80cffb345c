"""Builds a run's model and its token counter."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from agent_env.errors import ConfigError, did_you_mean
from agent_env.models.addresses import (
    COMPATIBLE,
    NO_KEY,
    NO_SERVER,
    is_address,
    server_url,
    split_address,
    variable_in,
)
from agent_env.models.api import Api
from agent_env.permits import OWN_DEFAULT, Permit, text_of
from agent_env.records.manifest import Manifest
from agent_env.records.reach import Reach
from agent_env.registry import NO_PLUGINS, PluginEntry, Plugins, unknown_name
from agent_env.tasks.features import server_of
from agent_env.wiring.registry import (
    FAMILIES,
    MODELS,
    api_paths,
    load_family,
    scripts,
    task_names,
)

if TYPE_CHECKING:
    from agent_env.models.client import Post
    from agent_env.models.endpoint import Endpoint
    from agent_env.models.server_facts import Health, ServerFacts
    from agent_env.models.settings import ModelSettings
    from agent_env.models.tokenizers import ServerTokenizer
    from agent_env.protocols import Model, Tokenizer

SERVER = "server"
"""The tokenizer of the model's own server."""
MODEL_TIMEOUT_S = 600.0


def make_model(
    name: str,
    base_url: str | None,
    parameters: Mapping[str, JsonValue],
    plugins: Plugins,
    tokenizer: ServerTokenizer | None = None,
    former_urls: Sequence[str] = (),
    note: Callable[[str], None] = lambda text: None,
    steps: Sequence[Any] | None = None,
    post: Post | None = None,
) -> Model:
    """The model of this name; ConfigError where its key or address is missing or not allowed. The
    server's `tokenizer` counts where replies have no usage; `former_urls` are the server's earlier
    addresses; `note` gets what the server refuses; `steps` are those of the scripted models for
    the task's family; `post` stands for the sending of requests."""
    entry, _ = model_entry(name, plugins)
    head, served_name = head_of(name)
    api = plugins.find(MODELS, head)
    settings = model_settings(parameters)
    sent = settings.parameters
    for paid in filter(None, (sent.extra_body, settings.hosted_tools, sent.service_tier)):
        plugins.permit.check(Reach.MONEY, text_of(paid))
    if not isinstance(api, Api):
        if isinstance(getattr(api, "thing", None), type):  # a class of LangChain's
            key = _key(name, None, settings.api_key_env, plugins)
            return settings.with_protocol(api(served_name, settings, key))
        if parameters:
            names = ", ".join(parameters)
            kind = "script" if entry.is_built_in else "function"
            raise ConfigError(f"model {name} is a {kind} and takes no parameters: {names}")
        return api(steps) if steps is not None and head in scripts() else api()
    if not served_name:
        raise ConfigError(f"model '{name}' has no name behind the stroke; write {head}/NAME")
    timeout_s = settings.reply_timeout_s or MODEL_TIMEOUT_S
    url, permit = _address(name, api, base_url, plugins)
    key = _key(name, api, settings.api_key_env, plugins)
    if settings.hosted_tools and not api.has_hosted_tools:
        having = [f"{head}/NAME" for head, api in _own_apis().items() if api.has_hosted_tools]
        raise ConfigError(f"--hosted-tools: {' and '.join(having)} have them, not {name}")
    from agent_env.models.client import ApiModel

    model = ApiModel(
        api, name, served_name, url, key, settings.parameters, timeout_s, settings.stream,
        settings.idle_s, settings.echo_reasoning, former_urls, note, post,
        permit=permit,
    )  # fmt: skip
    if tokenizer is None:
        return settings.with_protocol(model)
    from agent_env.models.tokenizers import CountedByServer

    return settings.with_protocol(CountedByServer(model, tokenizer))


_KEY_ENDS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_SHORTEST_KEY = 8


def keys_here() -> dict[str, bytes]:
    """What the environment holds under names of keys, as nothing of it may be given away."""
    return {
        name: value.encode(errors="replace")
        for name, value in os.environ.items()
        if name.upper().endswith(_KEY_ENDS) and len(value) >= _SHORTEST_KEY
    }


_PLUGGED_IN = re.compile(r"(?:langchain:)?((?:.+\.py|[A-Za-z_][\w.]*):[A-Za-z_][\w.]*)(?:/(.*))?")


def head_of(model: str) -> tuple[str, str]:
    """What finds the model or its API (`openai`, `my.py:answer`), and what the server is asked
    for."""
    if match := _PLUGGED_IN.fullmatch(model):
        return match[1], match[2] or ""
    head, _, served_name = split_address(model)[0].partition("/")
    return head, served_name


def model_entry(model: str, plugins: Plugins = NO_PLUGINS) -> tuple[PluginEntry, str]:
    """Where the model or its API is found, and the model's name in run.json; ConfigError for an
    unknown one."""
    if is_address(model):
        at = server_url(model if "://" in model else f"http://{model}").removesuffix("/v1")
        raise ConfigError(
            f"model '{model}' is an address; write {COMPATIBLE}NAME@{at}/v1, with the name "
            "that the server has for the model"
        )
    head, served_name = head_of(model)
    if ":" not in head and not _is_known(head, plugins):
        MODELS.check_there(head)
        for prefix, api in _own_apis().items():
            if api.own_names and re.match(api.own_names, model):
                raise ConfigError(
                    f"model '{model}' has no provider before its name; write {prefix}/{model}, "
                    f"with your key in {api.key_variable}"
                )
        known = dict.fromkeys((*scripts(), *_forms(), *MODELS.names()))
        meant = did_you_mean(head, (*scripts(), *MODELS.names()))
        if "/" in model:
            meant = meant.replace("? ", f"/{served_name}? ")
        names = (name for name in known if name not in api_paths())
        raise unknown_name("model", model, names, meant)
    entry = plugins.entry(MODELS, head)
    if entry.is_built_in:
        return entry, model
    return entry, f"{entry.name}/{served_name}" if served_name else entry.name


def _is_known(head: str, plugins: Plugins) -> bool:
    return plugins.has(MODELS, head) or head in MODELS.names()


def api_of(model: str, plugins: Plugins = NO_PLUGINS) -> Api | None:
    """The API that the model speaks, by the head of its name; None for a model that speaks none,
    and for an unknown one."""
    head, _ = head_of(model)
    if head in scripts() or (":" not in head and not _is_known(head, plugins)):
        return None
    api = plugins.find(MODELS, head)
    return api if isinstance(api, Api) else None


def key_variables() -> dict[str, str]:
    """By the prefix of models' names, the variable that holds their key."""
    return {prefix: api.key_variable for prefix, api in _own_apis().items() if api.key_variable}


def _own_apis() -> dict[str, Api]:
    """The APIs that come with the package, by the prefix of their models' names."""
    known = {prefix: api_of(f"{prefix}/") for prefix in api_paths()}
    return {prefix: api for prefix, api in known.items() if api is not None}


def _forms() -> list[str]:
    """The forms of model names, by API."""
    return [
        api.forms or f"{prefix}/NAME{'' if api.own_url else '[@URL]'}"
        for prefix, api in _own_apis().items()
    ]


_AT_HOST = re.compile(r"@(?=[\w.-]+(:\d+)?(/|$))")


def _address(name: str, api: Api, base_url: str | None, plugins: Plugins) -> tuple[str, Permit]:
    """Where the model is: the API's own place, or where its variable pairs it with its key; where
    the user says, for servers of the user's own. And the permit that covers it."""
    url = base_url or split_address(name)[1]
    if url is not None and ("@" in url or "?" in url):
        raise ConfigError(
            "the base URL holds a user, a password or a query, which would be stored with the run; "
            "give a plain URL and the key by COMPATIBLE_API_KEY or --api-key-env"
        )
    if (api_url := _api_url(api)) is not None:
        if url is not None and url.rstrip("/") != api_url.rstrip("/"):
            raise ConfigError(
                f"model {name} takes no base URL, for it would get the key in {api.key_variable}: "
                f"name compatible/NAME, or set {api.url_variable} beside {api.key_variable}"
            )
        by_default = _by_default(name, plugins, Reach.ADDRESS, head_of(name)[0] + f" {OWN_DEFAULT}")
        return api_url, plugins.permit.implying(by_default, Reach.ADDRESS, api_url)
    if url is None:
        raise ConfigError(
            f"model {name} {api.without_url}"
            if api.without_url
            else f"model {name}: its address lacks http://; write {_AT_HOST.sub('@http://', name)}"
            if _AT_HOST.search(name)
            else f"model {name} needs --base-url, like http://127.0.0.1:8000/v1, or {name}@URL"
        )
    return url, plugins.permit


def _by_default(name: str, plugins: Plugins, reach: Reach, value: str) -> tuple[Reach, str]:
    """What allows an API its own address and key: for one that is plugged in, that its code may
    run."""
    entry = model_entry(name, plugins)[0]
    if entry.is_built_in:
        return reach, value
    return Reach.CODE, entry.reference or entry.path


def _api_url(api: Api) -> str | None:
    return os.environ.get(api.url_variable or "") or api.own_url


def _key(name: str, api: Api | None, variable: str | None, plugins: Plugins) -> str | None:
    """The key in the variable that the user names, else in the API's usual one."""
    if variable:
        plugins.permit.check(Reach.KEY, variable)
        if not (key := os.environ.get(variable)):
            raise ConfigError(f"--api-key-env {variable}: the variable is not set")
        return key
    if api is None or (variable == NO_KEY and api.own_url is None):
        return None
    if api.key_variable:
        plugins.permit.check(*_by_default(name, plugins, Reach.KEY, api.key_variable))
    if api.own_url is not None:
        if not (key := os.environ.get(api.key_variable)):
            raise ConfigError(f"model {name} needs a key: set {api.key_variable}")
        if _api_url(api) == api.own_url:  # a proxy has keys of its own
            _refuse_others_key(name, api, key)
        return key
    return os.environ.get(api.key_variable)


def _refuse_others_key(name: str, api: Api, key: str) -> None:
    """ConfigError where the key begins as those of another provider do."""
    for prefix, other in _own_apis().items():
        is_theirs = other.own_keys and re.match(other.own_keys, key)
        if other is not api and is_theirs and not (api.own_keys and re.match(api.own_keys, key)):
            raise ConfigError(
                f"the key in {api.key_variable} is one of {prefix}/NAME, whose variable is "
                f"{other.key_variable}; put the key of {name} into {api.key_variable}"
            )


def not_known_of(model: str, plugins: Plugins) -> tuple[str, ...]:
    """What cannot be known of the model's calls, as its maker says."""
    return getattr(plugins.find(MODELS, head_of(model)[0]), "not_known", ())


@asynccontextmanager
async def watched_model(
    api_name: str,
    served_name: str,
    base_url: str,
    key: str | None,
    parameters: Mapping[str, JsonValue],
    permit: Permit,
) -> AsyncIterator[tuple[Model, list[dict[str, Any]]]]:
    """A model on any server that speaks the API, and the bodies of its replies as they come in; a
    stream as the body that it stands for."""
    from agent_env.models.client import ApiModel

    bodies: list[dict[str, Any]] = []
    api = api_of(f"{api_name}/")
    assert api is not None

    def reply(body: dict[str, Any], exchange: Any) -> Any:
        bodies.append(body)
        return api.reply(body, exchange)

    settings = model_settings(parameters)
    model = ApiModel(
        replace(api, reply=reply), f"{api_name}/{served_name}", served_name, base_url, key,
        settings.parameters, settings.reply_timeout_s or MODEL_TIMEOUT_S, settings.stream,
        permit=permit,
    )  # fmt: skip
    try:
        yield settings.with_protocol(model), bodies
    finally:
        await model.close()


def health_of(
    model: str, base_url: JsonValue, plugins: Plugins
) -> Callable[[], Awaitable[bool]] | None:
    """A check whether the model's server is up; None where the model has none."""
    health = _health(model, base_url, plugins)
    return None if health is None else health.is_up


async def check_reached(manifest: Manifest, plugins: Plugins) -> None:
    """ConfigError where nothing listens at the model's address, unless a feature starts its server,
    or none answers by design."""
    base_url = manifest.model_parameters.get("base_url")
    health = _health(manifest.model, base_url, plugins)
    if health is not None and base_url != NO_SERVER and server_of(manifest.features) is None:
        await health.check_reached()


def _health(model: str, base_url: JsonValue, plugins: Plugins) -> Health | None:
    from agent_env.models.server_facts import Health

    permit = plugins.permit
    if (api := api_of(model, plugins)) is None:
        return None
    if not base_url:
        base_url, permit = _address(model, api, None, plugins)
    return Health(str(base_url), permit=permit)


def model_settings(parameters: Mapping[str, JsonValue]) -> ModelSettings:
    """The parameters as a run stores them; ConfigError where one cannot be, or holds a key."""
    from agent_env.models.settings import ModelSettings

    settings = ModelSettings.read(parameters)
    text = json.dumps(parameters, ensure_ascii=False)
    for name in filter(None, [*key_variables().values(), settings.api_key_env]):
        key = os.environ.get(name, "")
        if len(key) >= 8 and key in text:
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
async def server_tokenizer(
    model: str, base_url: str | None, plugins: Plugins, variable: str | None = None
) -> AsyncIterator[ServerTokenizer]:
    """The tokenizer of the model's own server, which gets the key of `variable` like the model;
    ConfigError where it has none."""
    from agent_env.models.tokenizers import ServerTokenizer

    served_name, api = split_address(model)[0].partition("/")[2], api_of(model)
    base_url = base_url or split_address(model)[1]
    if api is None or api.own_url is not None or base_url is None:
        raise ConfigError(
            f"--tokenizer server: {model} has no server that counts for others; only "
            "compatible/NAME has, where it is vLLM or llama.cpp"
        )
    key = _key(model, api, variable, plugins)
    tokenizer = ServerTokenizer(served_name, base_url, key, permit=plugins.permit)
    try:
        await tokenizer.open()
        yield tokenizer
    finally:
        await tokenizer.close()


async def facts_of_server(
    model: str, base_url: str | None, plugins: Plugins, variable: str | None = None
) -> ServerFacts:
    """What the user's own server reports of itself, nothing for others; it gets the key of
    `variable`, like the model."""
    from agent_env.models.server_facts import ServerFacts, server_facts

    served_name, api = split_address(model)[0].partition("/")[2], api_of(model)
    if api is None or api.own_url is not None or base_url is None:
        return ServerFacts()
    key = _key(model, api, variable, plugins)
    return await server_facts(served_name, base_url, key, plugins.permit)


def open_endpoint(
    manifest: Manifest, api: Api, most_bytes: int, stack: AsyncExitStack, plugins: Plugins
) -> tuple[Endpoint, str]:
    """The address of the run's model, with its key, where answers may be so large; closed with the
    stack. And the path of its calls there."""
    from agent_env.models.endpoint import Endpoint

    name, parameters = manifest.model, manifest.model_parameters
    base_url = parameters.get("base_url")
    url, permit = _address(name, api, None if base_url is None else str(base_url), plugins)
    endpoint = Endpoint(
        head_of(name)[1], url, _key(name, api, variable_in(parameters), plugins), MODEL_TIMEOUT_S,
        None, api.headers, api.is_openai, most_bytes, permit=permit,
    )  # fmt: skip
    stack.push_async_callback(endpoint.close)
    return endpoint, api.path_for(head_of(name)[1], url, stream=False)


async def open_counted(
    manifest: Manifest,
    note: Callable[[str], None],
    stack: AsyncExitStack,
    plugins: Plugins,
    post: Post | None = None,
) -> tuple[Model, Tokenizer | ServerTokenizer]:
    """`open_model` with a manifest's parameters."""
    parameters = {k: v for k, v in manifest.model_parameters.items() if k != "base_url"}
    base_url = manifest.model_parameters.get("base_url")
    address = None if base_url is None else str(base_url)
    urls = manifest.former_urls
    return await open_model(
        manifest.model, address, parameters, manifest.tokenizer, note, stack, plugins, urls,
        steps_of_task(manifest.task, plugins), post,
    )  # fmt: skip


def steps_of_task(task: str, plugins: Plugins) -> Sequence[Any] | None:
    """What the family brings for the scripted models; None where the task has no family, such as
    an imported log."""
    if not plugins.has(FAMILIES, task) and task not in task_names():
        return None
    reference = load_family(task, plugins).reference
    return () if reference is None else (reference,)


async def open_model(
    name: str,
    base_url: str | None,
    parameters: Mapping[str, JsonValue],
    counted_by: str,
    note: Callable[[str], None],
    stack: AsyncExitStack,
    plugins: Plugins,
    former_urls: Sequence[str] = (),
    steps: Sequence[Any] | None = None,
    post: Post | None = None,
) -> tuple[Model, Tokenizer | ServerTokenizer]:
    """The model and its token counter; closed with the stack. ConfigError where its key or
    address is missing, or its server does not count."""
    tokenizer: Tokenizer | ServerTokenizer
    if counted_by == SERVER:
        opened = server_tokenizer(name, base_url, plugins, variable_in(parameters))
        tokenizer = served = await stack.enter_async_context(opened)
        stack.callback(lambda: _report_estimates(served, note))
        counter: ServerTokenizer | None = served
    else:
        counter, tokenizer = None, make_tokenizer(counted_by)
    model = make_model(name, base_url, parameters, plugins, counter, former_urls, note, steps, post)
    if (close := getattr(model, "close", None)) is not None:  # those that hold connections
        stack.push_async_callback(close)
    return model, tokenizer


def _report_estimates(tokenizer: ServerTokenizer, note: Callable[[str], None]) -> None:
    if tokenizer.failures:
        note(
            f"the server's tokenizer failed {tokenizer.failures} times; these counts are bytes / 4 "
            f"and marked as estimates; the first time: {tokenizer.problem}"
        )
