"""Samples about what a model cannot have read."""

from __future__ import annotations

import pytest

from agent_env.analysis.cutoff import after_cutoff
from agent_env.records.model_facts import ModelFacts
from agent_env.records.schema import Sample
from agent_env.testing import puzzle

DATES = {"a": "2023-12-31", "b": "2024", "c": "2024-06-30", "d": "2024-07-01", "e": "2025"}
SAMPLES = [puzzle(name) for name in ("a", "b", "c", "d", "e", "unknown")]


def date(sample: Sample) -> str | None:
    return DATES.get(sample.id)


def knowing(cutoff: str | None) -> ModelFacts:
    return ModelFacts(date="2026-01-01", source="made up", knowledge_cutoff=cutoff)


@pytest.mark.parametrize(
    ("cutoff", "later"),
    [
        ("2024-06", ("d", "e")),
        ("2024", ("e",)),
        ("2024-06-29", ("c", "d", "e")),
        ("2022", ("a", "b", "c", "d", "e")),
        ("2025", ()),
    ],
)
def test_samples_with_a_later_event_are_flagged(cutoff: str, later: tuple[str, ...]) -> None:
    found = after_cutoff(SAMPLES, date, knowing(cutoff))
    assert found is not None
    assert (found.samples, found.asked, found.undated) == (later, 6, 1)


def test_without_a_cutoff_nothing_is_said() -> None:
    assert after_cutoff(SAMPLES, date, knowing(None)) is None
    assert after_cutoff(SAMPLES, date, None) is None
