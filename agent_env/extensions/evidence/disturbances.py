"""The hook `disturbances` of the engine: what it asks for conditions whose world is changed."""

from agent_env.extensions.evidence.ablation import check_ablations as check
from agent_env.extensions.evidence.attacks import changed_samples
from agent_env.extensions.evidence.faults import episode_faults as faults
from agent_env.extensions.evidence.options import disturbed
from agent_env.extensions.evidence.outcomes import attack_outcomes, fault_outcome
from agent_env.extensions.evidence.overlay import overlaid as web

__all__ = [
    "attack_outcomes",
    "changed_samples",
    "check",
    "disturbed",
    "fault_outcome",
    "faults",
    "web",
]  # fmt: skip
