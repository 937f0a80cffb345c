"""What a question family offers: its typed options, its task, its samples, its readers.

`wiring.TASKS` says where each stands. Options are a Record whose
fields have defaults and a docstring each; the user writes them as KEY=VALUE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_env.errors import ConfigError, user_problem
from agent_env.records.schema import MaterialTable, Record, Sample
from agent_env.tasks.task import Task

Materials = Mapping[str, MaterialTable]
"""Tables by digest, as samples name them."""


class NoOptions(Record):
    """For a family without options."""


@dataclass(frozen=True, slots=True)
class Made:
    """Samples, and the tables that they name in `materials`."""

    samples: tuple[Sample, ...]
    tables: tuple[MaterialTable, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    """What the making dropped or did not find, in words, each with how often."""
    missing: tuple[str, ...] = ()
    """Why a sample is missing that was to be made, one text for each."""


def by_digest(tables: Iterable[MaterialTable]) -> dict[str, MaterialTable]:
    """The tables by the name that samples give them."""
    return {table.digest: table for table in tables}


def nothing_foreign(file: Path) -> Made | None:
    """For a family that reads samples.jsonl only."""
    return None


def no_remarks(samples: Sequence[Sample], options: Any) -> Sequence[str]:
    """For a family that says nothing more of a generated set."""
    return ()


@dataclass(frozen=True, slots=True)
class Family:
    """A question family as wiring finds it."""

    name: str
    """As on the command line."""
    make_task: Callable[[str, Any, Materials], Task]
    """From the prompt's name, the options, and the tables that the samples name."""
    make_samples: Callable[[int, int, Any], Made]
    """So many, from a seed and the options; the same gives the same bytes. May give fewer."""
    options: type[Record] = NoOptions
    read_foreign: Callable[[Path], Made | None] = nothing_foreign
    """Samples from a file in a published format; None where the file is none of them."""
    write_foreign: Callable[[Sequence[Sample], Any], bytes] | None = None
    """Samples and the options of their making as a file in the published format."""
    remarks: Callable[[Sequence[Sample], Any], Sequence[str]] = no_remarks
    """Lines for the user about samples that were generated with these options."""
    reference: str | None = None
    """MODULE:NAME of what the scripted policies do about a question: from a `Turn` to a `Step`, or
    None where the question is none of this family."""
    rewording: str | None = None
    """MODULE:NAME of a `Rewording`; None where a model cannot word the questions."""


@dataclass(frozen=True, slots=True)
class Reworded:
    """Samples in a model's words, as far as these passed the check."""

    samples: tuple[Sample, ...]
    refused: Mapping[str, int]
    """Questions that keep the template's words, by reason."""


@dataclass(frozen=True, slots=True)
class Rewording:
    """How a family has its questions worded by a model, as samples of an inner task."""

    task: str
    prompt: str
    """The prompt's name."""
    prompt_digest: str
    samples: Callable[[Sequence[Sample], Materials], tuple[Sample, ...]]
    """What the model is asked, from the questions and their tables."""
    apply: Callable[[Sequence[Sample], Sequence[Sample], Mapping[str, str], str], Reworded]
    """From the questions, what was asked, the replies by sample, and the model's name."""


def read_options(family: Family, given: Sequence[str]) -> Record:
    """The family's options from KEY=VALUE texts; several values are separated by commas."""
    fields = family.options.model_fields
    values: dict[str, str | list[str]] = {}
    for text in given:
        key, equals, value = (part.strip() for part in text.partition("="))
        key = key.replace("-", "_")
        if not equals:
            raise ConfigError(f"--option '{text}' is not KEY=VALUE")
        if key not in fields:
            known = ", ".join(fields) or "none"
            raise ConfigError(f"{family.name} has no option '{key}'; known: {known}")
        if key in values:
            raise ConfigError(f"--option {key} is given twice; separate several values by commas")
        values[key] = _several(value) if _is_tuple(fields[key].annotation) else value
    return _checked(family, values)


def stored_options(family: Family, stored: Mapping[str, Any]) -> Record:
    """The options that a run's manifest holds."""
    return _checked(family, dict(stored))


def _checked(family: Family, values: Mapping[str, Any]) -> Record:
    try:
        return family.options.model_validate(values)
    except ValidationError as exc:
        known = family.options.model_fields
        raise ConfigError(f"option of {family.name}: {user_problem(exc.errors(), known)}") from exc


def _several(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def _is_tuple(annotation: object) -> bool:
    return getattr(annotation, "__origin__", None) is tuple
