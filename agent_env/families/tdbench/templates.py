"""A user's own sentences for the columns of a table, checked by reading each question back.

The TOML file has `relation`, a list of sentences with `{cond}` where the condition on time goes,
and may have `current` (with `{now}`), `verbs` (office, spell, rule or entry), `noun` and `group`
(for `nth`, `longest` and `count`). Every sentence names each column of the question once, as
`{column}`. A question is kept only if its dates, and what they say of start and end, are read back
from its words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field, ValidationError

from agent_env.errors import ConfigError, DatasetError, first_problem
from agent_env.families.tdbench.domains import ENTRY, OFFICE, RULE, SPELL, Domain
from agent_env.families.tdbench.reading import DATE, Bound, iso, read_bounds
from agent_env.families.tdbench.rewording import without_values
from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.families.tdbench.wording import STYLES
from agent_env.records.schema import Record

VERBS = {"office": OFFICE, "spell": SPELL, "rule": RULE, "entry": ENTRY}
DROPPED = "questions of own templates that do not read back as their dates"


class TemplateFile(Record):
    """What the file holds."""

    relation: tuple[str, ...] = Field(min_length=1)
    current: tuple[str, ...] = ()
    verbs: str = "entry"
    noun: str | None = None
    group: str | None = None


def with_templates(domain: Domain, file: Path) -> Domain:
    """The domain of a user's table with the file's sentences; DatasetError names what is wrong."""
    own = _read(file)
    (form,) = domain.forms
    if own.verbs not in VERBS:
        raise DatasetError(file, None, f"verbs '{own.verbs}': known are {', '.join(VERBS)}")
    for field, sentences, mark in (
        ("relation", own.relation, "cond"),
        ("current", own.current, "now"),
    ):
        for sentence in sentences:
            _check(file, field, sentence, (*form.keys, mark))
    if own.group is not None:
        _check(file, "group", own.group, form.keys)
    form = replace(
        form,
        noun=own.noun or form.noun,
        group=own.group or form.group,
        heads=_cycled(own.relation),
        now_heads=_cycled(own.current) if own.current else form.now_heads,
    )
    return replace(domain, verbs=VERBS[own.verbs], forms=(form,))


def _read(file: Path) -> TemplateFile:
    try:
        return TemplateFile.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except OSError as exc:
        raise ConfigError(f"templates {file}: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise DatasetError(file, None, f"is no TOML: {exc}") from exc
    except ValidationError as exc:
        raise DatasetError(file, None, first_problem(exc.errors())) from exc


def _check(file: Path, field: str, sentence: str, names: Sequence[str]) -> None:
    marks = re.findall(r"{([^{}]*)}", sentence)
    if sorted(marks) != sorted(names):
        wanted = ", ".join(f"{{{name}}}" for name in names)
        raise DatasetError(file, None, f"{field}: '{sentence}' needs each of {wanted} once")


def _cycled(sentences: Sequence[str]) -> tuple[str, ...]:
    return tuple(sentences[style % len(sentences)] for style in range(STYLES))


BOUNDS: dict[str, tuple[tuple[str, str, int], ...]] = {
    "before": (("end", "<", 0),),
    "meets": (("end", "=", 0),),
    "overlaps": (("start", "<", 0), ("end", ">", 0), ("end", "<", 1)),
    "finished-by": (("start", "<", 0), ("end", "=", 1)),
    "contains": (("start", "<", 0), ("end", ">", 1)),
    "starts": (("start", "=", 0), ("end", "<", 1)),
    "equals": (("start", "=", 0), ("end", "=", 1)),
    "started-by": (("start", "=", 0), ("end", ">", 1)),
    "during": (("start", ">", 0), ("end", "<", 1)),
    "finishes": (("start", ">", 0), ("end", "=", 1)),
    "overlapped-by": (("start", ">", 0), ("start", "<", 1), ("end", ">", 1)),
    "met-by": (("start", "=", 1),),
    "after": (("start", ">", 1),),
}
"""What a relation says of a row: its side, the test, and the start (0) or the end (1) of b."""


def reads_back(sample: TdbenchSample) -> bool:
    """Whether the dates in the question's words are those of its query."""
    text = without_values(sample.question, sample.asked.values())
    if len(re.findall("¤", text)) != len(sample.asked):
        return False
    if sample.kind == "current":
        return [iso(match[0]) for match in re.finditer(rf"\b(?:{DATE})\b", text)] == [sample.now]
    if sample.kind != "relation":
        return True
    b = (sample.b_start or "", sample.b_end or "")
    expected = {Bound(side, test, b[place]) for side, test, place in BOUNDS[sample.relation]}
    return set(read_bounds(text)) == expected
