"""Where a run's episodes are run: in this process, or over a cluster."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli.run import one_of

if TYPE_CHECKING:
    from agent_env.runs.start import Engine

PANEL = "Scale-out"

EngineName = Annotated[
    str, typer.Option("--engine", help="local, or ray (extra).", rich_help_panel=PANEL)
]
Address = Annotated[
    str | None,
    typer.Option(
        help="ray: the cluster, HOST:PORT; default: RAY_ADDRESS, or this machine alone.",
        rich_help_panel=PANEL,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="ray: actors; default: one a processor.", rich_help_panel=PANEL),
]


def chosen_engine(
    engine: str,
    address: str | None,
    workers: int | None,
    reply_cache: Path | None = None,
    web: str | None = None,
) -> Engine | None:
    """None for the local one; ConfigError where the run cannot be spread."""
    from agent_env.errors import ConfigError

    if one_of(engine, ("local", "ray"), "--engine") == "local":
        if address is not None or workers is not None:
            raise ConfigError("--address and --workers go with --engine ray")
        return None
    from agent_env.runs.ray.engine import RayOptions, check_engine, run_on_ray

    check_engine(reply_cache, web)
    return partial(run_on_ray, options=RayOptions(address, workers))
