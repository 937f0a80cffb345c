"""The hook `disturbances` of the engine: what it asks for conditions whose world is changed."""

from agent_env.features.evidence.faults import episode_faults as faults
from agent_env.features.evidence.outcomes import attack_outcomes, fault_outcome
from agent_env.features.evidence.overlay import overlaid as web

__all__ = [
    "attack_outcomes",
    "fault_outcome",
    "faults",
    "web",
]  # fmt: skip
