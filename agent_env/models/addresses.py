"""Where models are (`compatible/NAME@URL`, `--base-url`), their short names; whose key is whose.

Guarantees: a base URL belongs to `compatible/` models alone; no key goes to two addresses unless
the user names its variable for each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from pydantic import JsonValue

from agent_env.errors import ConfigError

COMPATIBLE = "compatible/"
OPENAI_URL = "https://api.openai.com/v1"
NO_SERVER = "http://batch.invalid/v1"
"""The address of a model that no server answers for: none, by RFC 2606."""
NO_KEY = ""
"""In place of a variable's name."""
_AT = re.compile(r"(?P<name>.+?)@(?P<url>https?://.*)")
_ADDRESS = re.compile(r"https?://.*|(localhost|[\d.]+|\[[\da-f:]+\]):\d+(/.*)?")
_ENDPOINT = re.compile(r"/(?:chat/completions|completions|responses|(?<=/v1/)models)$")
"""What may be pasted behind a base URL; Azure's ends with /models."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def split_address(model: str) -> tuple[str, str | None]:
    """The model's name without its address, and the address where it has one."""
    match = _AT.fullmatch(model) if model.startswith(COMPATIBLE) else None
    return (model, None) if match is None else (match["name"], server_url(match["url"]))


def server_url(url: str) -> str:
    """The base URL in an address: without the end of the endpoint that was pasted with it."""
    return _ENDPOINT.sub("", url.rstrip("/")).rstrip("/")


def is_address(model: str) -> bool:
    """Whether a server's address stands where a model's name does, with http:// or without."""
    return _ADDRESS.fullmatch(model) is not None


def served_name(model: str) -> str:
    """What the server is asked for; empty for models that no server has."""
    return split_address(model)[0].partition("/")[2]


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Each model's label: the last part of its name, `Qwen3-8B`; where labels coincide, the least
    longer form that tells them apart: the served name, the name, the address's host behind it."""
    forms = {model: _forms(model) for model in models}
    labels = {model: each[0] for model, each in forms.items()}
    for place in range(1, len(_forms(""))):
        counts = Counter(labels.values())
        labels = {
            model: label if counts[label] == 1 else forms[model][place]
            for model, label in labels.items()
        }
    return labels


def short_name(model: str) -> str:
    """The label of a model that is alone."""
    return _forms(model)[0]


def _forms(model: str) -> tuple[str, ...]:
    name, url = split_address(model)
    last = name.rstrip("/").rpartition("/")[2] or model
    host = f"@{urlsplit(url).netloc.rpartition('@')[2]}" if url else ""
    return last, served_name(model) or name, name, last + host, name + host, model


def base_url_of(model: str, default: str | None) -> str | None:
    """The model's own address, else the one default for all."""
    return split_address(model)[1] or (default and server_url(default))


def base_urls(models: Sequence[str], default: str | None) -> dict[str, str | None]:
    """Each model's address; ConfigError where one is default and no model takes it."""
    urls = {
        model: base_url_of(model, default) if model.startswith(COMPATIBLE) else None
        for model in models
    }
    if default is not None and server_url(default) not in urls.values():
        raise ConfigError(
            f"--base-url {default} belongs to a model compatible/NAME without an address of its "
            f"own, and there is none among {', '.join(models)}; OpenAI's own API is elsewhere "
            "where OPENAI_BASE_URL says so"
        )
    return urls


def key_variables(urls: Mapping[str, str | None], names: Sequence[str]) -> dict[str, str | None]:
    """By model the variable that holds its key, by `--api-key-env [MODEL=]NAME`: None for the usual
    one, empty for none. Where there are several addresses, only the models that are named have a
    key; the usual one would go to strangers."""
    remote = [model for model in urls if not model.startswith("reference")]
    places = {(urls[model] or "").rstrip("/") for model in remote}
    shared = len({urls[model] for model in remote if model.startswith(COMPATIBLE)}) > 1
    variables: dict[str, str | None] = {
        model: NO_KEY if shared and model.startswith(COMPATIBLE) else None for model in urls
    }
    for text in names:
        whose, _, variable = text.rpartition("=")
        if not _VARIABLE.fullmatch(variable):
            raise ConfigError(
                "--api-key-env takes the name of an environment variable, not a key: NAME or "
                "MODEL=NAME"
            )
        if not whose and len(places) > 1:
            raise ConfigError(
                f"--api-key-env {variable}: there are several addresses; say whose key it is, such "
                f"as --api-key-env {remote[0]}={variable}"
            )
        models = [m for m in remote if not whose or whose in (m, split_address(m)[0])]
        if len(models) != 1 and whose:
            raise ConfigError(
                f"--api-key-env {text}: write one of {', '.join(remote)} before the ="
            )
        variables |= dict.fromkeys(models, variable)
    return variables


def with_variable(
    parameters: Mapping[str, JsonValue], variable: str | None
) -> dict[str, JsonValue]:
    """The parameters with the name of the variable that holds the key; None changes nothing."""
    return {**parameters, **({} if variable is None else {"api_key_env": variable})}


def variable_in(parameters: Mapping[str, JsonValue]) -> str | None:
    """The name that `with_variable` put in."""
    variable = parameters.get("api_key_env")
    return None if variable is None else str(variable)


def moved(
    parameters: Mapping[str, JsonValue],
    url: JsonValue,
    variable: str | None,
    is_same_server: bool,
) -> dict[str, JsonValue]:
    """The parameters of a recorded run that continues at this `url`, perhaps with the key of
    another `variable`. A variable stays with its address, unless it is the server itself that has
    moved."""
    result = {**parameters, "base_url": url}
    if variable is not None:
        result["api_key_env"] = variable
    elif url != parameters.get("base_url") and not is_same_server:
        result.pop("api_key_env", None)
    return result
