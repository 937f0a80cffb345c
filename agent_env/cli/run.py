"""What commands share: tables on the terminal, progress, interruption, scores.

Tables are within the terminal's width, or COLUMNS; in a pipe they have all their columns.
"""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_env.runs.screen.terminal import say as say

if TYPE_CHECKING:
    from agent_env.analysis.result_tables import ResultTable
    from agent_env.episodes.results import Rescoring
    from agent_env.records.schema import Score
    from agent_env.runs.many import ListenerFor
    from agent_env.runs.run import Run
    from agent_env.runs.screen.progress import Progress
    from agent_env.runs.start import Listener

Wide = Annotated[
    bool, typer.Option("--wide", help="All columns of the tables, however wide they are.")
]


def print_table(table: ResultTable, wide: bool = False, most: int | None = None) -> None:
    """The table as wide as the terminal (or a line of `most` characters); with `wide` all columns,
    where it is to be read aloud, a sentence for each row."""
    from agent_env.analysis.result_tables import table_text
    from agent_env.runs.screen.terminal import is_plain, room

    width = None if wide else room() if most is None else min(room() or most, most)
    print(table_text(table, width, spoken=is_plain()), end="\n\n")


SHOWN_CHANGES = 10

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
RunPath = Annotated[
    Path, typer.Argument(help="A run's folder, a study, or a folder of runs.", metavar="RUN")
]


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
    """Progress of a run on stderr; Ctrl-C, or a signal to end, says how to continue."""
    with _progress() as progress:
        yield progress.listener, progress.runs


@contextmanager
def _progress(again: str | None = None) -> Iterator[Progress]:
    """Progress on stderr; what stops it says how to continue, by the command `again`."""
    from agent_env.runs.screen.progress import progress_shown

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
        say(f"{again} continues all of them.")
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


def print_scores(
    run: Run,
    as_json: bool,
    prices: Path | None = None,
    changes: bool = False,
    wide: bool = False,
) -> Rescoring:
    """The run's scores, at other prices than its own and with their `changes` against the earlier
    ones if so wished; exit code 1 where episodes were run and none ended."""
    from agent_env.runs.scores.score import read_scores

    scores = read_scores(run, prices, say)
    if as_json:
        print(json.dumps(scores.as_json(with_changes=changes)))
    else:
        for table in scores.screen():
            print_table(table, wide)
        if scores.sentences().rows:
            print(f"Next: agent-env {' · '.join(scores.next_steps())}")
    if changes:
        _report_changes(scores.rescored)
    for line in scores.remarks():
        say(line)
    if scores.has_no_result:
        sys.exit(1)
    return scores.rescored


def _report_changes(rescored: Rescoring) -> None:
    """How many verdicts are other ones now, and the first of them; nothing where none is."""
    before, now = rescored.earlier, rescored.scorer
    if not rescored.compared or (before == now and not rescored.changed):
        return
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
