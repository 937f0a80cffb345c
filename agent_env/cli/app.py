"""agent-env: the command line. Its commands are in the modules beside, see `cli/tree.py`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import typer

from agent_env.cli.run import say
from agent_env.cli.tree import Commands, UsageError, options_of_task
from agent_env.runs.screen.terminal import ask_plain, guard_streams
from agent_env.version import __version__

WIDTH = 100
PLAIN: dict[str, Any] = {"max_content_width": WIDTH}
"""Context settings of the whole command line."""

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
    plain: Annotated[
        bool, typer.Option("--plain", help="Sentences, not tables, for a screen reader; anywhere.")
    ] = False,
) -> None:
    """What is before a command, or anywhere in its line."""
    if plain:
        ask_plain()


def main() -> None:
    """Entry point: the user's mistakes end with one line and exit code 2."""
    from agent_env.errors import (
        AgentEnvError,
        ConfigError,
        ConfigErrors,
        DatasetError,
        DatasetErrors,
        RunWaits,
    )
    from agent_env.extras import how_to_install

    guard_streams()
    try:
        words = sorted(sys.argv[1:], key=lambda word: word != "--plain")
        code = app(words, prog_name="agent-env", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except (DatasetErrors, ConfigErrors) as exc:
        _fail(exc.lines, 2)
    except (ConfigError, DatasetError) as exc:
        _fail([str(exc)], 2)
    except UsageError as exc:
        text = _with_hint(exc.format_message().replace("Value error, ", ""), sys.argv[1:])
        if text.startswith("Missing ") and exc.ctx is not None:
            text = f"{text.rstrip('.')}; see: {exc.ctx.command_path} --help"
        _fail([text], 2)
    except RunWaits as exc:
        say(f"agent-env: {exc}")
        sys.exit(0)
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


def _with_hint(text: str, words: list[str]) -> str:
    """Options that are repeated take one value each, and an error says so to a user who gives
    several. An option of the task that is written as a flag: the error says how to write it."""
    if wrong := re.match(r"Invalid value for '(--[a-z-]+)': Input should be (.*)", text):
        values = dict(pairwise(words))
        values |= dict(word.split("=", 1) for word in words if "=" in word)
        given = values.get(wrong[1], "")
        what = wrong[2].partition(", unable")[0].replace("valid integer", "whole number")
        what = what.replace("valid ", "").replace("greater than or equal to", "at least")
        what = what.replace("less than or equal to", "at most")
        return f"{wrong[1]} {given}: write {what}"
    if unknown := re.match(r"No such option: --([a-z-]+)", text):
        key = unknown[1].replace("-", "_")
        task, options = options_of_task(words) if {"run", "generate"} & {*words[:2]} else ("", ())
        if any(option.name == key for option in options):
            return f"--{unknown[1]} is an option of {task}: write --option {key}=VALUE"
    if words[:1] == ["show"] and "unexpected extra argument" in text:
        return f"{text}; an episode is written RUN/CONDITION/SAMPLE.1"
    if "--condition" in words and "unexpected extra argument" in text:
        return f"{text}; --condition is repeated: --condition base --condition web"
    return text


def _fail(lines: Sequence[str], code: int) -> None:
    for line in lines:
        say(f"agent-env: {' '.join(line.split())}")
    sys.exit(code)
