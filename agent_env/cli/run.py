"""What commands share: tables on the terminal, progress, interruption, scores.

Tables stand within 100 columns, or the terminal's width; no figure is cut away.
"""

from __future__ import annotations

import io
import json
import signal
import sys
import textwrap
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from agent_env.records.escaping import visible
from agent_env.runs.terminal import raw
from agent_env.runs.terminal import say as say

if TYPE_CHECKING:
    from agent_env.analysis.result_tables import ResultTable
    from agent_env.episodes.results import Rescoring
    from agent_env.records.schema import Score
    from agent_env.runs.many import ListenerFor
    from agent_env.runs.progress import Progress
    from agent_env.runs.run import Run
    from agent_env.runs.start import Listener

ROOM = 100
"""Characters of a line where nobody says how wide it may be."""
Wide = Annotated[
    bool, typer.Option("--wide", help="All columns of the tables, however wide they are.")
]


def print_table(table: ResultTable, wide: bool = False) -> None:
    """Its title, its columns that say something, its notes. Of a table that is too wide the
    secondary columns are left out, unless `wide`; then headings and the first column wrap, and
    columns that still do not fit follow in parts."""
    from rich.console import Console
    from rich.segment import Segment, Segments

    filled = table.without_empty()
    unbounded = max(ROOM, _width(filled))
    room = Console().width if sys.stdout.isatty() else unbounded if wide else ROOM
    shown = filled if wide else _fitting(filled, room)
    print(table.title)
    if shown.is_list:
        print("\n".join(_lines(text, room, "  - ") for (text,) in shown.texts()))
    for part, is_dense in [] if shown.is_list or not shown.columns else in_parts(shown, room):
        rich = part.terminal(is_dense)
        width = part.dense_width() if is_dense else _width(part)
        console = Console(file=raw(sys.stdout), width=max(room, width))
        segments = console.render(rich)
        console.print(Segments(Segment(visible(s.text), s.style, s.control) for s in segments))
    for note in [*table.notes, *_hidden(filled, shown)]:
        print(_lines(note, room, "  "))
    print()


def _lines(text: str, room: int, mark: str) -> str:
    return textwrap.fill(
        visible(text), room, initial_indent=mark, subsequent_indent=" " * len(mark)
    )


def _fitting(table: ResultTable, room: int) -> ResultTable:
    while _width(table) > room and (fewer := table.fewer_columns()) is not None:
        table = fewer
    return table


def _hidden(filled: ResultTable, shown: ResultTable) -> list[str]:
    names = [column.name for column in filled.columns if column not in shown.columns]
    return [f"More columns with --wide: {', '.join(names)}."] if names else []


def _width(table: ResultTable) -> int:
    """Characters of its lines where nothing wraps: a space beside each cell and between columns."""
    from rich.cells import cell_len

    rows = [[column.name for column in table.columns], *table.texts()]
    return sum(max(map(cell_len, texts)) + 3 for texts in zip(*rows, strict=True)) + 1


def in_parts(table: ResultTable, room: int) -> list[tuple[ResultTable, bool]]:
    """The table, whole where it fits into `room` characters as it is; dense where it fits so; else
    dense in several parts, each with the first column and as many others as fit."""
    if _width(table) <= room:
        return [(table, False)]
    parts = [[0]]
    for column in range(1, len(table.columns)):
        if len(parts[-1]) > 1 and table.of_columns([*parts[-1], column]).dense_width() > room:
            parts.append([0])
        parts[-1].append(column)
    return [(table.of_columns(columns), True) for columns in parts]


SHOWN_CHANGES = 10

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
RunPath = Annotated[
    Path, typer.Argument(help="A run's folder, a study, or a folder of runs.", metavar="RUN")
]
Chosen = TypeVar("Chosen", bound=str)


def for_each_run(folder: Path, act: Callable[[Path, str], object], as_json: bool = False) -> None:
    """`act` on the run, or on each run below the folder in turn, with its path and its name there,
    which is "" for the run itself. Of several runs one JSON object has all that they print; an
    error of one is told, and the next has its turn. Exit code: the highest of theirs."""
    from agent_env.errors import AgentEnvError, ConfigError, DatasetError
    from agent_env.runs.study import find_runs

    paths = find_runs([folder], say)
    if paths == [folder]:
        act(folder, "")
        return
    code, objects = 0, []
    for path in paths:
        name = str(path.relative_to(folder))
        if not as_json:
            print(f"== {name}")
        printed = io.StringIO()
        try:
            with redirect_stdout(printed) if as_json else nullcontext():
                act(path, name)
        except SystemExit as exc:
            code = max(code, int(exc.code or 0))
        except AgentEnvError as exc:
            say(f"{name}: {exc}")
            code = max(code, 2 if isinstance(exc, ConfigError | DatasetError) else 1)
        if printed.getvalue():
            objects.append(json.loads(printed.getvalue()))
    if as_json:
        print(json.dumps({"folder": str(folder), "runs": objects}))
    if code:
        sys.exit(code)


