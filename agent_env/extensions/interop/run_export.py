"""Exports a run in another tool's format, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from agent_env.sdk.commands import Opt, need_extra
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import parse_where
from agent_env.sdk.records import new_folder
from agent_env.sdk.run import Registry, ours, own_plugins

if TYPE_CHECKING:
    from agent_env.extensions.interop.export.source import Choice, MeanScore, Results, Source
    from agent_env.sdk.results import Comparison
    from agent_env.sdk.run import Run

EXPORTERS: Registry[Callable[[Source, Path], dict[str, int]]] = Registry(
    "exporter",
    "exporters",
    "a function of a Source and a new folder that returns what it wrote, counted",
    lambda thing, name: thing if callable(thing) else None,
    partial(ours, "exporters"),
)
"""By the name of the format."""
OF_RESULTS = ("eee", "hf")
"""Formats of means, which are those of `show`."""
_BENCHMARK = re.compile(r"([A-Za-z0-9][\w.-]*/[\w.-]+)(?::([\w.-]+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of `export`."""

    to: Annotated[
        str,
        Opt(
            "jsonl, parquet, inspect, otel, verifiers, sft, atif, eee, hf, or a format that "
            "an installed package brings (`agent-env list exporters`)."
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
    endpoint: Annotated[str, Opt("Of the collector, for otel.")] = "http://127.0.0.1:4318"
    content: Annotated[bool, Opt("otel: send messages and tool results too.")] = False
    benchmark: Annotated[
        str | None,
        Opt(
            "hf, eee: the dataset of the Hugging Face Hub that was asked; TASK as in its "
            "eval.yaml, else default.",
            metavar="ORG/DATASET[:TASK]",
        ),
    ] = None
    organization: Annotated[str | None, Opt("eee: who evaluated; default: unknown.")] = None
    pack: Annotated[
        Path | None, Opt("eee, hf, inspect: point to this pack of the run by its digest.")
    ] = None


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
    from agent_env.extensions.interop.export.source import Source

    if options.to not in (formats := (*EXPORTERS.names(), "otel")):
        raise ConfigError(f"--to {options.to}: write one of {', '.join(formats)}")
    broken: list[str] = []

    def on_broken(reason: str) -> None:
        broken.append(reason)
        note(f"left out: {reason}")

    if options.to in OF_RESULTS:  # traces are read for the means first, and complained of then
        results = _results(run, options, on_broken)
        source = Source(run, run.task, lambda reason: None, _choice(run, options), results)
    else:
        source = Source(run, run.task, on_broken, _choice(run, options))
    if options.to == "otel":
        where, counts = _send(source, options)
    else:
        where, counts = _write_folder(source, options)
    return ExportResult(where, counts, source.left_out, len(broken))


def _results(run: Run, options: ExportOptions, on_broken: Callable[[str], None]) -> Results:
    """The means of whole conditions, with the intervals of `show`."""
    from agent_env.extensions.interop.export.source import Results

    fields = [parse_where(text).field for text in options.where]
    if options.min_score is not None or set(fields) - {"condition"}:
        raise ConfigError(
            f"--to {options.to} has the means of whole conditions: of the filters it takes "
            "--where condition=NAME alone"
        )
    benchmark = _BENCHMARK.fullmatch(options.benchmark or "")
    if benchmark is None and (options.benchmark is not None or options.to == "hf"):
        raise ConfigError(
            f"--benchmark {options.benchmark or 'is needed'}: write the dataset of the Hugging "
            "Face Hub that was asked, ORG/DATASET or ORG/DATASET:TASK, TASK as in its eval.yaml"
        )
    comparison = run.comparison(lambda text: on_broken(text.removeprefix("left out: ")))
    conditions = {v for text in options.where for v in parse_where(text).values}
    known = {condition.name for condition in run.manifest.conditions}
    if unknown := sorted(conditions - known):
        raise ConfigError(
            f"--where condition={','.join(unknown)}: the run has {', '.join(sorted(known))}"
        )
    return Results(
        means=tuple(_means(comparison, conditions)),
        notes=comparison.study.notes,
        benchmark=benchmark and benchmark[1],
        benchmark_task=(benchmark and benchmark[2]) or "default",
        organization=options.organization or "unknown",
    )


def _means(comparison: Comparison, conditions: Collection[str]) -> Iterator[MeanScore]:
    """Of these conditions; none named: of all."""
    from agent_env.extensions.interop.export.source import MeanScore

    study = comparison.study
    for metric in study.metrics:
        is_error = metric in study.error_metrics
        for arm, mean in zip(study.arms, comparison.estimates_of(metric), strict=True):
            finished = [each for each in arm.observations if each.counts]
            if mean.value is not None and (not conditions or arm.condition.name in conditions):
                yield MeanScore(
                    arm.condition.name, metric, mean.value, mean.low, mean.high, mean.method,
                    mean.samples, len(finished), is_error,
                    not is_error and all(0 <= o.metrics.get(metric, 0) <= 1 for o in finished),
                    arm.problem,
                )  # fmt: skip


def _choice(run: Run, options: ExportOptions) -> Choice:
    """The episodes by the filters of `agent-env episodes list`, and by score."""
    from agent_env.extensions.interop.export.source import Choice

    if options.metric is not None and options.metric not in run.task.metrics:
        known = ", ".join(run.task.metrics)
        raise ConfigError(f"--metric {options.metric}: write one of {known}")
    names = None
    if options.where:
        rows, _ = run.episode_rows(options.where)
        names = frozenset(row.values["episode"] for row in rows)
    pack = None if options.pack is None else _pack(run, options.pack)
    return Choice(names, options.metric, options.min_score, pack)


def _pack(run: Run, file: Path) -> str:
    """The pack by name and digest; ConfigError where it is not one of this run."""
    try:
        with zipfile.ZipFile(file) as archive, file.open("rb") as opened:
            packed = json.loads(archive.read("run/run.json"))["id"]
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as exc:
        raise ConfigError(f"--pack {file} is no pack: {exc}") from exc
    if packed != run.manifest.id:
        raise ConfigError(f"--pack {file} is of the run {packed}, not of {run.manifest.id}")
    return f"{file.name} sha256:{digest}"


def _send(source: Any, options: ExportOptions) -> tuple[str, dict[str, int]]:
    need_extra("opentelemetry.exporter.otlp.proto.http", what="--to otel")
    from agent_env.extensions.interop.export.collector import check_headers
    from agent_env.extensions.interop.export.otel import Collector, send

    check_headers(options.endpoint)
    collector = Collector(options.endpoint, options.content)
    return collector.url, send(source, collector)


def _write_folder(source: Any, options: ExportOptions) -> tuple[str, dict[str, int]]:
    write = own_plugins().find(EXPORTERS, options.to)
    out = options.out or source.folder.place(f"exports/{options.to}")
    if out.exists() and (not out.is_dir() or (options.out is not None and any(out.iterdir()))):
        raise ConfigError(f"{out} is there already; name a new folder with --out")
    try:
        with new_folder(out) as part:
            return str(out), write(source, part)
    except OSError as exc:
        raise ConfigError(f"cannot write to {out}: {exc.strerror}") from exc
