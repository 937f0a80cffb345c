"""The client: `AgentEnvClient(base_url=...)`, a session and its episodes."""

from __future__ import annotations

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.types import State

from .models import AgentEnvAction, AgentEnvObservation


class AgentEnvClient(EnvClient[AgentEnvAction, AgentEnvObservation, State]):
    """`reset(seed=...)` or `reset(sample=..., condition=...)`, then `step(AgentEnvAction(...))`."""

    def _step_payload(self, action: AgentEnvAction) -> dict[str, Any]:
        return action.model_dump(exclude_defaults=True)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[AgentEnvObservation]:
        done, reward = payload.get("done", False), payload.get("reward")
        fields = {**payload.get("observation", {}), "done": done, "reward": reward}
        return StepResult(AgentEnvObservation.model_validate(fields), reward, done)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State.model_validate(payload)
