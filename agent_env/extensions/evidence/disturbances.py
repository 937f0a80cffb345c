"""The hook `disturbances` of the engine: what it asks for conditions whose world is changed."""

from agent_env.extensions.evidence.ablation import check_ablations as check
from agent_env.extensions.evidence.attacks import changed_samples
from agent_env.extensions.evidence.faults import episode_faults as faults
from agent_env.extensions.evidence.overlay import overlaid as web
from agent_env.extensions.evidence.trails import followed_attack, trails
from agent_env.extensions.evidence.twins import twins

__all__ = ["changed_samples", "check", "faults", "followed_attack", "trails", "twins", "web"]
