"""agent-env: the command line. Its commands stand in the modules beside.

Help comes in sections, as plain text: typer's own boxes need rich, whose parts take longer to
import than everything else that `agent-env --help` does. Commands that take a task show the options
of the one that is named.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from agent_env.cli.run import say
from agent_env.registry import installed, load_path
from agent_env.runs.terminal import guard_streams
from agent_env.version import __version__

if TYPE_CHECKING:
    from agent_env.cli.options import OptionHelp

WIDTH = 100
PLAIN: dict[str, Any] = {"max_content_width": WIDTH}
"""Context settings of the whole command line."""

EXAMPLE = "Example: "
OTHERS = "Of other packages"
"""The section of commands that name none."""
_SEVERAL = re.compile(r", (?:or|then) (?=agent-env )")


class Sectioned(TyperCommand):
    """A command whose options stand in sections, by their `rich_help_panel`; one with a task lists
    that task's options too."""

    words: Sequence[str] = ()
    """What was typed after the command's name."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Keep the words for the help, which is shown before any of them is understood."""
        self.words = tuple(args)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the paragraphs wrapped, and each example on one line, so that it can be pasted."""
        for paragraph in inspect.cleandoc(self.help or "").split("\n\n"):
            text = " ".join(paragraph.split())
            with formatter.indentation():
                formatter.write_paragraph()
                if text.startswith(EXAMPLE):
                    for command in _SEVERAL.split(text.removeprefix(EXAMPLE)):
                        formatter.write(f"{'':{formatter.current_indent}}{EXAMPLE}{command}\n")
                else:
                    formatter.write_text(text)

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write arguments first, then the sections in the order in which they come up."""
        rows = []
        for parameter in self.get_params(ctx):
            if (row := parameter.get_help_record(ctx)) is None:
                continue
            plain = "Arguments" if parameter.param_type_name == "argument" else "Options"
            rows.append((getattr(parameter, "rich_help_panel", None) or plain, row))
        if any(parameter.name == "task" for parameter in self.params):
            heading, options = help_rows(self.words)
            rows += [(heading, row) for row in options]
        _write(formatter, rows)


