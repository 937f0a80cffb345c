"""docs/samples.md, made from the families: python .ci/pages/samples.py"""

from __future__ import annotations

import json
from collections.abc import Container

from agent_env.cli.options import option_help
from agent_env.errors import ConfigError
from agent_env.records.schema import Record, Sample
from agent_env.tasks.family import Family
from agent_env.wiring.registry import load_family, task_names

HEAD = """# The fields of samples

`python .ci/pages/samples.py > docs/samples.md` writes this page from the code.

`--dataset FILE` takes JSON lines, one sample a line, as `agent-env questions generate TASK`
writes them. An unknown field is an error, and all errors of a file are reported at once, by line
and field. For questions of your own see [qa](qa.md): it takes any columns. In the examples here,
long texts and lists are shortened (…)."""

LONGEST = 100
MOST = 2


def samples_page(with_examples: bool = True) -> str:
    """The page: for each family its fields and a shortened example."""
    every = "\n".join(["## Every sample", "", *_table(Sample, ())])
    sections = [_section(load_family(name), with_examples) for name in task_names()]
    return "\n\n".join([HEAD, every, *sections])


def _section(family: Family, with_example: bool) -> str:
    options = family.options()
    kind = family.make_task("default", options, {}).sample_type
    lines = [f"## {family.name}", "", *_table(kind, Sample.model_fields)]
    if not with_example:
        return "\n".join(lines)
    try:
        made = family.make_samples(1, 1, options)
    except ConfigError:  # it has no generator
        return "\n".join([*lines, "", f"An example stands in [{family.name}]({family.name}.md)."])
    sample = made.samples[0].model_dump(mode="json", exclude_defaults=True)
    fields = [f" {_json(key)}: {_json(_shortened(value))}" for key, value in sample.items()]
    return "\n".join([*lines, "", "```", "{", ",\n".join(fields), "}", "```"])


def _table(kind: type[Record], without: Container[str]) -> list[str]:
    lines = ["| field | type | default | what it is |", "|---|---|---|---|"]
    for field in option_help(kind):
        is_required = kind.model_fields[field.name].is_required()
        default = "(required)" if is_required else field.default or ""
        if field.name not in without:
            cells = (f"`{field.name}`", f"`{field.type}`", default, field.help)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shortened(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    if isinstance(value, dict):
        return {key: _shortened(each) for key, each in value.items()}
    if isinstance(value, list):
        return [*map(_shortened, value[:MOST]), *(["…"] if len(value) > MOST else [])]
    return value


if __name__ == "__main__":
    print(samples_page())
