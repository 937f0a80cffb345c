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
    """The page: the help text of each command, in its section."""
    import typer

    root = typer.main.get_command(app)
    context = root.context_class(root, info_name="agent-env")
    parts = [HEAD]
    for section, names in root.sections(context).items():  # type: ignore[attr-defined]
        parts += [f"## {section}"] if names else []
        for name in names:
            parts += _entries(root.get_command(context, name), f"agent-env {name}", 3)  # type: ignore[attr-defined]
    return "\n\n".join(parts)


def _entries(command: Any, name: str, level: int) -> Iterator[str]:
    """The command's help, then those of its subcommands."""
    context = command.context_class(command, info_name=name, **WIDE)
    text = command.get_help(context).strip()
    yield f"{'#' * level} {name.removeprefix('agent-env ')}\n\n```text\n{text}\n```"
    for sub in getattr(command, "list_commands", lambda context: [])(context):
        if not (own := command.get_command(context, sub)).hidden:
            yield from _entries(own, f"{name} {sub}", level + 1)


if __name__ == "__main__":
    print(commands_page())
