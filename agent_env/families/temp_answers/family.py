"""The family temp-answers."""

from __future__ import annotations

from pathlib import Path

from agent_env.families.temp_answers.generator import AnswerOptions, make_samples
from agent_env.families.temp_answers.sample import NAME
from agent_env.families.temp_answers.task import make_task
from agent_env.sdk.family import Family

FAMILY = Family(
    NAME,
    make_task,
    make_samples,
    AnswerOptions,
    reference="agent_env.families.temp_answers.reference:next_step",
    levels=Path(__file__).with_name("difficulty.toml"),
    reproduction="agent_env.families.temp_answers.reproduction:PAPER",
)
