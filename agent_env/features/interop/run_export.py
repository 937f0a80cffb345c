"""Exports a run in another tool's format, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import new_folder
from agent_env.sdk.run import Registry, ours, own_plugins

if TYPE_CHECKING:
    from agent_env.features.interop.export.source import Source
    from agent_env.sdk.run import Run

EXPORTERS: Registry[Callable[[Source, Path], dict[str, int]]] = Registry(
    "exporter",
    "exporters",
    "a function of a Source and a new folder that returns what it wrote, counted",
    lambda thing, name: thing if callable(thing) else None,
    partial(ours, "exporters"),
)
"""By the name of the format."""


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of `export`."""

    to: Annotated[
        str,
        Opt(
            "jsonl, parquet, inspect, verifiers, sft, atif, or a format that an installed "
            "package brings (`agent-env list exporters`)."
        ),
    ]
    out: Annotated[
        Path | None,
        Opt(
            "A new folder, with one for each of several runs; default: RUN/exports/FORMAT, "
            "made anew."
        ),
    ] = None
    where: Annotated[
        tuple[str, ...], Opt("FIELD=A,B as in `agent-env episodes list`. Repeatable.")
    ] = ()
    min_score: Annotated[float | None, Opt("Only episodes with at least this score.")] = None
    metric: Annotated[str | None, Opt("The score meant; default: the task's main metric.")] = None


@dataclass(frozen=True, slots=True)
class ExportResult:
    where: str
    """The folder."""
    counts: dict[str, int]
    left_out: int
    """Episodes that were not selected."""
    broken: int
    """Unreadable traces."""


def export(run: Run, options: ExportOptions, note: Callable[[str], None]) -> ExportResult:
    """Writes the export, replacing the folder of an earlier one. ConfigError if the format's
    package is not installed."""
    from agent_env.features.interop.export.source import Source

    if options.to not in (formats := EXPORTERS.names()):
        raise ConfigError(f"--to {options.to}: write one of {', '.join(formats)}")
    broken: list[str] = []

    def on_broken(reason: str) -> None:
        broken.append(reason)
        note(f"left out: {reason}")

    # the episodes by the filters of `agent-env episodes list`, and by score
    from agent_env.features.interop.export.source import Choice

    if options.metric is not None and options.metric not in run.task.metrics:
        known = ", ".join(run.task.metrics)
        raise ConfigError(f"--metric {options.metric}: write one of {known}")
    names = None
    if options.where:
        rows, _ = run.episode_rows(options.where)
        names = frozenset(row.values["episode"] for row in rows)
    source = Source(run, run.task, on_broken, Choice(names, options.metric, options.min_score))
    write = own_plugins().find(EXPORTERS, options.to)
    out = options.out or run.place(f"exports/{options.to}")
    if out.exists() and (not out.is_dir() or (options.out is not None and any(out.iterdir()))):
        raise ConfigError(f"{out} is there already; name a new folder with --out")
    try:
        with new_folder(out) as part:
            counts = write(source, part)
    except OSError as exc:
        raise ConfigError(f"cannot write to {out}: {exc.strerror}") from exc
    return ExportResult(str(out), counts, source.left_out, len(broken))
