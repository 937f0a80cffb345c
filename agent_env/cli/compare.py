"""What finished runs came to: `show` and `compare` print it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli.options import with_options
from agent_env.cli.run import (
    AsJson,
    Wide,
    for_each_run,
    print_scores,
    print_table,
    say,
)
from agent_env.records.escaping import visible
from agent_env.records.options import Opt

if TYPE_CHECKING:
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.requirements import Judged
    from agent_env.runs.comparing.compare import CompareOptions
    from agent_env.runs.run import Run


@with_options("agent_env.runs.comparing.compare:CompareOptions")
def compare(
    options: CompareOptions,
    as_json: Annotated[bool, Opt("Print one JSON object with all tables.", flag="--json")] = False,
    wide: Wide = False,
) -> None:
    """Compare conditions and runs, question by question.

    Example: agent-env compare runs/a runs/b --to md --out compared.md --figures figures,
    or agent-env compare plain=a.eval tools=b.eval --html report.html
    """
    from agent_env.analysis.result_tables import PROSE
    from agent_env.extras import FOR_FIGURES, FOR_REPORT, need_extra
    from agent_env.runs.comparing.compare import (
        FIRST,
        compare_tasks,
        comparison_json,
        draw,
        judge_tasks,
        select_tables,
        write,
        write_report,
    )

    if options.figures or options.html:
        need_extra(*(FOR_REPORT if options.html else FOR_FIGURES))
    tasks = compare_tasks(options, say)
    judged = judge_tasks(tasks, options, say)
    is_all = options.every or (not options.tables and (options.to or options.out or as_json))
    names = None if is_all else options.tables or FIRST
    tables = {each.name: select_tables(each.comparison, names, options.by) for each in tasks}
    if as_json:
        values = {t.name: comparison_json(t.comparison, tables[t.name]) for t in tasks}
        whole = values if len(tasks) > 1 else next(iter(values.values()))
        gate = {"requirements": [asdict(each) for each in judged]} if judged else {}
        print(json.dumps({"tasks": whole} if len(tasks) > 1 else whole | gate, allow_nan=False))
        _end(judged)
        return
    for each in tasks:
        is_one = len(tasks) == 1
        if not is_one and not (options.to or options.out):
            print(f"== {each.name}")
        if options.to or options.out:
            out = options.out
            if out is not None and not is_one:  # the file, or the folder, of one of several tasks
                name = f"{out.stem}-{each.name}{out.suffix}"
                out = out.with_name(name) if out.suffix else out / each.name
            write(tables[each.name], options.to, out, say)
        else:
            for table in tables[each.name]:
                print_table(table, wide, PROSE if names == FIRST else None)
            if names == FIRST:
                print(f"All tables and tests: --all. Other metrics: {_metrics(each.comparison)}.")
        if options.figures is not None:
            folder = options.figures if is_one else options.figures / each.name
            for file in draw(each.comparison, folder):
                say(f"drew {file}")
    if options.html is not None:
        write_report(tasks, options.html, say)
        say(f"wrote {options.html}")
    for verdict in judged:
        print(visible(str(verdict)))
    _end(judged)


def _end(judged: Sequence[Judged]) -> None:
    """The exit code that CI goes by, where there are requirements."""
    from agent_env.analysis.requirements import exit_code

    if code := exit_code(judged):
        sys.exit(code)


def _metrics(comparison: Comparison) -> str:
    others = [name for name in comparison.study.metrics if name != comparison.metric]
    return f"--metric {', '.join(others)}" if others else "none"


def show(
    target: Annotated[
        Path,
        typer.Argument(
            help="A run, a study or a folder of runs; or an episode: RUN/CONDITION/SAMPLE.1.",
            metavar="TARGET",
        ),
    ],
    why: Annotated[
        bool, Opt("Where answers came from, what failed first, and how far look-ups got.")
    ] = False,
    prices: Annotated[
        Path | None,
        Opt(
            "At other prices than the run's: a table of models (agent-env docs limits shows "
            "the form)."
        ),
    ] = None,
    fail_on_change: Annotated[bool, Opt("Exit 1 where an earlier verdict changed.")] = False,
    full: Annotated[bool, Opt("For an episode: do not shorten long texts.")] = False,
    as_json: AsJson = False,
    wide: Wide = False,
) -> None:
    """Show a run's scores, why answers are wrong, or one of its episodes.

    Scores are made again from the traces alone; earlier verdicts that changed are listed. An
    episode is printed readably: how it was asked, what was said, what is thought of its answer.

    Example: agent-env show runs/first, or agent-env show runs/first --why,
    or agent-env show runs/first/web/tp-1-00001.1
    """
    from agent_env.episodes.run_folder import trace_file
    from agent_env.errors import ConfigError, nearest
    from agent_env.runs.run import Run

    trace = trace_file(target)
    if trace != target and not trace.is_file():
        run = Run.open(trace.parents[2])
        names = [run.key_of(each) for each in run.traces()]
        close = nearest(f"{trace.parent.name}/{trace.name.removesuffix('.jsonl')}", names, 3, 0.0)
        known = ", ".join(f"{run.path}/{name}" for name in close) or "none"
        raise ConfigError(f"there is no episode {target}; the nearest: {known}")
    if trace != target or _is_trace(trace):
        if prices or fail_on_change:
            raise ConfigError(f"{target} is an episode; --prices and --fail-on-change are for runs")
        _show_episode(trace, as_json, full)
        return
    if not target.is_dir():
        raise ConfigError(
            f"{target} is not a run, a study, a folder of runs or an episode; name an episode as "
            "RUN/CONDITION/SAMPLE.1"
        )
    if full:
        raise ConfigError(f"{target} is not an episode; --full is for one: RUN/CONDITION/SAMPLE.1")

    def show_run(path: Path, name: str) -> None:
        if why:
            _show_why(Run.open(path), as_json, wide)
            return
        rescored = print_scores(Run.open(path), as_json, prices, changes=True, wide=wide)
        if fail_on_change and rescored.changed:
            sys.exit(1)

    for_each_run(target, show_run, as_json)


def _is_trace(file: Path) -> bool:
    """Whether the file may hold events: it is JSON lines, and no others, such as questions."""
    if file.suffix != ".jsonl" or not file.is_file():
        return False
    with file.open("rb") as lines:
        first = lines.readline(1_000_000)
    try:
        return "kind" in json.loads(first)
    except (ValueError, TypeError, RecursionError):  # a broken trace is told by its line
        return True


def _show_episode(trace: Path, as_json: bool, full: bool) -> None:
    from agent_env.runs.run import Run
    from agent_env.runs.scores.assessment import assess
    from agent_env.runs.scores.score import episode_text

    if as_json:
        run = Run.open(trace.parents[2])
        record = assess(run, run.events(trace).events).provenance
        print(record.model_dump_json() if record else "null")
        return
    for part in episode_text(trace, full):
        print(part, end="\n\n")


def _show_why(run: Run, as_json: bool, wide: bool) -> None:
    from agent_env.analysis.result_tables import as_objects
    from agent_env.analysis.statistics import statistics_of, tables_of
    from agent_env.analysis.statistics.provenance import WHY, records_of

    comparison = run.comparison(say)
    tables = tables_of(comparison, (s for s in statistics_of(comparison) if s.section == WHY))
    records = [record for own in records_of(comparison).values() for record in own]
    if not as_json:
        for table in tables:
            print_table(table, wide)
        if wrong := next((record.episode for record in records if record.failure), None):
            print(f"Look at one: agent-env show {shlex.quote(f'{run.path}/{wrong}')}")
        return
    episodes = [record.model_dump(mode="json") for record in records]
    print(json.dumps({"run": str(run.path), **as_objects(tables), "episodes": episodes}))
