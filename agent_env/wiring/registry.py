"""The registries of families and models, and a list of all registries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from agent_env.models import apis
from agent_env.models.api import Api
from agent_env.registry import NO_PLUGINS, Plugins, Registry, load_path, ours

if TYPE_CHECKING:
    from agent_env.protocols import Model
    from agent_env.tasks.family import Family


@cache
def scripts() -> dict[str, str]:
    """Scripted models by name."""
    return dict(sorted(ours("policies").items(), key=lambda each: "reference" not in each[0]))


def policies() -> Collection[str]:
    """Those that a family has to bring a policy for."""
    return ours("policies").keys()


def task_names() -> tuple[str, ...]:
    """The built-in tasks of `run` and `generate`."""
    return tuple(ours("families"))


def _family(thing: Any, name: str) -> Family | None:
    from agent_env.tasks.family import Family

    return thing if isinstance(thing, Family) else None


FAMILIES = Registry(
    "family",
    "families",
    "a Family",
    _family,
    partial(ours, "families"),
    partial(ours, "inner_families"),
)


def load_family(name: str, plugins: Plugins = NO_PLUGINS) -> Family:
    """The question family of this name, or at MODULE:NAME or file.py:NAME."""
    return plugins.find(FAMILIES, name)


MakeModel = Callable[..., "Model"]


def api_paths() -> Mapping[str, str]:
    """The files of models/apis and what features bring, by the prefix of their models' names."""
    names = sorted((each.name for each in iter_modules(apis.__path__)), reverse=True)
    return {**{name: f"{apis.__name__}.{name}:API" for name in names}, **ours("models")}


def _model_paths() -> Mapping[str, str]:
    return {**scripts(), **api_paths()}


def _model(thing: Any, name: str) -> Api | MakeModel | None:
    """An API, or a maker of a model."""
    if isinstance(thing, Api) or name in scripts():
        return thing  # type: ignore[no-any-return]
    from agent_env.models.function import model_of

    return model_of(thing, name)


MODELS: Registry[Api | MakeModel] = Registry(
    "model",
    "models",
    "an Api, an object with `generate`, or a function of messages, tools and options",
    _model,
    _model_paths,
)

_CORE = {
    "families": "agent_env.wiring.registry:FAMILIES",
    "features": "agent_env.tasks.features:FEATURES",
    "tools": "agent_env.tasks.tool_registry:TOOLS",
    "models": "agent_env.wiring.registry:MODELS",
    "search-providers": "agent_env.web.providers.catalogue:PROVIDERS",
    "page-fetchers": "agent_env.web.plugin:FETCHERS",
    "sandboxes": "agent_env.sandbox.choose:SANDBOXES",
    "strategies": "agent_env.graph.strategies:STRATEGIES",
    "scorers": "agent_env.tasks.scorers:SCORERS",
    "metrics": "agent_env.tasks.scorers:METRICS",
    "statistics": "agent_env.analysis.statistics:STATISTICS",
}


def registries() -> Mapping[str, str]:
    """By the plural that `agent-env list` takes."""
    return {**_CORE, **ours("registries")}


def registry_of(plural: str) -> Registry[Any]:
    registry: Registry[Any] = load_path(registries()[plural])
    return registry
