"""A task for each sample and condition that the server has; its reward is our scorer's."""

from __future__ import annotations

import httpx
import verifiers.v1 as vf

from agent_env_verifiers.server import body, settings

RESULT = "agent_env"
"""Where the harness leaves the episode's end in the trace's `info`."""


class AgentEnvData(vf.TaskData):
    """One sample under one condition of the served run."""

    url: str | None
    token_var: str
    sample: str
    condition: str


class AgentEnvTask(vf.Task[AgentEnvData]):
    """Scored by the server, when the episode ended."""

    @property
    def key(self) -> str:
        return f"{self.data.condition}/{self.data.sample}"

    @vf.reward(weight=1.0)
    async def reward(self, trace: vf.Trace) -> float:
        """The task's main metric."""
        return float(trace.info[RESULT]["reward"])

    @vf.metric
    async def scores(self, trace: vf.Trace) -> dict[str, float]:
        """All metrics of the task by name, where the server shows them."""
        return dict(trace.info[RESULT].get("metrics", {}))


class AgentEnvConfig(vf.TasksetConfig):
    """Where `agent-env serve http` is."""

    url: str | None = None
    """Its address; else the variable AGENT_ENV_URL, else http://127.0.0.1:8322."""
    token_var: str = "AGENT_ENV_TOKEN"
    """The variable with the token, where the server wants one."""


class AgentEnvTaskset(vf.Taskset[AgentEnvTask, AgentEnvConfig]):
    """What GET /tasks lists."""

    def load(self) -> list[AgentEnvTask]:
        url, token_var = self.config.url, self.config.token_var
        with httpx.Client(**settings(url, token_var)) as server:
            served = body(server.get("/tasks"))
        return [
            AgentEnvTask(
                AgentEnvData(
                    name=f"{condition}/{sample}",
                    prompt=f"{condition}/{sample}",  # the question comes when the episode begins
                    url=url,
                    token_var=token_var,
                    sample=sample,
                    condition=condition,
                ),
                self.config.task,
            )
            for sample in served["samples"]
            for condition in served["conditions"]
        ]
