"""What the help says of a task's options."""

from __future__ import annotations

from typing import Literal

import pytest

from agent_env.cli.options import OptionHelp, option_help
from agent_env.records.schema import Record
from agent_env.wiring.registry import FAMILIES, load_family, task_names


class Own(Record):
    """Some options."""

    kind: Literal["a", "b"] = "a"
    """What it is,
    on two lines."""
    days: int | None = None
    """How many."""


class More(Own):
    """With another one."""

    names: tuple[str, ...] = ("x", "y")
    """Several."""
    is_open: bool = False


def test_a_field_is_told_with_its_type_its_default_and_its_docstring():
    assert option_help(More) == (
        OptionHelp("kind", "a|b", "a", "What it is, on two lines."),
        OptionHelp("days", "int", None, "How many."),
        OptionHelp("names", "list[str]", "x,y", "Several."),
        OptionHelp("is_open", "bool", "false", ""),
    )


@pytest.mark.parametrize("task", [*task_names(), *FAMILIES.hidden()])
def test_each_option_of_each_task_has_a_docstring(task):
    assert [row.name for row in option_help(load_family(task).options) if not row.help] == []
