"""TRAVELER as a family."""

from __future__ import annotations

from pathlib import Path

from agent_env.families.traveler.generator import Options, make_samples
from agent_env.families.traveler.sample import NAME
from agent_env.families.traveler.task import make_task
from agent_env.sdk.family import Family

FAMILY = Family(
    NAME,
    lambda prompt, options, materials: make_task(prompt, materials),
    make_samples,
    Options,
    reference="agent_env.families.traveler.reference:next_step",
    levels=Path(__file__).with_name("difficulty.toml"),
    reproduction="agent_env.families.traveler.reproduction:PAPER",
)
