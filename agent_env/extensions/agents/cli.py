"""agent-env serve proxy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from agent_env.sdk.commands import Opt, OptionGroup, say, with_options
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.models import ModelParameters


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """Which model answers, and where its calls are recorded."""

    model: Annotated[str, Opt("As of run.", shown="reference")] = "reference"
    record: Annotated[Path, Opt("The folder that calls are recorded in; it goes on.")] = Path(
        "calls"
    )
    port: Annotated[int, Opt("0: any free one.", min=0, max=65535)] = 0
    base_url: Annotated[str | None, Opt("Of the server of compatible/ models.")] = None
    parameters: Annotated[Mapping[str, Any], OptionGroup(ModelParameters)] = field(
        default_factory=dict
    )


@with_options(
    "agent_env.extensions.agents.cli:ProxyOptions", first=("model", "record", "port", "base-url")
)
def proxy(options: ProxyOptions) -> None:
    """Record what agents that you start yourself ask of a model, by any of four APIs.

    They get its address and a token and never your key; agent-env episodes import reads the folder.

    Example: agent-env serve proxy --model compatible/NAME@http://127.0.0.1:8000/v1 --record calls
    """
    import asyncio
    import secrets

    from agent_env.extensions.agents.proxy import Proxy
    from agent_env.extensions.agents.recorded import FILE, RecordingDesk
    from agent_env.extensions.serve.hosting import listening, serve_app
    from agent_env.sdk.models import served_name
    from agent_env.sdk.run import make_model, own_plugins

    model = make_model(options.model, options.base_url, options.parameters, own_plugins(), note=say)
    try:
        options.record.mkdir(parents=True, exist_ok=True)
        file = (options.record / FILE).open("a", encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"--record {options.record}: {exc.strerror or exc}") from exc
    token = secrets.token_urlsafe(24)
    with file, listening(options.port) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
            print(f"export {name}={url}{'/v1' if name.startswith('OPENAI') else ''}")
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
            print(f"export {name}={token}", flush=True)
        say(f"Ctrl-C ends it. Then: agent-env episodes import {options.record} --out runs/imported")
        name = served_name(options.model) or options.model
        asyncio.run(serve_app(Proxy(RecordingDesk(model, file), name, token, None), listener))
