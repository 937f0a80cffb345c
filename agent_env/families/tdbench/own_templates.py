"""A user's own sentences for the columns of a table.

Their TOML file has `relation`, a list of sentences with `{cond}` where the condition on time goes,
and may have `current` (with `{now}`), `verbs` (office, spell, player, rule, stay or entry), `noun`
and `group` (for `nth`, `longest` and `count`). Every sentence names each column of the question
once, as `{column}`. A question is kept only if what it states of start and end reads back.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from pydantic import Field, ValidationError

from agent_env.families.tdbench.reading import DATE, bounds_of, iso, read_bounds
from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.families.tdbench.wording import STYLES, VERBS, Domain
from agent_env.sdk.errors import ConfigError, DatasetError, first_problem
from agent_env.sdk.records import Record

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
    for field, sentences, marks in (
        ("relation", own.relation, ("cond",)),
        ("current", own.current, ("now",)),
        ("group", [] if own.group is None else [own.group], ()),
    ):
        names = (*form.keys, *marks)
        for sentence in sentences:
            if sorted(re.findall(r"{([^{}]*)}", sentence)) != sorted(names):
                wanted = ", ".join(f"{{{name}}}" for name in names)
                raise DatasetError(file, None, f"{field}: '{sentence}' needs each of {wanted} once")
    form = replace(
        form,
        verbs=VERBS[own.verbs],
        noun=own.noun or form.noun,
        group=own.group or form.group,
        heads=tuple(islice(cycle(own.relation), STYLES)),
        now_heads=tuple(islice(cycle(own.current), STYLES)) or form.now_heads,
    )
    return replace(domain, forms=(form,))


def _read(file: Path) -> TemplateFile:
    try:
        return TemplateFile.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except OSError as exc:
        raise ConfigError(f"templates {file}: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise DatasetError(file, None, f"is not TOML: {exc}") from exc
    except ValidationError as exc:
        raise DatasetError(file, None, first_problem(exc.errors())) from exc


def reads_back(sample: TdbenchSample) -> bool:
    """Whether the dates in the question's words are those of its query."""
    text = _without_values(sample.question, sample.asked.values())
    if len(re.findall("¤", text)) != len(sample.asked):
        return False
    if sample.kind == "current":
        return [iso(match[0]) for match in re.finditer(rf"\b(?:{DATE})\b", text)] == [sample.now]
    if sample.kind != "relation":
        return True
    return set(read_bounds(text)) == set(bounds_of(sample))


def _without_values(text: str, values: Iterable[str]) -> str:
    """The text with a mark in place of each value, long ones first."""
    for value in sorted(values, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "¤", text, flags=re.IGNORECASE)
    return text
