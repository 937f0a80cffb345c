"""The optional packages: which extra of agent-env brings each module.

A command that needs one asks `need_extra` before it does anything that costs. What is imported
nevertheless where it is not installed ends the command with the same line (`cli.app.main`).
"""

from __future__ import annotations

from importlib import import_module

from agent_env.errors import ConfigError

EXTRAS: dict[str, tuple[str, ...]] = {
    "analysis": ("jinja2", "matplotlib", "pandas"),
    "viewer": ("jinja2", "starlette", "uvicorn"),
    "serve": ("httptools", "starlette", "uvicorn"),
    "tdbench": ("duckdb", "sqlglot"),
    "answers": ("datefinder", "dateutil", "sklearn"),
    "parquet": ("pyarrow",),
    "pdf": ("pypdf",),
    "warc": ("warcio",),
    "search": ("tantivy",),
    "mcp": ("mcp",),
    "inspect": ("inspect_ai",),
    "tokenizers": ("bpe_openai",),
    "local": ("xllamacpp",),
    "ray": ("ray",),
    "dev": ("hypothesis",),
}
FOR_FIGURES = ("matplotlib",)
FOR_REPORT = ("jinja2", "matplotlib")


def need_extra(*modules: str, extra: str | None = None, what: str = "this") -> None:
    """ConfigError that names the extra of missing modules; `extra`, where several have them."""
    if missing := missing_of(*dict.fromkeys(modules)):
        raise ConfigError(how_to_install(*missing, extra=extra, what=what) or missing[0])


def check_sdk() -> None:
    """ConfigError where the SDK of MCP is not installed."""
    import logging

    need_extra("mcp.client", what="an MCP server")
    for name in ("client", "mcp"):  # it logs what the transport has told already
        logging.getLogger(name).setLevel(logging.CRITICAL)


def missing_of(*modules: str) -> list[str]:
    """The modules that cannot be imported."""
    missing = []
    for name in modules:
        try:
            import_module(name)
        except ImportError:
            missing.append(name)
    return missing


def how_to_install(*modules: str, extra: str | None = None, what: str = "this") -> str | None:
    """What to do about missing modules; None where the first is of no extra."""
    top = modules[0].partition(".")[0]
    if top == "agent_env":
        return f"{what} needs {modules[0]}, which was left out of this installation"
    extra = extra or next((name for name, packages in EXTRAS.items() if top in packages), None)
    if extra is None:
        return None
    return f"{what} needs {', '.join(modules)}: pip install 'agent-env[{extra}]'"
