"""The tree of commands: what is on the first page of the help, what in which group, and what is
near a name that is not there.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from agent_env.cli.options import declared
from agent_env.errors import nearest
from agent_env.registry import installed, load_path

if TYPE_CHECKING:
    from agent_env.cli.options import OptionHelp

FIRST = (
    "run", "resume", "study", "show", "compare", "view", "replay", "new", "check", "doctor",
)  # fmt: skip
"""The commands that the first page of the help explains, in its order."""
GROUPS = {
    "episodes": "Recorded episodes",
    "questions": "Sets of questions",
    "serve": "Servers of questions and models",
    "web": "Webs, pages and facts",
}
LAST = ("verify", "pack", "docs", "list", "models", "sandbox")
"""Those that the last line names."""
OTHERS = "Of other packages"

COMMANDS: Mapping[str, str] = {
    "run": "ask:run",
    "resume": "ask:resume",
    "show": "compare:show",
    "compare": "compare:compare",
    "replay": "episodes:replay",
    "new": "plugins:new",
    "check": "preflight:check",
    "doctor": "local:doctor",
    "episodes.list": "episodes:list_episodes",
    "episodes.fork": "episodes:fork",
    "episodes.forks": "episodes:forks",
    "episodes.trust": "plugins:trust",
    "questions.generate": "generate:generate",
    "docs": "docs:docs",
    "list": "plugins:list_registry",
    "sandbox.run": "local:run_file",
    "sandbox.shell": "local:shell",
}
"""`module:function` of this package by the command's name, with a point after the name of each
group. Those of families, features and other packages are entry points of `agent_env.commands`."""

UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]
"""What typer raises for any mistake in the options; it has no public name of its own."""


class Commands(TyperGroup):
    """The commands of a group, each made from its module when it is asked for: to make them all
    takes longer than to import typer. Help, and exit code 2, where none is named."""

    def __init__(self, prefix: str = "", **attributes: Any) -> None:
        super().__init__(**attributes)
        self.prefix = prefix
        """The names of the groups around them, with a point after each."""
        self.paths: dict[str, str] = {}
        """MODULE:NAME of each command below here, by its name without the prefix."""
        self._take({name: f"agent_env.cli.{path}" for name, path in COMMANDS.items()})

    def _take(self, paths: Mapping[str, str]) -> None:
        for name in paths:
            if name.startswith(self.prefix):
                self.paths.setdefault(name.removeprefix(self.prefix), paths[name])

    def add_installed(self) -> None:
        """Take up the commands of families, features and other packages; ours go first."""
        points = {point.name: point.value for point in installed("agent_env.commands")}
        self._take({name: points[name] for name in sorted(points)})

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """What is left of the arguments for the command."""
        if not args:
            print(ctx.get_help())
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def get_command(self, ctx: typer.Context, name: str) -> Any:  # type: ignore[override]
        """The command, or the group of commands; None where there is none of that name."""
        if name not in self.paths:
            self.add_installed()
        if (path := self.paths.get(name)) is not None:
            function, holder = (
                load_path(path),
                typer.Typer(add_completion=False, rich_markup_mode=None),
            )
            holder.command(name, cls=Sectioned)(declared(function))
            command: Any = typer.main.get_command(holder)
            command.first = getattr(function, "first", ())
            return command
        if name not in self.list_commands(ctx):
            return None
        below = f"{self.prefix}{name}."
        text = self.text(name).partition(":")[0] if name in GROUPS else self.text(name)
        return Commands(below, name=name, help=text, rich_markup_mode=None)

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names of commands and groups; on top in the order of the first page."""
        self.add_installed()
        names = dict.fromkeys(name.partition(".")[0] for name in self.paths)
        if self.prefix:
            return list(names)
        others = [name for name in names if name not in {*FIRST, *GROUPS, *LAST}]
        return [name for name in (*FIRST, *GROUPS, *others, *LAST) if name in names]

    def text(self, name: str) -> str:
        """What a command does, or what a group holds; of what cannot be imported, why."""
        from agent_env.errors import ConfigError

        within = [each for each in self.paths if each.startswith(f"{name}.")]
        try:
            if name in self.paths:
                return inspect.getdoc(load_path(self.paths[name])) or ""
            if not self.prefix and name in GROUPS:
                words = dict.fromkeys(each.split(".")[1] for each in within)
                return f"{GROUPS[name]}: {', '.join(words)}"
            return inspect.getdoc(import_module(self.paths[within[0]].partition(":")[0])) or ""
        except ConfigError as exc:
            return str(exc)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the names, each with the first sentence about it; on top also the groups, and a
        line of the others."""
        rows, names = [], self.list_commands(ctx)
        last = () if self.prefix else [name for name in LAST if name in names]
        for name in names:
            heading = "Commands"
            if not self.prefix and name not in FIRST:
                heading = "Groups of commands" if name in GROUPS else OTHERS
            if name not in last:
                first, point, _ = " ".join(self.text(name).split()).partition(". ")
                rows.append((heading, (name, f"{first}{point.strip()}")))
        write_sections(formatter, rows)
        if last:
            formatter.write_paragraph()
            formatter.write_text(f"Also: {', '.join(last)}.")

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """The command that the first word names; an error says what to type instead."""
        try:
            return super().resolve_command(ctx, args)
        except UsageError:
            ctx.fail(self._advice(ctx, args))

    def _advice(self, ctx: typer.Context, args: Sequence[str]) -> str:
        """What is in another group, is called nearly so, or is known here."""
        everything = Commands()
        everything.add_installed()
        paths = [each.split(".") for each in everything.paths]
        names = [name for path in paths for name in accumulate(path, "{}.{}".format)]
        problem, known = f"no command '{args[0]}'", self.list_commands(ctx)
        if places := [name for name in names if name.rpartition(".")[2] == args[0]]:
            place = min(places, key=lambda name: name.count(".")).split(".")
            also = f"; known: {', '.join(known)}" if self.prefix else ""
            return f"{problem}; type: {shlex.join(['agent-env', *place, *args[1:]])}{also}"
        if close := nearest(args[0], known):
            near = f"{self.prefix}{close[0]}".replace(".", " ")
            return f"{problem}; did you mean agent-env {near}?"
        return f"{problem}; known: {', '.join(known)}"


ALL = "--help-all"
EXAMPLE = "Example: "
_SEVERAL = re.compile(r", (?:or|then) (?=agent-env )")


class Sectioned(TyperCommand):
    """A command whose options are in sections, by their `rich_help_panel`; one with a task lists
    that task's options too. One with many options shows the `first` of them, and all by
    `--help-all`."""

    words: Sequence[str] = ()
    """What was typed after the command's name."""
    first: Sequence[str] = ()
    """Options that `--help` shows, without their dashes; () for all."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Keep the words for the help, which is shown before any of them is understood."""
        self.words = tuple(args)
        is_whole = bool(self.first) and ALL in args
        return super().parse_args(ctx, ["--help"] if is_whole else args)

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
        rows, is_short = [], bool(self.first) and ALL not in self.words
        for parameter in self.get_params(ctx):
            is_argument = parameter.param_type_name == "argument"
            flag = parameter.opts[0].removeprefix("--")
            if is_short and not is_argument and flag not in (*self.first, "help"):
                continue
            if (row := parameter.get_help_record(ctx)) is None:
                continue
            if is_short:  # without types and bounds
                row = (row[0].split()[0], row[1].partition("  [")[0])
            panel = None if is_short else getattr(parameter, "rich_help_panel", None)
            rows.append((panel or ("Arguments" if is_argument else "Options"), row))
        if is_short:
            rows.append(("Options", (ALL, "Show all options, by groups.")))
        if any(parameter.name == "task" for parameter in self.params):
            heading, options = help_rows(self.words)
            rows += [(heading, row) for row in options]
        write_sections(formatter, rows)


def write_sections(formatter: Any, rows: Iterable[tuple[str, tuple[str, str]]]) -> None:
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
