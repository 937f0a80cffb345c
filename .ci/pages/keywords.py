"""agent_env/runs/options/keyword_types.py, made from the records of options."""

from __future__ import annotations

import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from agent_env.api.comparisons import WRITTEN
from agent_env.runs.comparing.compare import CompareOptions
from agent_env.runs.options.keywords import Keyword, keywords_of
from agent_env.runs.options.run_options import (
    ForkOptions,
    ReplayOptions,
    ResumeOptions,
    RunOptions,
)

HEAD = '''"""The keywords of the API, for editors and mypy; made from the records of options.

python .ci/pages/keywords.py > agent_env/runs/options/keyword_types.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Required, TypedDict
'''
RECORDS = {
    "RunKeywords": (RunOptions, ("task", "model", "conditions", "scorer")),
    "ResumeKeywords": (ResumeOptions, ("model",)),
    "ReplayKeywords": (ReplayOptions, ()),
    "ForkKeywords": (ForkOptions, ("model",)),
    "CompareKeywords": (CompareOptions, ("runs", *WRITTEN)),
}


def keyword_types() -> str:
    """The module: a class for each record."""
    return "\n".join([HEAD, *(_class(name, *its) for name, its in RECORDS.items())])


def _class(name: str, record: type, without: tuple[str, ...]) -> str:
    fields = [each for each in keywords_of(record).values() if each.name not in without]
    lines = [f"    {each.name}: {_annotation(each)}" for each in fields]
    return "\n".join(["", f"class {name}(TypedDict, total=False):", *lines, ""])


def _annotation(keyword: Keyword) -> str:
    parts = _parts(keyword.type)
    if keyword.option.opt.read is not None and "int" not in parts:
        parts.append("Mapping[str, Any]")
    text = " | ".join(sorted(dict.fromkeys(parts), key=lambda part: part == "None"))
    return f"Required[{text}]" if keyword.is_required else text


def _parts(kind: Any) -> list[str]:
    """A type as its parts joined by `|`: a text for a path, and one for one of several."""
    if get_origin(kind) in (Union, types.UnionType):
        return [part for each in get_args(kind) for part in _parts(each)]
    if get_origin(kind) is Literal:
        return [f"Literal[{', '.join(map(_quoted, get_args(kind)))}]"]
    if get_origin(kind) is tuple:
        one = _parts(get_args(kind)[0])
        return [f"Sequence[{' | '.join(one)}]", *one]
    if get_origin(kind) is Mapping:
        return [f"Mapping[{', '.join(' | '.join(_parts(each)) for each in get_args(kind))}]"]
    if kind is Path:
        return ["Path", "str"]
    return ["None" if kind is type(None) else kind.__name__]


def _quoted(value: str) -> str:
    return f'"{value}"'


if __name__ == "__main__":
    print(keyword_types(), end="")
