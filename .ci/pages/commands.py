"""docs/commands.md, made from the commands and the options: python .ci/pages/commands.py"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_env.cli.app import WIDTH, app
from agent_env.records.options import Option, options_of
from agent_env.runs.options import ForkOptions, ResumeOptions, RunOptions

HEAD = """# Commands

`.ci/docs` writes this page. `agent-env COMMAND --help` has the options of each command and
examples."""
OPTIONS = """## Options of a run

`agent-env run --help-all` says what each does. The keyword in Python and in `study.toml` is the
flag with underscores; in Python `conditions`, `options`, `first_steps`, `api_key_envs` and
`allow_hosts` are plural. Beside each: its place in `run.json`, and which commands may change it
later."""
WIDE = {"max_content_width": WIDTH, "terminal_width": WIDTH}


def commands_page() -> str:
    """The page: a line for each command, groups with what they hold, and where options are kept."""
    import typer

    root = typer.main.get_command(app)
    context = root.context_class(root, info_name="agent-env", **WIDE)
    lines = _lines(root, context, "")
    return "\n\n".join([HEAD, "\n".join(lines), OPTIONS, "\n".join(_options())])


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
            text = command.get_short_help_str(400)
            yield f"- `{' '.join([above + name, *words])}`: {text}"


def _options() -> Iterator[str]:
    changing = {
        name: {option.keyword for option in options_of(record)}
        for name, record in (("resume", ResumeOptions), ("fork", ForkOptions))
    }
    for option in options_of(RunOptions):
        by = [name for name, its in changing.items() if option.keyword in its]
        by = [name for name in by if getattr(option.opt, name)]
        if option.manifest or by:
            place = f" `{option.manifest}`" if option.manifest else ""
            later = f" ({', '.join(by)})" if by else ""
            yield f"- {_flag(option)}{place}{later}"


def _flag(option: Option) -> str:
    return option.opt.metavar if option.opt.argument else f"`--{option.keyword.replace('_', '-')}`"


if __name__ == "__main__":
    print(commands_page())
