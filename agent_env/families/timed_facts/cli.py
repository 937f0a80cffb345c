"""Commands on questions of timed facts: tempreason inspect, draw."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.sdk.commands import AsJson
from agent_env.sdk.errors import ConfigError

if TYPE_CHECKING:
    from agent_env.families.timed_facts.commands import FileReport

SECTION = "Families of questions"

File = Annotated[Path, typer.Argument(help="Questions: our samples, or a published file.")]
MAX_SHOWN = 20

reason = typer.Typer(
    help="TempReason and TimeQA: look into a file, draw from it.", no_args_is_help=True
)


@reason.command()
def inspect(file: File, as_json: AsJson = False) -> None:
    """Count a file's questions, list what could not be read, hold the solver against the answers.

    Exit code 1 where no answer could be judged.

    Example: agent-env tempreason inspect test_l2.json
    """
    from agent_env.families.timed_facts.commands import inspect_file

    result = inspect_file(file)
    if as_json:
        print(json.dumps(result.as_json()))
    else:
        _print_report(result)
    if result.judged == 0:
        sys.exit(1)


def _print_report(result: FileReport) -> None:
    print(f"{result.questions} questions, {result.facts} facts")
    others = "" if result.judged == result.questions else "; the others have no readable facts"
    print(f"judged {result.judged} of {result.questions}{others}")
    for cell, count in result.cells.items():
        readable, agree = result.solved[cell], result.agree[cell]
        print(f"  {cell:12} {count:6}   solver agrees on {agree} of {readable} that it could read")
    for ties, count in result.ties.items():
        print(f"  before and after with ties={ties}: solver agrees on {count}")
    print(f"statements that could not be read: {len(result.unread)}")
    for sample, text in result.unread[:MAX_SHOWN]:
        print(f"  {sample}: {text}")
    if len(result.unread) > MAX_SHOWN:
        print(f"  and {len(result.unread) - MAX_SHOWN} more; --json lists all")
    if result.differ:
        print(f"solver and answer differ: {', '.join(result.differ[:MAX_SHOWN])}")


@reason.command()
def draw(
    file: File,
    out: Annotated[Path, typer.Option(help="The file to write.")],
    per_cell: Annotated[int, typer.Option(min=1, help="Questions of each cell.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed draws the same.")] = 1,
) -> None:
    """Draw so many questions of each level and number of answers.

    Example: agent-env tempreason draw test_l2.json --per-cell 500 --out drawn.jsonl
    """
    from agent_env.families.timed_facts.commands import draw_cells

    for cell, count in draw_cells(file, per_cell, seed, out).items():
        short = f", as the file has no more (wanted {per_cell})" if count < per_cell else ""
        print(f"{cell}: {count}{short}", file=sys.stderr)


@reason.command(
    hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
def table() -> None:
    """The old name of `compare --by cell`."""
    raise ConfigError(
        "tempreason table is gone: agent-env compare RUN... --by cell has its figures, "
        "agent-env reproduce tempreason sets the paper's beside them"
    )
