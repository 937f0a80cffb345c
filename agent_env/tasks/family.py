"""What a question family offers: its typed options, task, samples and readers of published files.

A family is `FAMILY` in the `family.py` of its package in `families/`, which is named like its task
with `_` for `-`. Options are a Record whose fields have a default and a docstring each; the user
writes them as KEY=VALUE.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from agent_env.errors import ConfigError, suggestion, user_problem
from agent_env.records.schema import MaterialTable, Record, Sample
from agent_env.records.tier import Tier
from agent_env.tasks.sample_files import (
    materials_beside,
    read_materials,
    read_samples,
    samples_bytes,
    write_whole,
)
from agent_env.tasks.task import Task

OptionsRecord = TypeVar("OptionsRecord", bound=Record)
Materials = Mapping[str, MaterialTable]
"""Tables by digest, as samples name them."""


class NoOptions(Record):
    """For a family without options."""


@dataclass(frozen=True, slots=True)
class SampleSet:
    """Samples, and the tables that they name in `materials`."""

    samples: tuple[Sample, ...]
    tables: tuple[MaterialTable, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of questions dropped or not found, by reason."""
    missing: tuple[str, ...] = ()
    """For each missing sample, the reason."""
    notes: tuple[str, ...] = ()
    """Remarks on the set for its user."""
    defects: Mapping[str, tuple[tuple[int | None, str], ...]] = field(default_factory=dict)
    """By the id of a sample that cannot be asked: lines and reasons. Only a sample that is selected
    makes an error of them."""

    @classmethod
    def read(cls, file: Path, kind: type[Sample]) -> Self:
        """The samples of a file, with the tables beside it; DatasetError with file, line and reason
        of a defect."""
        samples, materials_file = read_samples(file, kind), materials_beside(file)
        return cls(samples, read_materials(materials_file) if materials_file.exists() else ())

    def write(self, file: Path) -> None:
        """Writes the samples, whole or not at all, and their tables into a second file."""
        if self.tables:
            write_whole(materials_beside(file), samples_bytes(self.tables))
        write_whole(file, samples_bytes(self.samples))

    @property
    def tables_by_digest(self) -> dict[str, MaterialTable]:
        """As samples name them; ConfigError for one that is not there."""
        return by_digest(self.tables)


class _Tables(dict[str, MaterialTable]):
    def __missing__(self, digest: str) -> MaterialTable:
        raise ConfigError(f"a sample names the table {digest[:12]}, which is not among its tables")


def by_digest(tables: Iterable[MaterialTable]) -> dict[str, MaterialTable]:
    """The tables by the digest in the samples; ConfigError for one that is not there."""
    return _Tables({table.digest: table for table in tables})


def nothing_foreign(file: Path, options: Any) -> SampleSet | None:
    """For a family without a published format."""
    return None


