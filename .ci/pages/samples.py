"""docs/samples.md, made from the families: python .ci/pages/samples.py"""

from __future__ import annotations

import re
from collections.abc import Container

from agent_env.cli.options import option_help
from agent_env.records.schema import Record, Sample
from agent_env.wiring.registry import load_family, task_names

HEAD = """# The fields of samples

`.ci/docs` writes this page from the code. `--dataset FILE` takes JSON lines, one sample a line, as
`agent-env questions generate TASK` writes them. An unknown field is an error; all errors of a file
are reported at once, by line and field. **Bold** fields are required; a field without a type is a
text. For questions of your own see [qa](qa.md): it takes any columns."""


def samples_page() -> str:
    """The page: for each family its fields; families with the same samples share them."""
    sections = [f"## Every sample\n\n{_list(Sample, ())}"]
    names: dict[type[Sample], list[str]] = {}
    for name in task_names():
        family = load_family(name)
        kind = family.make_task("default", family.options(), {}).sample_type
        names.setdefault(kind, []).append(name)
    for kind, tasks in names.items():
        sections.append(f"## {', '.join(tasks)}\n\n{_list(kind, Sample.model_fields)}")
    return "\n\n".join([HEAD, *sections])


def _list(kind: type[Record], without: Container[str]) -> str:
    lines = []
    for field in option_help(kind):
        if field.name in without:
            continue
        name = f"`{field.name}`"
        name = f"**{name}**" if kind.model_fields[field.name].is_required() else name
        about = re.split(r"(?<=\w)[;:.] ", field.help)[0].rstrip(".")
        kind_of = "" if field.type == "str" else f" (`{field.type}`)"
        lines.append(f"- {name}{kind_of} {about}".rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    print(samples_page())
