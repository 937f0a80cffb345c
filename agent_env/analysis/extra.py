"""The modules of the extra `analysis`, which not every user has."""

from __future__ import annotations

from importlib import import_module

from agent_env.errors import ConfigError

FOR_FIGURES = ("matplotlib",)
FOR_REPORT = ("jinja2", "matplotlib", "scipy")


def need_extra(*modules: str) -> None:
    """ConfigError that names the extra of missing modules."""
    if missing := missing_of(*dict.fromkeys(modules)):
        raise ConfigError(f"this needs {', '.join(missing)}: pip install 'agent-env[analysis]'")


def missing_of(*modules: str) -> list[str]:
    """The modules that cannot be imported."""
    missing = []
    for name in modules:
        try:
            import_module(name)
        except ImportError:
            missing.append(name)
    return missing
