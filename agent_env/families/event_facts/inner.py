"""The two questions about event tables as families: what a model remembers, what it can check."""

from __future__ import annotations

from datetime import UTC, datetime

from agent_env.families.event_facts import check, screen
from agent_env.tasks.family import Family, NoOptions, SampleSet
from agent_env.temporal.facts.tables import shipped_tables


def _screen(count: int, seed: int, options: NoOptions) -> SampleSet:
    rows = shipped_tables().events
    return SampleSet(screen.make_samples(rows, datetime.now(UTC).date())[:count])


def _check(count: int, seed: int, options: NoOptions) -> SampleSet:
    rows = shipped_tables().events
    return SampleSet(check.make_samples(rows, datetime.now(UTC).date())[:count])


SCREEN = Family(screen.NAME, lambda prompt, options, tables: screen.make_task(prompt), _screen)
CHECK = Family(check.NAME, lambda prompt, options, tables: check.make_task(prompt), _check)
