"""`compare` and `show --why`: read runs, analyse them, write tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.errors import ConfigError
from agent_env.extras import FOR_FIGURES, FOR_REPORT, need_extra
from agent_env.models.addresses import short_names
from agent_env.records.options import Opt
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.logs import is_log, logs
from agent_env.runs.run import Run
from agent_env.runs.studies import studies
from agent_env.runs.study import find_runs, read_manifests, read_study
from agent_env.tasks.sample_files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.examples import ExampleAnswer
    from agent_env.analysis.requirements import Judged
    from agent_env.analysis.result_tables import Format, ResultTable
    from agent_env.analysis.study import Study
    from agent_env.records.manifest import Manifest


@dataclass(frozen=True, slots=True)
class CompareOptions:
    runs: Annotated[
        tuple[Path, ...],
        Opt(
            "Folders of runs, or of several runs; or logs of Inspect or lm-eval; or tables "
            "with --columns.",
            metavar="RUN...",
            argument=True,
        ),
    ]
    metric: Annotated[str | None, Opt("Default: the task's main one.")] = None
    baseline: Annotated[
        str | None,
        Opt(
            "Compare all with this condition of their run, or with one 'MODEL CONDITION'. "
            "Default: in each run with its first, and between runs with the same condition of the "
            "first run."
        ),
    ] = None
    contrasts: Annotated[
        tuple[str, ...],
        Opt(
            "Estimate these instead: web+python:web (in each run), web@A:web@B, "
            "(web:base)@A:(web:base)@B. Repeatable.",
            flag="--contrast",
        ),
    ] = ()
    by: Annotated[
        tuple[str, ...],
        Opt("Break down by: solutions, facts, 'fact type', calendar, … Repeatable."),
    ] = ()
    tables: Annotated[
        tuple[str, ...],
        Opt(
            "Which tables: conditions, differences, shortcuts, tools_check, use, reliability, "
            "answers, failures, evidence, … Repeatable.",
            flag="--table",
        ),
    ] = ()
    every: Annotated[bool, Opt("All tables that have something to show.", flag="--all")] = False
    to: Annotated[str | None, Opt("md, csv, json or latex.")] = None
    out: Annotated[Path | None, Opt("Write there; for csv a folder, a file for each table.")] = None
    figures: Annotated[Path | None, Opt("Draw the figures into this folder, SVG, PNG and PDF.")] = (
        None
    )
    html: Annotated[Path | None, Opt("Write tables, figures and method as one HTML file.")] = None
    margin: Annotated[
        float | None,
        Opt("Report where a difference is shown to be smaller than this.", min=0.001, max=1),
    ] = None
    columns: Annotated[
        Path | None, Opt("A TOML file that says what the columns of a table of results are.")
    ] = None
    cluster: Annotated[
        str | None,
        Opt("Of logs and imported runs: samples with the same value of this field form a cluster."),
    ] = None
    require: Annotated[
        tuple[str, ...],
        Opt(
            "For CI: 'web-base >= 0.05' (by its 95 % CI), 'web > 0.5', 'cost <= 2', 'failed <= 0', "
            "'tokens < 1e6'. Exit code 1: not met; 3: not known yet. Repeatable."
        ),
    ] = ()
    junit: Annotated[Path | None, Opt("Write the results of --require as JUnit XML.")] = None
    strict: Annotated[bool, Opt("Refuse runs over different samples.")] = False


@dataclass(frozen=True, slots=True)
class TaskComparison:
    name: str
    """Of the task in its study; else the task."""
    paths: tuple[Path, ...]
    """Of its runs; none of logs of other tools."""
    comparison: Comparison
    manifests: Mapping[str, Manifest]
    """Of its runs, by name."""


def compare_tasks(
    options: CompareOptions, note: Callable[[str], None], objects: Objects = NO_OBJECTS
) -> list[TaskComparison]:
    """Compares all conditions of all runs, each task by itself; or logs of other tools."""
    if options.columns is not None or any(map(is_log, options.runs)):
        return [_compare_logs(options, note)]
    folders: dict[str, list[Path]] = {}
    for path in find_runs(options.runs, note):
        manifest = Run.open(path, objects).manifest
        name = manifest.task if manifest.study is None else path.resolve().parent.name
        folders.setdefault("imported" if manifest.imported else name, []).append(path)
    tasks = []
    for name, paths in folders.items():
        task_options = replace(options, runs=tuple(paths))
        try:
            comparison = compare_folders(task_options, note, objects)
            tasks.append(TaskComparison(name, tuple(paths), comparison, read_manifests(paths)))
        except ConfigError as exc:
            raise ConfigError(f"{name}: {exc}" if len(folders) > 1 else str(exc)) from exc
    return tasks


def _compare_logs(options: CompareOptions, note: Callable[[str], None]) -> TaskComparison:
    if runs := [path for path in options.runs if path.is_dir() and not is_log(path)]:
        raise ConfigError(
            f"{runs[0]} is not a log: compare runs with runs, and logs with logs; "
            "agent-env episodes import makes a run of a log"
        )
    study, manifests = logs().study_of_logs(
        options.runs, options.columns, options.cluster, options.strict, note
    )
    return TaskComparison(study.task, (), _comparison(options, study), manifests)


def compare_folders(
    options: CompareOptions, note: Callable[[str], None], objects: Objects = NO_OBJECTS
) -> Comparison:
    """Compares all conditions of all runs; ConfigError for a single one, and for several tasks."""
    study = read_study(options.runs, options.strict, note, objects, options.cluster)
    reader = studies()
    contrasts = () if reader is None else reader.contrasts_of(find_runs(options.runs))
    return _comparison(options, study, *contrasts)


def _comparison(
    options: CompareOptions,
    study: Study,
    planned: tuple[str, ...] = (),
    added: tuple[str, ...] = (),
) -> Comparison:
    """With the contrasts that were planned before the data, and those added later."""
    from agent_env.analysis.comparison import Comparison, Options
    from agent_env.analysis.contrast_text import readable_contrasts

    if options.baseline is not None and options.contrasts:
        raise ConfigError("--baseline and --contrast exclude each other; write AFTER:BEFORE alone")
    alone = options.tables or options.every or options.html or options.require
    if len(study.arms) < 2 and not alone:
        raise ConfigError(
            "there is one condition only; a comparison needs two, but --table NAME shows a table "
            "of one"
        )
    contrasts = options.contrasts
    if not contrasts and added and options.baseline is None:
        contrasts = readable_contrasts((*planned, *added), study.arms)
    return Comparison(
        study,
        Options(
            metric=options.metric,
            baseline=options.baseline,
            contrasts=contrasts,
            planned=planned,
            margin=options.margin,
        ),
    )


def judge_tasks(
    tasks: Sequence[TaskComparison], options: CompareOptions, say: Callable[[str], None]
) -> list[Judged]:
    """The requirements judged for each task; with `--junit` also written."""
    from agent_env.analysis.requirements import judge, junit

    judged = {each.name: judge(options.require, each.comparison) for each in tasks}
    every = [each for of_task in judged.values() for each in of_task]
    if options.junit is not None:
        write_whole(options.junit, junit(every, f"agent-env {', '.join(judged)}").encode())
        say(f"wrote {options.junit}")
    return every


FIRST = ("conclusions", "conditions")
"""What `compare` prints unasked."""


def select_tables(
    comparison: Comparison, names: Sequence[str] | None, by: Sequence[str]
) -> list[ResultTable]:
    """The named tables, or every one that has rows; then the breakdowns."""
    from agent_env.analysis.statistics import statistics_named, statistics_of, tables_of
    from agent_env.analysis.statistics.results import breakdown

    if names is None:
        tables, by = tables_of(comparison, statistics_of(comparison)), list(comparison.groups)
    else:
        tables = []
        for each in statistics_named(comparison, names):
            table = each(comparison)
            if not table.rows and each.without_rows:
                table = replace(table, columns=(), notes=(each.without_rows,))
            tables.append(table)
    return [*tables, *(breakdown(comparison, name) for name in by)]


def write(
    tables: Sequence[ResultTable], to: str | None, out: Path | None, say: Callable[[str], None]
) -> None:
    """Writes to `out`, else to standard output; the default format is by the file's suffix."""
    from agent_env.analysis.result_tables import render

    fmt = _format(to, out)
    if out is None:
        print(render(tables, fmt), end="")
        return
    if fmt == "csv":
        for table in tables:
            write_whole(out / f"{table.name}.csv", table.csv().encode())
    else:
        write_whole(out, render(tables, fmt).encode())
    say(f"wrote {len(tables)} tables to {out}")


