"""The help of a command, as plain text in sections: typer's own boxes need rich, whose parts take
longer to import than everything else that `agent-env --help` does.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from agent_env.cli.options import OptionHelp

ALL = "--help-all"
EXAMPLE = "Example: "
_SEVERAL = re.compile(r", (?:or|then) (?=agent-env )")


class Sectioned(TyperCommand):
    """A command whose options stand in sections, by their `rich_help_panel`; one with a task lists
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
