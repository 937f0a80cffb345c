"""Several models and tasks by one file.

Example: agent-env study new web-and-code
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_env.cli.run import AsJson, Wide, print_table, say, side_by_side, tell_outcomes
from agent_env.records.options import Opt

if TYPE_CHECKING:
    from agent_env.runs.many import ListenerFor
    from agent_env.runs.options.run_options import ResumeOptions
    from agent_env.runs.studies.folder import StudyFolder

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
    from agent_env.runs.studies.example import write_study

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
    from agent_env.cli.preflight import print_checks
    from agent_env.runs.studies.folder import StudyFolder

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
    from agent_env.runs.many import ManyOptions
    from agent_env.runs.studies.folder import StudyFolder

    opened = StudyFolder(folder)
    how = ManyOptions(preflight="anyway" if anyway else "off" if no_preflight else "on")
    _go(opened, lambda listen: opened.start(listen, say, how))


def resume_study(path: Path, options: ResumeOptions) -> bool:
    """Go on with the study that the path is, or with its runs below the path; False where it
    belongs to none, or to one that this user did not begin."""
    from agent_env.errors import ConfigError
    from agent_env.runs.many import ManyOptions
    from agent_env.runs.options.run_options import ResumeOptions
    from agent_env.runs.studies.folder import StudyFolder

    if (opened := StudyFolder.around(path)) is None:
        return False
    if opened.is_foreign and path.resolve() != opened.path.resolve():
        return False  # what lies above a run says nothing of it, unless the user began it
    study_options = ResumeOptions(
        accept_changes=options.accept_changes, anyway=options.anyway, trust_run=options.trust_run
    )
    if options != study_options:
        raise ConfigError(
            f"{path} belongs to the study {opened.path}; write the change into {opened.file} and "
            "resume without options"
        )
    whole = path.absolute()
    places = (place.path for place in opened.places())
    below = (p for p in places if whole in (p.absolute(), *p.absolute().parents))
    how = ManyOptions(
        study_options, "anyway" if options.anyway else "on", only=frozenset(below) or None
    )
    _go(opened, lambda listen: opened.resume(listen, say, how))
    return True


def status(folder: StudyPath, as_json: AsJson = False, wide: Wide = False) -> None:
    """Show what each run of a study has: episodes done and failed, tokens, money.

    Example: agent-env study status web-and-code
    """
    import json

    from agent_env.runs.studies.folder import StudyFolder
    from agent_env.runs.studies.status import status_json, status_of, status_table

    rows = status_of(StudyFolder(folder))
    if as_json:
        print(json.dumps(status_json(folder, rows)))
    else:
        print_table(status_table(folder, rows), wide)


def _go(
    opened: StudyFolder, go: Callable[[ListenerFor], Coroutine[Any, Any, Mapping[str, str]]]
) -> None:
    """Run it with progress; print where it is, and the outcome of each run; exit 1 where any
    failed."""
    from agent_env.runs.studies.status import status_of, status_table

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
