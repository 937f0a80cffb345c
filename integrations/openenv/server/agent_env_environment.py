"""A session's environment: each episode is one of `agent-env serve http`, reached over HTTP."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any
from uuid import uuid4

import httpx

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata, State

try:
    from ..models import AgentEnvAction, AgentEnvObservation
except ImportError:  # run from its own folder, as OpenEnv's images do
    from models import AgentEnvAction, AgentEnvObservation

DEFAULT = "http://127.0.0.1:8322"
TIMEOUT = httpx.Timeout(30, read=600)
"""A step waits for the tools that it calls."""
CONNECTS = 7
"""Attempts to reach a server that is starting, in about half a minute."""


class AgentEnvEnvironment(Environment[AgentEnvAction, AgentEnvObservation, State]):
    """Prompts, tools, limits, traces and scores are the server's; AGENT_ENV_URL says where it is,
    AGENT_ENV_TOKEN has its token where it wants one."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        token = os.environ.get("AGENT_ENV_TOKEN")
        self._server = httpx.Client(
            base_url=os.environ.get("AGENT_ENV_URL", DEFAULT),
            headers={"authorization": f"Bearer {token}"} if token else {},
            timeout=TIMEOUT,
            transport=httpx.HTTPTransport(retries=CONNECTS),
        )
        self._place: str | None = None
        self._state = State(episode_id=None, step_count=0)

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any
    ) -> AgentEnvObservation:
        """Begins an episode: of sample number `seed`, or of `sample`, under `condition` and with
        `repeat` if they are named; the next pending one if nothing is."""
        self._give_up()
        wish = {"seed": None if "sample" in kwargs else seed, **kwargs}
        answer = self._server.post(
            "/episodes", json={name: value for name, value in wish.items() if value is not None}
        )
        if answer.status_code == 204:
            raise RuntimeError("no episode is pending; reset with a seed or a sample")
        turn = _body(answer)
        self._place = f"/episodes/{turn['id']}"
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0)
        return self._observation(turn, None)

    def step(
        self, action: AgentEnvAction, timeout_s: float | None = None, **kwargs: Any
    ) -> AgentEnvObservation:
        """Makes the reply's calls, or takes its answer."""
        if self._place is None:
            raise RuntimeError("no episode is open; reset first")
        message: dict[str, Any] = {"role": "assistant", "content": action.content}
        if action.tool_calls:
            message["tool_calls"] = action.tool_calls
        body = {"message": message, "finish_reason": action.finish_reason, "usage": action.usage}
        turn = _body(self._server.post(f"{self._place}/step", json=body))
        self._state.step_count += 1
        return self._observation(turn, 0.0)

    @property
    def state(self) -> State:
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        return EnvironmentMetadata(
            name="agent_env",
            description="Temporal reasoning with tools: web search, calendars, a code interpreter.",
            version="0.1.0",
        )

    def close(self) -> None:
        self._give_up()
        self._server.close()

    def _observation(self, turn: dict[str, Any], reward: float | None) -> AgentEnvObservation:
        metrics: dict[str, float] = {}
        if turn["done"]:
            reward = turn["reward"]
            metrics = _body(self._server.get(f"{self._place}/score")).get("metrics", {})
            self._place = None
        return AgentEnvObservation(
            messages=turn["messages"],
            tools=turn["tools"],
            tool_choice=turn["tool_choice"],
            episode=turn["episode"],
            stop_reason=turn["stop_reason"],
            failure=turn["failure"],
            metrics=metrics,
            done=turn["done"],
            reward=reward,
        )

    def _give_up(self) -> None:
        """Tells the server that nobody goes on with the open episode."""
        place, self._place = self._place, None
        if place is not None:
            with suppress(httpx.HTTPError):
                self._server.delete(place, timeout=5)


def _body(answer: httpx.Response) -> dict[str, Any]:
    if answer.is_success:
        return dict(answer.json())
    try:
        message = answer.json()["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = answer.text[:200]
    raise RuntimeError(f"agent-env serve http answered {answer.status_code}: {message}")
