"""agent-env release: benchmark sets to be cited."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.sdk.commands import Opt, say, with_options

if TYPE_CHECKING:
    from agent_env.extensions.release.release import NewOptions

Folder = Annotated[Path, typer.Argument(help="A release's folder, or its public half.")]


@with_options("agent_env.extensions.release.release:NewOptions")
def new(options: NewOptions) -> None:
    """Make a release: a public half, and a private half of which commitments are public.

    Example: agent-env release new dates-1 --part time-puzzles:easy --part tdbench --limit 100
    """
    from agent_env.extensions.release.release import new as make

    release = make(options)
    out = options.out or Path(options.name)
    say(f"publish {out}/public; keep {out}/private, and show it to nobody")
    print(f"commitments {release['commitments']['root']}")


def open_release(
    folder: Folder, out: Annotated[Path, Opt("Folder of the samples.")] = Path("opened")
) -> None:
    """Write the public half with its answers, for run --dataset.

    Example: agent-env release open dates-1/public --out opened
    """
    from agent_env.extensions.release.release import open_public

    for file in open_public(folder, out):
        print(file)


def score(
    folder: Folder,
    responses: Annotated[Path, typer.Argument(help='A file of {"id", "answer"} lines.')],
) -> None:
    """Score responses to the private half, by who holds it.

    Example: agent-env release score dates-1 responses.jsonl
    """
    from agent_env.extensions.release.release import score as score_responses

    for each in score_responses(folder, responses, say):
        ends = "" if each.low is None else f" [{each.low:.3f}, {each.high:.3f}]"
        share = each.right / each.samples
        print(f"{each.part}: {each.right} of {each.samples} right, {share:.3f}{ends}; "
              f"{each.samples - each.answered} without a response")  # fmt: skip


def reveal(
    folder: Folder,
    out: Annotated[Path, Opt("Where what is revealed is written.")] = Path("revealed.json"),
    check: Annotated[Path | None, Opt("Compare the release with what was revealed here.")] = None,
) -> None:
    """Reveal the private half, or check what was revealed; exit code 1 where something was changed.

    Example: agent-env release reveal dates-1/public --check revealed.json
    """
    from agent_env.extensions.release import release

    if check is None:
        release.reveal(folder, out)
        say(f"wrote {out}; whoever has it can make the private half again")
        return
    findings = release.check(folder, check)
    print("\n".join(findings or ["every sample is the one that was committed to"]))
    if findings:
        sys.exit(1)


def next_release(
    folder: Folder,
    out: Annotated[Path, Opt("A new folder.")],
    anchor: Annotated[
        list[str] | None,
        Opt("OLD_RUN=NEW_RUN of one model over both public halves; equates them. Repeatable."),
    ] = None,
) -> None:
    """Make the next edition: fresh questions of the same difficulty.

    Example: agent-env release next dates-1 --out dates-2
    """
    from agent_env.extensions.release import release
    from agent_env.sdk.run import Run

    pairs = [text.partition("=")[::2] for text in anchor or []]
    runs = [(Run.open(old), Run.open(new_run)) for old, new_run in pairs]
    equating = release.equate(runs) if runs else None
    made = release.next_edition(folder, out, equating)
    print(f"edition {made['edition']}, commitments {made['commitments']['root']}")
    if equating is not None:
        print(f"new less old: {equating}")
