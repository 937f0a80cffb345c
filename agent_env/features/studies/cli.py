"""Several models and tasks by one file.

Example: agent-env study new web-and-code
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_env.sdk.commands import AsJson, Opt, Wide, print_table, say

if TYPE_CHECKING:
    from agent_env.features.studies.folder import StudyFolder
    from agent_env.sdk.inside import ListenerFor

StudyPath = Annotated[
    Path, typer.Argument(help="A study's folder, or its study.toml.", metavar="STUDY")
]
NoPreflight = Annotated[bool, Opt("Do not try the servers first.")]
Anyway = Annotated[bool, Opt("Run conditions that the preflight finds meaningless.")]


def new(
    folder: Annotated[Path, typer.Argument(help="A new folder.", metavar="STUDY")],
) -> None:
    """Write a study.toml to be made one's own.

    Example: agent-env study new web-and-code
    """
    from agent_env.features.studies.example import write_study

    file = write_study(folder)
    print(file)
    say(f"edit it, then: agent-env study check {folder}")


def check(
    folder: StudyPath,
    like: Annotated[
        list[Path] | None,
        Opt("An earlier run, or a folder of runs, to forecast from. Repeatable.", metavar="RUN"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all mistakes of a study by line; then try each model by a few short calls, and forecast
    tokens, money, time and detectable differences.

    Example: agent-env study check web-and-code
    """
    from agent_env.features.studies.folder import StudyFolder
    from agent_env.sdk.inside import print_checks

    opened = StudyFolder(folder)
    opened.allow(say)
    options, plan = opened.all_options(), opened.plan
    say(f"{opened.file}: {len(plan.tasks)} tasks × {len(plan.models)} models, no mistake")
    limits = plan.budget.as_limits()
    print_checks(options, as_json, like or (), plan.contrasts, limits, models_at_once=True)


def run(folder: StudyPath, no_preflight: NoPreflight = False, anyway: Anyway = False) -> None:
    """Run a study: all models side by side, the tasks of each one after the other.

    Example: agent-env study run web-and-code
    """
    from agent_env.features.studies.folder import StudyFolder
    from agent_env.sdk.inside import ManyOptions

    opened = StudyFolder(folder)
    how = ManyOptions(preflight="anyway" if anyway else "off" if no_preflight else "on")
    go_on(opened, lambda listen: opened.start(listen, say, how))


def status(folder: StudyPath, as_json: AsJson = False, wide: Wide = False) -> None:
    """Show what each run of a study has: episodes done and failed, tokens, money.

    Example: agent-env study status web-and-code
    """
    import json

    from agent_env.features.studies.folder import StudyFolder
    from agent_env.features.studies.status import status_json, status_of, status_table

    rows = status_of(StudyFolder(folder))
    if as_json:
        print(json.dumps(status_json(folder, rows)))
    else:
        print_table(status_table(folder, rows), wide)


def go_on(
    opened: StudyFolder, go: Callable[[ListenerFor], Coroutine[Any, Any, Mapping[str, str]]]
) -> None:
    """Run it with progress; print where it is, and the outcome of each run; exit 1 where any
    failed."""
    from agent_env.features.studies.status import status_of, status_table
    from agent_env.sdk.inside import side_by_side, tell_outcomes

    again = f"agent-env resume {opened.path}"
    failures = side_by_side(go, again)
    rows = status_of(opened)
    print_table(status_table(opened.path, rows))
    report = f"agent-env compare {opened.path} --html report.html writes one page over all runs."
    endings = {
        row.run: f"done but for {row.failed} failed episodes"
        if row.failed and row.state == "unfinished"
        else "done"
        for row in rows
    }
    tell_outcomes(endings, failures, again, report)