@contextmanager
def listening() -> Iterator[tuple[Listener, list[Run]]]:
    """Progress of a run on stderr; Ctrl-C, or a signal to end, says how to go on."""
    with _progress() as progress:
        yield progress.listener, progress.runs


@contextmanager
def _progress(again: str | None = None) -> Iterator[Progress]:
    """Progress on stderr; what stops it says how to go on, by the command `again`."""
    from agent_env.runs.progress import progress_shown

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    runs: list[Run] = []
    try:
        with progress_shown(again=again) as progress:
            runs = progress.runs
            yield progress
    except KeyboardInterrupt:
        if not runs:
            say("Stopped before the first episode.")
        sys.exit(130)


def side_by_side(
    go: Callable[[ListenerFor], Coroutine[Any, Any, Mapping[str, str]]], again: str
) -> Mapping[str, str]:
    """What `go` gives: by name of a run why it did not come to its end. With progress of all."""
    import asyncio

    with _progress(again) as progress:
        return asyncio.run(go(progress.listener_for))


def tell_outcomes(
    endings: Mapping[str, str], failures: Mapping[str, str], again: str, last: str
) -> None:
    """Tell what became of each run, by name, and what can be done next; exit 1 where any failed."""
    outcomes = {**endings, **failures}
    for name in endings:
        say(f"{name}: {outcomes[name]}")
    if set(outcomes.values()) != {"done"}:
        say(f"{again} goes on with all of them.")
    say(last)
    if failures:
        sys.exit(1)


@contextmanager
def scored_when_stopped(as_json: bool) -> Iterator[tuple[Listener, list[Run]]]:
    """`listening`, with the scores so far of a run that a limit stopped."""
    from agent_env.errors import RunStopped

    with listening() as (listener, runs):
        try:
            yield listener, runs
        except RunStopped:
            with suppress(SystemExit):  # the stop itself is exit 1, and has more to say
                print_scores(runs[0], as_json)
            raise


def one_of(value: str, choices: tuple[Chosen, ...], option: str) -> Chosen:
    """The choice as value; ConfigError where it is none of them."""
    from agent_env.errors import ConfigError

    match = next((choice for choice in choices if choice == value), None)
    if match is None:
        raise ConfigError(f"{option} {value}: write {' or '.join(choices)}")
    return match


def print_scores(
    run: Run,
    as_json: bool,
    prices: Path | None = None,
    changes: bool = False,
    wide: bool = False,
) -> Rescoring:
    """The run's scores, at other prices than its own and with their `changes` against the earlier
    ones if so wished; exit code 1 where episodes were run and none came to its end."""
    from agent_env.runs.score import read_scores

    scores = read_scores(run, prices, say)
    if as_json:
        print(json.dumps(scores.as_json(with_changes=changes)))
    else:
        for table in scores.tables():
            print_table(table, wide)
    if changes:
        _report_changes(scores.rescored)
    for line in scores.remarks():
        say(line)
    if scores.has_no_result:
        sys.exit(1)
    return scores.rescored


def _report_changes(rescored: Rescoring) -> None:
    """How many verdicts are other ones now, and the first of them."""
    if not rescored.compared:
        return
    before, now = rescored.earlier, rescored.scorer
    scorer = "the same scorer" if before == now else f"scorer {before or 'unknown'} → {now}"
    number = len(rescored.changed) or "none"
    say(f"{number} of {rescored.compared} earlier verdicts changed; {scorer}")
    for change in rescored.changed[:SHOWN_CHANGES]:
        say(f"  {change.episode}: {_verdict(change.before)} → {_verdict(change.now)}")
    if (more := len(rescored.changed) - SHOWN_CHANGES) > 0:
        say(f"  and {more} more; --json has all")


def _verdict(score: Score) -> str:
    metrics = ", ".join(f"{name} {value:g}" for name, value in score.metrics.items())
    answer = "nothing" if score.answer is None else ", ".join(score.answer) or "none"
    return f"{answer} ({score.outcome}; {metrics})"


def print_trails(run: Run, as_json: bool, wide: bool = False) -> None:
    """Whether what had to be looked up was found, read and used."""
    from dataclasses import asdict

    from agent_env.analysis.episode_tables import summarise_trails, trail_table
    from agent_env.models.addresses import short_name
    from agent_env.runs.score import follow_run

    names, trails = follow_run(run, say)
    summaries = summarise_trails(trails, names)
    if as_json:
        conditions = {row.condition: row.as_json() for row in summaries}
        episodes = [asdict(trail) for trail in trails]
        print(json.dumps({"run": str(run.path), "conditions": conditions, "episodes": episodes}))
        return
    title = f"evidence · {short_name(run.manifest.model)} · {run.path}"
    print_table(trail_table(summaries, title), wide)
