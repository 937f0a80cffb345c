"""docs/commands.md, made from the commands and the options: python .ci/pages/commands.py"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agent_env.cli.app import WIDTH, app

HEAD = """# Commands

`.ci/docs` writes this page. `agent-env COMMAND --help` has the options of each command and
examples; `agent-env run --help-all` has all options of a run. The keyword in Python and in
`study.toml` is the flag with underscores; in Python `conditions`, `options`, `first_steps`,
`api_key_envs` and `allow_hosts` are plural."""
WIDE = {"max_content_width": WIDTH, "terminal_width": WIDTH}


def commands_page() -> str:
    """The page: a line for each command, groups with what they hold."""
    import typer

    root = typer.main.get_command(app)
    context = root.context_class(root, info_name="agent-env", **WIDE)
    return "\n\n".join([HEAD, "\n".join(_lines(root, context, ""))])


def _lines(group: Any, context: Any, above: str) -> Iterator[str]:
    """A line for each command of the group, and for those of its groups."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        if hasattr(command, "list_commands"):
            own = command.context_class(command, info_name=name, **WIDE)
            yield from _lines(command, own, f"{above}{name} ")
        else:
            words = [word for word in command.collect_usage_pieces(context) if word != "[OPTIONS]"]
            text = re.split(r"[;:] ", command.get_short_help_str(400))[0].rstrip(".")
            yield f"- `{' '.join([above + name, *words])}`: {text}"


if __name__ == "__main__":
    print(commands_page())
