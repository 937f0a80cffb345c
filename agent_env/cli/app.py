"""agent-env: the command line. Its commands stand in the modules beside."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, ClassVar

import typer

from agent_env.cli.help import PLAIN, CommandTable
from agent_env.cli.run import say
from agent_env.runs.terminal import guard_streams
from agent_env.version import __version__


class Commands(CommandTable):
    """Every command, in its section."""

    table: ClassVar = {
        "Ask models": {
            "run": "ask:run",
            "resume": "ask:resume",
            "study": "study:study",
            "trust": "plugins:trust",
            "models": "local:models",
            "serve": "serve:serve",
            "serve-model": "local:serve_model",
            "probe": "probe:probe",
            "fake-server": "local:fake_server",
            "context": "context:contexts",
        },
        "See what happened": {
            "score": "score:score",
            "compare": "compare:compare",
            "diagnose": "compare:diagnose",
            "show": "score:show",
            "view": "score:view",
            "episodes": "episodes:episodes",
            "export": "export:export",
            "import": "export:import_log",
            "label": "judge:label",
            "score-answers": "families.answers:score_answers",
            "judge": "judge:judge",
            "reproduce": "reproduce:reproduce",
        },
        "Run it again": {
            "replay": "episodes:replay",
            "fork": "episodes:fork",
            "forks": "episodes:forks",
            "curve": "episodes:curve",
            "attribute": "episodes:attribute",
            "mcp": "mcp:mcp",
        },
        "Make questions, facts and pages": {
            "generate": "generate:generate",
            "audit": "families.puzzles:audit",
            "facts": "families.facts:facts",
            "web": "web:web",
            "pages": "pages:pages",
        },
        "Families of questions": {
            "tdbench": "families.tdbench:tdbench",
            "tempreason": "families.reason:reason",
        },
        "This machine": {
            "docs": "docs:docs",
            "new": "plugins:new",
            "list": "plugins:list_registry",
            "doctor": "sandbox:doctor",
            "sandbox": "sandbox:sandbox_commands",
        },
    }


app = typer.Typer(
    cls=Commands,
    context_settings=PLAIN,
    rich_markup_mode=None,
    help="Does this model get better with web search, a calendar, a code interpreter?\n\n"
    "Example: agent-env run time-puzzles --limit 12",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(is_given: bool) -> None:
    if is_given:
        print(f"agent-env {__version__}")
        raise typer.Exit


@app.callback()
def _commands(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """What makes a typer application of a table alone."""


UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]
"""What typer raises for any mistake in the options; it has no public name of its own."""


def main() -> None:
    """Entry point: the user's mistakes end with one line and exit code 2."""
    from agent_env.errors import (
        AgentEnvError,
        ConfigError,
        ConfigErrors,
        DatasetError,
        DatasetErrors,
    )
    from agent_env.extras import how_to_install

    guard_streams()
    try:
        code = app(prog_name="agent-env", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except (DatasetErrors, ConfigErrors) as exc:
        _fail(exc.lines, 2)
    except (ConfigError, DatasetError) as exc:
        _fail([str(exc)], 2)
    except UsageError as exc:
        _fail([_with_hint(exc.format_message(), sys.argv)], 2)
    except AgentEnvError as exc:
        _fail([str(exc)], 1)
    except ModuleNotFoundError as exc:
        if exc.name is None or (advice := how_to_install(exc.name)) is None:
            raise
        _fail([advice], 2)
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as exc:
        _fail([f"cannot write the output: {exc.strerror}"], 1)
    except (KeyboardInterrupt, typer.Abort):
        _fail(["stopped"], 130)


GONE = {
    "traveler": "agent-env traveler is gone: `agent-env reproduce traveler` prints the slides' "
    "tables and figures, `agent-env compare RUN… --by category --by template --by events` those of "
    "stored runs and of a study's folder"
}
"""What replaces a command of an earlier version."""
HAS_TASK = (["run"], ["generate"])
"""Commands whose task's options are written as --option KEY=VALUE."""


def _with_hint(text: str, words: list[str]) -> str:
    """Options that are repeated take one value each; who gives several hears it. Who writes an
    option of the task as a flag hears how it is written."""
    if words[1:2] and words[1] in GONE:
        return GONE[words[1]]
    if unknown := re.match(r"No such option: --([a-z-]+)", text):
        from agent_env.cli.help import options_of_task

        key = unknown[1].replace("-", "_")
        task, options = options_of_task(words[2:]) if words[1:2] in HAS_TASK else ("", ())
        if any(option.name == key for option in options):
            return f"--{unknown[1]} is an option of {task}: write --option {key}=VALUE"
    if "--condition" in words and "unexpected extra argument" in text:
        return f"{text}; --condition is repeated: --condition base --condition web"
    return text


def _fail(lines: Sequence[str], code: int) -> None:
    for line in lines:
        say(f"agent-env: {' '.join(line.split())}")
    sys.exit(code)