class SectionedGroup(TyperGroup):
    """Commands, each told by its first sentence; help, and exit code 2, where none is named."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """What is left of the arguments for the command."""
        if not args:
            print(ctx.get_help())
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the names with what they do."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = (
            (name, each.get_short_help_str(WIDTH))
            for name, each in commands
            if each and not each.hidden
        )
        _write(formatter, (("Commands", row) for row in rows))


class Commands(SectionedGroup):
    """Every command, in its section, made from its module when it is asked for: to make them all
    takes longer than to import typer."""

    table: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "Ask models": {
            "run": "ask:run",
            "resume": "ask:resume",
            "study": "study:study",
            "trust": "plugins:trust",
            "models": "local:models",
            "serve-model": "local:serve_model",
            "probe": "probe:probe",
            "context": "context:contexts",
        },
        "See what happened": {
            "score": "score:score",
            "compare": "compare:compare",
            "diagnose": "compare:diagnose",
            "show": "score:show",
            "episodes": "episodes:episodes",
            "label": "judge:label",
            "judge": "judge:judge",
        },
        "Run it again": {
            "replay": "episodes:replay",
            "fork": "episodes:fork",
            "forks": "episodes:forks",
        },
        "Make questions, facts and pages": {
            "generate": "generate:generate",
            "pages": "pages:pages",
        },
        "Families of questions": {},
        "This machine": {
            "docs": "docs:docs",
            "new": "plugins:new",
            "list": "plugins:list_registry",
            "doctor": "sandbox:doctor",
            "sandbox": "sandbox:sandbox_commands",
        },
    }
    """By section and name: `module:attribute` of this package, a function or a typer group. Those
    of families, extensions and other packages are entry points of the group `agent_env.commands`;
    a module's SECTION says where they stand."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        paths = {name: path for commands in self.table.values() for name, path in commands.items()}
        self.paths = {name: f"agent_env.cli.{path}" for name, path in paths.items()}
        self.commands: dict[str, Any] = dict.fromkeys(self.paths)  # so that a typo is understood

    def add_installed(self) -> None:
        """Take up the commands of families, extensions and other packages; ours go first."""
        brought = {point.name: point.value for point in installed("agent_env.commands")}
        self.paths = {
            **self.paths,
            **{name: brought[name] for name in sorted(brought.keys() - self.paths)},
        }
        self.commands = dict.fromkeys(self.paths)

    def get_command(self, ctx: typer.Context, name: str) -> Any:  # type: ignore[override]
        """The command; None where there is none of that name."""
        if name not in self.paths:
            self.add_installed()
        if name not in self.paths:
            return None
        command, holder = load_path(self.paths[name]), typer.Typer(rich_markup_mode=None)
        if isinstance(command, typer.Typer):
            for each in command.registered_commands:
                each.cls = Sectioned
            holder.add_typer(command, name=name, cls=SectionedGroup)
        else:
            holder.command(name, cls=Sectioned)(command)
        return typer.main.get_group(holder).commands[name]

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """All names."""
        self.add_installed()
        return list(self.paths)

    def sections(self, ctx: typer.Context) -> dict[str, dict[str, str]]:
        """What each command does, by section and name; no command is made. One that cannot be
        imported says why."""
        from agent_env.errors import ConfigError

        sections: dict[str, dict[str, str]] = {name: {} for name in (*self.table, OTHERS)}
        section_of = {name: section for section, names in self.table.items() for name in names}
        for name in self.list_commands(ctx):
            section = section_of.get(name, OTHERS)
            try:
                it = load_path(self.paths[name])
                text = str(it.info.help if isinstance(it, typer.Typer) else inspect.getdoc(it))
                if name not in section_of:
                    module = import_module(self.paths[name].partition(":")[0])
                    section = getattr(module, "SECTION", OTHERS)
            except ConfigError as exc:
                text = str(exc)
            sections.get(section, sections[OTHERS])[name] = text.split("\n\n")[0]
        return sections

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the sections."""
        for section, commands in self.sections(ctx).items():
            rows = ((name, " ".join(text.split())) for name, text in commands.items())
            _write(formatter, ((section, row) for row in rows))


def _write(formatter: Any, rows: Iterable[tuple[str, tuple[str, str]]]) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for section, row in rows:
        sections.setdefault(section, []).append(row)
    for section, lines in sections.items():
        with formatter.section(section):
            formatter.write_dl(lines)


def options_of_task(words: Sequence[str]) -> tuple[str, Sequence[OptionHelp]]:
    """The first task that is named among the words of a command, and its options."""
    from agent_env.cli.options import option_help
    from agent_env.errors import ConfigError
    from agent_env.wiring.registry import FAMILIES
    from agent_env.wiring.trust import own_call

    named = (word for word in words if word in FAMILIES.names() or word.endswith(":FAMILY"))
    if not (task := next(named, "")):
        return "", ()
    try:
        return task, option_help(FAMILIES.find(task, own_call()).options)
    except ConfigError:  # told by the command itself, where it is run
        return "", ()


def help_rows(words: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
    """A heading and a row for each option of the task that the words name; no row where they name
    none."""
    task, options = options_of_task(words)
    rows = []
    for option in options:
        default = "" if option.default is None else f"  [default: {option.default}]"
        rows.append((f"{option.name}=<{option.type}>", f"{option.help}{default}"))
    return f"Options of {task}, each as --option KEY=VALUE", rows


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
    """Options that are repeated take one value each, and an error says so to a user who gives
    several. An option of the task that is written as a flag: the error says how to write it."""
    if words[1:2] and words[1] in GONE:
        return GONE[words[1]]
    if unknown := re.match(r"No such option: --([a-z-]+)", text):
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
