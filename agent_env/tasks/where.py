"""Selects samples by their fields: `FIELD=A,B`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_env.errors import ConfigError
from agent_env.records.schema import Sample


@dataclass(frozen=True, slots=True)
class Filter:
    """A field and its allowed values."""

    field: str
    values: tuple[str, ...]


def parse_where(text: str) -> Filter:
    """Parses `FIELD=A,B`."""
    field, equals, values = text.partition("=")
    if not field or not equals or not values:
        raise ConfigError(f"--where '{text}' is not FIELD=A,B")
    return Filter(field.strip(), tuple(value.strip() for value in values.split(",")))


def select(samples: Sequence[Sample], filters: Sequence[Filter]) -> list[Sample]:
    """The samples that satisfy all filters; ConfigError for an unknown field. `columns` of the
    samples, if they have any, are fields too."""
    for each in filters:
        columns = dict.fromkeys(name for sample in samples for name in _columns(sample))
        fields = [*type(samples[0]).model_fields, *columns]
        if each.field not in fields:
            raise ConfigError(f"--where: no field '{each.field}'; known: {', '.join(fields)}")
    return [s for s in samples if all(_satisfies(s, f) for f in filters)]


def _satisfies(sample: Sample, filter_: Filter) -> bool:
    columns = _columns(sample)
    value = columns.get(filter_.field) or getattr(sample, filter_.field, "")
    values = value if isinstance(value, tuple) else (value,)
    return any(str(part) in filter_.values for part in values)


def _columns(sample: Sample) -> Mapping[str, str]:
    """The columns of a user's file that the sample was read from."""
    columns: Mapping[str, str] = getattr(sample, "columns", {})
    return columns
