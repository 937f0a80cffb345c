"""The options of a task for the help of the commands that take one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_env.wiring.trust import own_call

if TYPE_CHECKING:
    from agent_env.tasks.option_help import OptionHelp


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