@dataclass(frozen=True, slots=True)
class Family:
    """A question family."""

    name: str
    """As on the command line."""
    make_task: Callable[[str, Any, Materials], Task]
    """From the prompt's name, the options, and the tables that the samples name."""
    make_samples: Callable[[int, int, Any], SampleSet]
    """From number, seed and options, reproducible byte for byte; may return fewer samples."""
    options: type[Record] = NoOptions
    read_foreign: Callable[[Path, Any], SampleSet | None] = nothing_foreign
    """Samples from a file in a published format, and the options; None for any other file."""
    write_foreign: Callable[[Sequence[Sample], Any], bytes] | None = None
    """The bytes of a file in the published format, from samples and their options."""
    reference: str | Callable[[Any], Any] | None = None
    """The scripted policies' function, or its MODULE:NAME: from a `Turn` to a `Step`, or to None if
    the question is of another family."""
    policies: tuple[str, ...] = ("reference", "reference-static")
    """The scripted models that this function plays."""
    screening: str | None = None
    """MODULE:NAME of an async function: from the options, a `RunOptions` for each model of a panel,
    the set's file and a listener to options without what the panel knows; None for none."""
    levels: Path | None = None
    """A TOML file of its levels of difficulty: a table for each, with what it is `about` and its
    `options`; `paper` is the defaults. None for none."""
    made_for: Callable[[Sample], Mapping[str, str | None]] = lambda sample: {}
    """The options of how a question is asked that its sample remembers, and their values; None
    where it does not say."""

    def read_options(self, texts: Sequence[str], difficulty: str | None = None) -> Record:
        """Its options from KEY=VALUE texts, over those of the level of difficulty; several values
        are separated by commas."""
        for key, _, level in (text.partition("=") for text in texts):
            if key == "difficulty" and level in self._levels():
                raise ConfigError(f"--option {key}={level}: write --difficulty {level}")
        preset = {} if difficulty is None else self._level(difficulty)["options"]
        return record_options(self.options, self.name, texts, preset)

    def tier_of(self, difficulty: str | None, chosen: Record) -> Tier | None:
        """The level of difficulty of these options, as samples and run.json state it."""
        if difficulty is None:
            return None
        level = self._level(difficulty)
        preset = self.checked_options(level["options"])
        return Tier(
            name=difficulty,
            about=level["about"],
            options=option_texts(level["options"]),
            replaced=tuple(
                key for key in level["options"] if getattr(preset, key) != getattr(chosen, key)
            ),
        )

    def other_ways(self, chosen: Record, samples: Sequence[Sample]) -> Iterator[str]:
        """A line for each option by which samples are asked otherwise than they were made for."""
        made = Counter(pair for sample in samples for pair in self.made_for(sample).items())
        for (name, value), count in made.items():
            asked = getattr(chosen, name)
            if None not in (asked, value) and asked != value:
                yield (
                    f"{count} of {len(samples)} questions were made for {name}={value} and are "
                    f"asked with {name}={asked}; --option {name}={value} asks as they were made"
                )

    def make_tier(self, count: int, seed: int, chosen: Record, tier: Tier | None) -> SampleSet:
        """New samples that state their level of difficulty; those of the defaults state none, and
        are the same bytes."""
        sample_set = self.make_samples(count, seed, chosen)
        if tier is None or not tier.options:
            return sample_set
        stated = (sample.model_copy(update={"tier": tier}) for sample in sample_set.samples)
        return replace(sample_set, samples=tuple(stated))

    def _level(self, difficulty: str) -> dict[str, Any]:
        levels = self._levels()
        if not levels:
            raise ConfigError(
                f"--difficulty {difficulty}: {self.name} has no levels of difficulty; leave it out"
            )
        if difficulty not in levels:
            known = ", ".join(levels)
            raise ConfigError(f"--difficulty {difficulty}: {self.name} has {known}")
        return levels[difficulty]

    def _levels(self) -> dict[str, dict[str, Any]]:
        """The entries of the file of levels: what each is about, and its options."""
        if self.levels is None:
            return {}
        paper = {"about": "the defaults, as in the paper", "options": {}}
        return {**tomllib.loads(self.levels.read_text("utf-8")), "paper": paper}

    def checked_options(self, values: Mapping[str, Any]) -> Record:
        """Its options with these values, such as those of run.json; ConfigError if invalid."""
        return _checked(self.options, self.name, values)


def family_of(task: Task, samples: Sequence[Sample] = ()) -> Family:
    """A family of one task and these samples alone, whatever the seed."""
    all_samples = tuple(samples)
    return Family(
        name=task.name,
        make_task=lambda prompt, options, materials: task,
        make_samples=lambda count, seed, options: SampleSet(all_samples[:count]),
    )


def record_options(
    record: type[OptionsRecord],
    owner: str,
    texts: Sequence[str],
    preset: Mapping[str, Any] = MappingProxyType({}),
) -> OptionsRecord:
    """Options from KEY=VALUE texts, over those of a preset; ConfigError names what the `owner` has
    no option for."""
    fields = record.model_fields
    values: dict[str, str | list[str]] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        key = key.replace("-", "_")
        if not equals:
            raise ConfigError(f"--option '{text}' is not KEY=VALUE")
        if key not in fields:
            raise ConfigError(f"{owner} has no option '{key}'; {suggestion(key, fields)}")
        if key in values:
            raise ConfigError(f"--option {key} is given twice; separate several values by commas")
        takes_several = getattr(fields[key].annotation, "__origin__", None) is tuple
        several = [part.strip() for part in value.split(",") if part.strip()]
        values[key] = several if takes_several else value
    return _checked(record, owner, {**preset, **values})


def option_texts(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values as KEY=VALUE texts; None is left out."""
    return tuple(f"{key}={_text(value)}" for key, value in values.items() if value is not None)


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _checked(record: type[OptionsRecord], owner: str, values: Mapping[str, Any]) -> OptionsRecord:
    try:
        return record.model_validate(values)
    except ValidationError as exc:
        problem = user_problem(exc.errors(), record.model_fields)
        raise ConfigError(f"option of {owner}: {problem}") from exc