def comparison_json(comparison: Comparison, tables: Sequence[ResultTable]) -> dict[str, object]:
    """What `--json` prints: the tables, each condition's totals, full names of models."""
    from agent_env.analysis.result_tables import as_objects

    spent = {
        arm.label: arm.spent.as_json() for arm in comparison.study.arms if arm.spent is not None
    }
    models = {arm.model_label: arm.model for arm in comparison.study.arms}
    return {**as_objects(tables), "spent": spent, "models": models}


def _format(to: str | None, out: Path | None) -> Format:
    from agent_env.analysis.result_tables import FORMATS

    endings = {".md": "md", ".csv": "csv", ".json": "json", ".tex": "latex"}
    suffix = out.suffix if out else ""
    if to is None and suffix and suffix not in endings:
        raise ConfigError(f"no format goes with {suffix}; known: {', '.join(endings)}")
    name = to or endings.get(suffix, "md")
    if name == "csv" and out is not None and suffix in endings:
        raise ConfigError(
            f"--out {out}: csv takes a folder, for a file of each table; write --to csv --out "
            f"{out.with_suffix('')}"
        )
    for fmt in FORMATS:
        if fmt == name:
            return fmt
    raise ConfigError(f"unknown format '{name}'; known: {', '.join(FORMATS)}")


