"""The loop between the library's model and an episode of the server.

The server says what is asked and which tools there are, the library's model replies, the reply goes
back: prompts, tools, limits and scorer are those of an `agent-env run`. No program is started.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import httpx
import verifiers.v1 as vf

from agent_env_verifiers.server import TIMEOUT, body, settings
from agent_env_verifiers.taskset import RESULT, AgentEnvData


class AgentEnvHarnessConfig(vf.HarnessConfig):
    """It has no settings of its own."""


class AgentEnvHarness(vf.Harness[AgentEnvHarnessConfig]):
    """Drives one episode for each rollout."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False  # what the model's code does, it does in the server's sandbox
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        task = trace.task.data
        if not isinstance(task, AgentEnvData):
            raise TypeError(f"{type(task).__name__} is not a task of agent-env; use its taskset")
        head = {"authorization": f"Bearer {secret}"}
        async with (
            httpx.AsyncClient(**settings(task.url, task.token_var)) as server,
            httpx.AsyncClient(
                base_url=endpoint, headers=head, timeout=None, trust_env=False
            ) as model,
        ):
            ended = await _episode(server, model, ctx.model, task)
        if ended["reward"] is None:
            failure = ended["failure"] or "the episode has no score"
            return vf.ProgramResult(exit_code=1, stdout="", stderr=str(failure))
        trace.info[RESULT] = ended
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


async def _episode(
    server: httpx.AsyncClient, model: httpx.AsyncClient, name: str, task: AgentEnvData
) -> dict[str, Any]:
    """How the episode ended. One that is left before its end is given up on the server, too."""
    wish = {"sample": task.sample, "condition": task.condition, "agent": name[:100]}
    turn = body(await server.post("/episodes", json=wish))
    place, talk = f"/episodes/{turn['id']}", list(turn["messages"])
    try:
        while not turn["done"]:
            reply = await _reply(model, name, talk, turn)
            turn = body(await server.post(f"{place}/step", json=reply))
            talk += turn["messages"]
    except BaseException:
        with suppress(httpx.HTTPError):
            await server.delete(place, timeout=5)
        raise
    return body(await server.get(f"{place}/score"))


async def _reply(
    model: httpx.AsyncClient, name: str, talk: list[dict[str, Any]], turn: dict[str, Any]
) -> dict[str, Any]:
    request: dict[str, Any] = {"model": name, "messages": talk}
    if turn["tools"]:
        request |= {"tools": turn["tools"], "tool_choice": turn["tool_choice"]}
    answer = await model.post("/chat/completions", json=request, timeout=TIMEOUT)
    if not answer.is_success:
        raise RuntimeError(f"the model answered {answer.status_code}: {answer.text[:500]}")
    sent = answer.json()
    choice = sent["choices"][0]
    return {
        "message": choice["message"],
        "finish_reason": choice.get("finish_reason"),
        "usage": sent.get("usage"),
        "number": turn["steps"] + 1,
    }
