"""docs/commands.md, made from the help texts: python .ci/pages/commands.py"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_env.cli.app import WIDTH, app

HEAD = """# Commands

`python .ci/pages/commands.py > docs/commands.md` writes this page from the help texts:
`agent-env COMMAND --help` prints the same."""
WIDE = {"max_content_width": WIDTH, "terminal_width": WIDTH}


def commands_page() -> str:
    """The page: the help text of each command, groups with what they hold."""
    import typer

    root = typer.main.get_command(app)
    context = root.context_class(root, info_name="agent-env", **WIDE)
    names = root.list_commands(context)  # type: ignore[attr-defined]
    own = [part for name in names for part in _entries(root, context, name, "agent-env", 2)]
    return "\n\n".join([HEAD, f"```text\n{root.get_help(context).strip()}\n```", *own])


def _entries(group: Any, context: Any, name: str, above: str, level: int) -> Iterator[str]:
    """The command's help, then those of its subcommands."""
    command, whole = group.get_command(context, name), f"{above} {name}"
    own = command.context_class(command, info_name=whole, **WIDE)
    heading = f"{'#' * level} {whole.removeprefix('agent-env ')}"
    yield f"{heading}\n\n```text\n{command.get_help(own).strip()}\n```"
    for sub in getattr(command, "list_commands", lambda context: [])(own):
        yield from _entries(command, own, sub, whole, level + 1)


if __name__ == "__main__":
    print(commands_page())
