"""Tasks of `agent-env serve http` in verifiers v1: `vf-eval agent-env-verifiers`."""

from agent_env_verifiers.harness import AgentEnvHarness
from agent_env_verifiers.taskset import AgentEnvTaskset

__all__ = ["AgentEnvHarness", "AgentEnvTaskset"]
