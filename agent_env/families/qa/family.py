"""The family qa."""

from __future__ import annotations

from agent_env.errors import ConfigError
from agent_env.families.qa.reading import read_questions
from agent_env.families.qa.sample import NAME, QaOptions
from agent_env.families.qa.task import make_task
from agent_env.tasks.family import Family, SampleSet


def _no_samples(count: int, seed: int, options: QaOptions) -> SampleSet:
    raise ConfigError(
        "qa asks a file of yours: --dataset questions.jsonl (or .csv, .tsv, .parquet)"
    )


FAMILY = Family(NAME, make_task, _no_samples, QaOptions, read_questions)
