"""docs/options.md, made from the record of options: python .ci/pages/options.py"""

from __future__ import annotations

from agent_env.records.options import Option, options_of
from agent_env.runs.options import ForkOptions, ResumeOptions, RunOptions

HEAD = """# Options of a run

`python .ci/pages/options.py > docs/options.md` writes this page from the records in
`runs/options.py`. The keyword in Python is the flag with underscores, but in the plural
`conditions`, `options`, `first_steps`, `api_key_envs`, `allow_hosts` (docs/python.md). The last
column names the commands that may change the option of a run that exists. `--preflight`,
`--anyway`, `--check`, `--json` and those of scale-out (docs/scale.md) belong to the command:
`agent-env run --help`.

"""


def options_page() -> str:
    """The page: a table for each panel of the help."""
    sections: dict[str, list[Option]] = {}
    for option in options_of(RunOptions):
        sections.setdefault(option.opt.panel or "Arguments", []).append(option)
    changing = {
        name: {option.keyword for option in options_of(record)}
        for name, record in (("resume", ResumeOptions), ("fork", ForkOptions))
    }
    return HEAD + "\n\n".join(_section(name, its, changing) for name, its in sections.items())


def _section(name: str, options: list[Option], changing: dict[str, set[str]]) -> str:
    lines = [
        f"## {name}",
        "",
        "| option | default | what it is | in run.json | changed by |",
        "|---|---|---|---|---|",
    ]
    for option in options:
        flag = f"--{option.keyword.replace('_', '-')}"
        by = [command for command, its in changing.items() if option.keyword in its]
        by = [command for command in by if getattr(option.opt, command)]
        cells = (
            option.opt.metavar if option.opt.argument else f"`{flag}`",
            _default(option),
            option.opt.help.replace("|", "\\|"),
            f"`{option.manifest}`" if option.manifest else "",
            ", ".join(by),
        )
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(lines)


def _default(option: Option) -> str:
    default = option.opt.shown if isinstance(option.opt.shown, str) else option.default
    is_plain = default is None or default is False or option.opt.argument
    return "" if is_plain else str(default)


if __name__ == "__main__":
    print(options_page())
