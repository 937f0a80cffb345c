"""Tasks of `agent-env serve http` as an OpenEnv environment."""

from .client import AgentEnvClient
from .models import AgentEnvAction, AgentEnvObservation

__all__ = ["AgentEnvAction", "AgentEnvClient", "AgentEnvObservation"]
