"""Help in sections, as plain text: typer's own boxes need rich, whose parts take longer to import
than everything else that `agent-env --help` does.

The commands that take a task show the options of the one that is named.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from agent_env.wiring.trust import own_call

if TYPE_CHECKING:
    from agent_env.tasks.option_help import OptionHelp

WIDTH = 100
PLAIN: dict[str, Any] = {"max_content_width": WIDTH}
"""Context settings of the whole command line."""

EXAMPLE = "Example: "
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
        _write(formatter, (("Commands", row) for row in self._rows(ctx)))

    def _rows(self, ctx: typer.Context) -> Iterator[tuple[str, str]]:
        for name in self.list_commands(ctx):
            if (command := self.get_command(ctx, name)) is not None and not command.hidden:
                yield name, command.get_short_help_str(WIDTH)


class CommandTable(SectionedGroup):
    """Commands in sections, each made from its module when it is asked for: to make them all takes
    longer than to import typer."""

    table: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """By section and name: `module:attribute` in this package, a function or a typer group."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.paths = {name: path for its in self.table.values() for name, path in its.items()}
        self.commands: dict[str, Any] = dict.fromkeys(self.paths)  # so that a typo is understood

    def get_command(self, ctx: typer.Context, name: str) -> Any:  # type: ignore[override]
        """The command; None where there is none of that name."""
        if name not in self.paths:
            return None
        command, holder = _load(self.paths[name]), typer.Typer(rich_markup_mode=None)
        if isinstance(command, typer.Typer):
            for each in command.registered_commands:
                each.cls = Sectioned
            holder.add_typer(command, name=name, cls=SectionedGroup)
        else:
            holder.command(name, cls=Sectioned)(command)
        return typer.main.get_group(holder).commands[name]

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the sections, no command made."""
        rows = (
            (section, (name, _summary(path)))
            for section, its in self.table.items()
            for name, path in its.items()
        )
        _write(formatter, rows)


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(f"agent_env.cli.{module}"), name)


def _summary(path: str) -> str:
    """The first sentence of what stands behind a path."""
    command = _load(path)
    text = str(command.info.help if isinstance(command, typer.Typer) else inspect.getdoc(command))
    return " ".join(text.split("\n\n")[0].split())


def _write(formatter: Any, rows: Iterable[tuple[str, tuple[str, str]]]) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for section, row in rows:
        sections.setdefault(section, []).append(row)
    for section, its in sections.items():
        with formatter.section(section):
            formatter.write_dl(its)


def options_of_task(words: Sequence[str]) -> tuple[str, Sequence[OptionHelp]]:
    """The first task that is named among the words of a command, and its options."""
    from agent_env.errors import ConfigError
    from agent_env.tasks.option_help import option_help
    from agent_env.wiring.registry import FAMILIES

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