def figures_of(comparison: Comparison) -> dict[str, Figure]:
    need_extra(*FOR_FIGURES)
    from agent_env.analysis.figures import all_figures

    return all_figures(comparison)


def draw(comparison: Comparison, folder: Path) -> Iterator[Path]:
    if folder.is_file():
        raise ConfigError(f"{folder} is a file; --figures takes a folder")
    figures = figures_of(comparison)
    from agent_env.analysis.drawing import save

    for name, figure in figures.items():
        yield from save(figure, folder, name)


def _text_of(paths: Mapping[str, Path], objects: Objects, answer: ExampleAnswer) -> str:
    """An episode readably, as `show` prints it; of a log of another tool its place alone."""
    from agent_env.runs.scores.score import episode_text

    trace = paths.get(answer.run, Path()) / "episodes" / f"{answer.episode}.jsonl"
    if not trace.is_file():
        return f"{answer.run}: {answer.episode}"
    return "\n\n".join(episode_text(trace, objects=objects))


def write_report(
    tasks: Sequence[TaskComparison],
    out: Path,
    note: Callable[[str], None],
    objects: Objects = NO_OBJECTS,
    title: str | None = None,
) -> None:
    """Writes the comparisons as one HTML file, a chapter for each task."""
    need_extra(*FOR_REPORT)
    from agent_env.analysis.report import chapter_of, report_of

    chapters = [
        chapter_of(
            each.comparison, each.manifests, each.name if len(tasks) > 1 else "",
            partial(_text_of, dict(zip(each.manifests, each.paths, strict=False)), objects),
        )
        for each in tasks
    ]  # fmt: skip
    arms = (arm for each in tasks for arm in each.comparison.study.arms)
    models = short_names(arm.model for arm in arms).values()
    names = ", ".join(dict.fromkeys(each.comparison.study.task for each in tasks))
    text = report_of(chapters, title or f"{names}: {', '.join(models)}")
    write_whole(out, text.encode("utf-8", "replace"))
