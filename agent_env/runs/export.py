"""Exports a run in another tool's format, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.errors import ConfigError
from agent_env.records.safe_files import new_folder
from agent_env.tasks.where import parse_where

if TYPE_CHECKING:
    from agent_env.episodes.export.source import Choice
    from agent_env.runs.run import Run

WRITERS = {
    "jsonl": ("jsonl", None, None),
    "parquet": ("parquet", "pyarrow", "parquet"),
    "inspect": ("inspect_log", "inspect_ai", "inspect"),
    "verifiers": ("rollouts", None, None),
    "sft": ("sft", None, None),
    "atif": ("atif", None, None),
}
"""By format: our module, the package that it needs, and its extra."""
FORMATS = (*WRITERS, "otel")


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of `export`."""

    to: str
    out: Path | None = None
    """The folder; None: RUN/exports/FORMAT."""
    where: Sequence[str] = ()
    metric: str | None = None
    min_score: float | None = None
    endpoint: str = "http://127.0.0.1:4318"
    """Of the collector, for otel."""
    content: bool = False
    """Whether otel spans have the messages."""


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The result of an export."""

    where: str
    """The folder, or the collector's URL."""
    counts: dict[str, int]
    left_out: int
    """Episodes that were not selected."""
    broken: int
    """Unreadable traces."""


def export(run: Run, options: ExportOptions, note: Callable[[str], None]) -> ExportResult:
    """Writes the export, replacing the folder of an earlier one. ConfigError if the format's
    package is not installed."""
    from agent_env.episodes.export.source import Source

    if options.to not in FORMATS:
        raise ConfigError(f"--to {options.to}: write one of {', '.join(FORMATS)}")
    broken: list[str] = []

    def on_broken(reason: str) -> None:
        broken.append(reason)
        note(f"left out: {reason}")

    source = Source(run, run.task, on_broken, _choice(run, options))
    if options.to == "otel":
        where, counts = _send(source, options)
    else:
        where, counts = _write_folder(source, options)
    return ExportResult(where, counts, source.left_out, len(broken))


def _choice(run: Run, options: ExportOptions) -> Choice:
    """The episodes by the filters of `agent-env episodes`, and by score."""
    from agent_env.episodes.export.source import Choice
    from agent_env.episodes.index import Index

    if options.metric is not None and options.metric not in run.task.metrics:
        known = ", ".join(run.task.metrics)
        raise ConfigError(f"--metric {options.metric}: write one of {known}")
    names = None
    if options.where:
        index = Index(run)
        try:
            index.update()
            rows = index.rows([parse_where(text) for text in options.where])
            names = frozenset(row.values["episode"] for row in rows)
        finally:
            index.close()
    return Choice(names, options.metric, options.min_score)


def _send(source: Any, options: ExportOptions) -> tuple[str, dict[str, int]]:
    _needs("opentelemetry.exporter.otlp.proto.http", "otel", "otel")
    from agent_env.episodes.export.otel import Collector, send

    collector = Collector(options.endpoint, options.content)
    return collector.url, send(source, collector)


def _write_folder(source: Any, options: ExportOptions) -> tuple[str, dict[str, int]]:
    module, package, extra = WRITERS[options.to]
    if package is not None and extra is not None:
        _needs(package, extra, options.to)
    out = options.out or source.folder.place(f"exports/{options.to}")
    if out.exists() and (not out.is_dir() or (options.out is not None and any(out.iterdir()))):
        raise ConfigError(f"{out} is there already; name a new folder with --out")
    writer = import_module(f"agent_env.episodes.export.{module}")
    try:
        with new_folder(out) as part:
            return str(out), writer.write(source, part)
    except OSError as exc:
        raise ConfigError(f"cannot write to {out}: {exc.strerror}") from exc


def _needs(package: str, extra: str, to: str) -> None:
    try:
        import_module(package)
    except ImportError as exc:
        raise ConfigError(
            f"--to {to} needs the extra '{extra}': pip install 'agent-env[{extra}]'"
        ) from exc
