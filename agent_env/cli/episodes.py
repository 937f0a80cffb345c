"""Commands on recorded episodes: list, replay, fork."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli.options import with_options
from agent_env.cli.run import AsJson, RunPath, Wide, for_each_run, listening, print_table, say
from agent_env.records.options import Opt

if TYPE_CHECKING:
    from agent_env.runs.options.run_options import ForkOptions, ReplayOptions
    from agent_env.runs.run import Run

MAX_SHOWN = 3
"""Episodes with drift that are printed with their diff."""


@with_options("agent_env.runs.options.run_options:ReplayOptions")
def replay(
    options: ReplayOptions,
    folder: Annotated[
        Path,
        typer.Argument(
            help="A run, a study or a folder of runs; or an episode: RUN/CONDITION/SAMPLE.1.",
            metavar="TARGET",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Run a recorded run again, without network or key. Exit code 1 where one differs.

    Example: agent-env replay runs/first
    """
    import asyncio

    from agent_env.episodes.run_folder import trace_file
    from agent_env.runs.replay import replay as replay_run
    from agent_env.runs.run import Run

    def show(path: Path, name: str) -> None:
        run_options = replace(options, out=options.out and options.out / name)
        results = asyncio.run(replay_run(Run(path), run_options, say, trace))
        if not results:
            say(f"{path} holds no episode")
        counts: Counter[str] = Counter(result.verdict for result in results)
        if as_json:
            rows = [result.as_json() for result in results]
            print(json.dumps({"run": str(path), **counts, "episodes": rows}))
        else:
            verdicts = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
            print(f"{len(results)} episodes replayed: {verdicts or 'none'}")
            for each in results:
                if each.reason is not None:
                    print(f"\nbroken: {each.reason}")
            drifted = [each for each in results if each.drift]
            for each in drifted[:MAX_SHOWN]:
                first = each.drift[0]
                more = f" ({len(each.drift) - 1} more after it)" if len(each.drift) > 1 else ""
                print(f"\n{each.episode}: step {first.step}: {first.what}{more}\n{first.diff}")
            if len(drifted) > MAX_SHOWN:
                print(f"\nand {len(drifted) - MAX_SHOWN} more with drift; --json has all")
        if set(counts) != {"same"}:
            sys.exit(1)

    file = trace_file(folder)
    trace = file if file.suffix == ".jsonl" and file.is_file() else None
    if trace is not None:
        show(trace.resolve().parent.parent.parent, "")
    else:
        for_each_run(folder, show, as_json)


@with_options("agent_env.runs.options.run_options:ForkOptions")
def fork(
    options: ForkOptions,
    trace: Annotated[
        Path,
        typer.Argument(help="A trace, or RUN/CONDITION/SAMPLE.1", metavar="EPISODE"),
    ],
    as_json: AsJson = False,
) -> None:
    """Keep an episode up to step K and let it continue otherwise.

    Example: agent-env episodes fork runs/first/web/tp-1-00001.1 --at 2
    --edit page.txt --repeats 3 --out runs/forked
    """
    import asyncio

    from agent_env.runs.fork import fork as fork_episode

    with listening() as (listener, _):
        run = asyncio.run(fork_episode(trace, options, listener))
    _print_forks(run, as_json)


def forks(folder: RunPath, as_json: AsJson = False) -> None:
    """Show the forks of a run beside their parent.

    Example: agent-env episodes forks runs/forked
    """
    from agent_env.runs.run import Run

    _print_forks(Run(folder), as_json)


def _print_forks(run: Run, as_json: bool) -> None:
    from agent_env.analysis.episode_tables import fork_table
    from agent_env.runs.fork import read_forks

    group = read_forks(run, say)
    if as_json:
        rows = [
            {
                "name": name,
                **episode.model_dump(exclude={"messages", "pages", "citations", "judged"}),
                "read": score.answer,
                **score.metrics,
            }
            for name, episode, score in group.episodes
        ]
        value = {"run": str(run.path), "parent": group.parent.model_dump(), "episodes": rows}
        print(json.dumps(value))
        return
    change = ", with another tool result" if group.parent.edited else ""
    title = f"{group.parent.episode} from step {group.parent.step} on{change} · {run.path}"
    print_table(fork_table(group.episodes, group.metrics, title))


def list_episodes(
    folder: RunPath,
    where: Annotated[
        list[str] | None,
        Opt("FIELD=A,B: condition, status, outcome, stop_reason, a metric, … Repeatable."),
    ] = None,
    limit: Annotated[
        int | None, Opt("Rows at most; the sums are over all. 0: sums alone.", min=0)
    ] = None,
    as_json: AsJson = False,
    wide: Wide = False,
) -> None:
    """List a run's episodes with sums, from an index of its traces.

    Example: agent-env episodes list runs/first --where condition=web --where exact_match=0
    """
    from agent_env.analysis.episode_tables import episode_table
    from agent_env.errors import AgentEnvError
    from agent_env.runs.run import Run
    from agent_env.runs.scores.score import score_folder

    def show(path: Path, name: str) -> None:
        run = Run(path)

        def score() -> None:
            try:
                if not run.has_recorded_scores:
                    score_folder(run, say)
            except AgentEnvError as exc:  # the traces tell the rest
                say(f"no metrics of {path}: {exc}")

        rows, totals = run.episode_rows(where or (), limit, score)
        if as_json:
            listed = [row.values | {"metrics": row.metrics} for row in rows]
            print(json.dumps({"run": str(path), "totals": asdict(totals), "episodes": listed}))
            return
        print_table(episode_table(rows, totals), wide)

    for_each_run(folder, show, as_json)
