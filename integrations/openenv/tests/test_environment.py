"""Through OpenEnv's client and server: scores as of a run, oracle, floor, determinism."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

import httpx
import pytest
from agent_env_openenv import AgentEnvAction, AgentEnvClient
from servers import AGENT_ENV, CONDITIONS, openenv, process, scores_of

pytestmark = pytest.mark.skipif(not AGENT_ENV, reason="AGENT_ENV names no agent-env command")


def oracle():
    path = Path(__file__).parents[1] / "validation" / "oracle.py"
    spec = importlib.util.spec_from_file_location("oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def play(client, model: httpx.Client, **wish) -> float | None:
    """The reward of an episode that the model plays."""
    result = client.reset(**wish)
    talk = list(result.observation.messages)
    while not result.done:
        seen = result.observation
        request = {"model": "reference-static", "messages": talk}
        if seen.tools:
            request |= {"tools": seen.tools, "tool_choice": seen.tool_choice}
        sent = model.post("/v1/chat/completions", json=request).raise_for_status().json()
        choice = sent["choices"][0]
        action = AgentEnvAction(
            content=choice["message"].get("content") or "",
            tool_calls=choice["message"].get("tool_calls") or [],
            finish_reason=choice["finish_reason"],
            usage=sent["usage"],
        )
        result = client.step(action)
        talk += result.observation.messages
    return result.reward


def test_rewards_are_the_scores_of_a_run(tmp_path: Path) -> None:
    ours, served = tmp_path / "ours", tmp_path / "served"
    with process([AGENT_ENV, "serve", "fake", "--policy", "reference-static"]) as model:
        subprocess.run(
            [AGENT_ENV, "run", "time-puzzles", *CONDITIONS, "--limit", "3", "--out", str(ours),
             "--model", "compatible/reference-static", "--base-url", f"{model}/v1"],
            check=True, capture_output=True, env={**os.environ, "COMPATIBLE_API_KEY": "none"},
        )  # fmt: skip
        expected = scores_of(ours)
        with (
            openenv("time-puzzles", served) as url,
            AgentEnvClient(base_url=url).sync() as client,
            httpx.Client(base_url=model, timeout=60) as asked,
        ):
            numbers = {
                sample: n
                for n, sample in enumerate(
                    sorted(s.split("/")[1] for s in expected if s.startswith("base/"))
                )
            }
            rewards = {
                name: play(client, asked, condition=name.split("/")[0],
                           seed=numbers[name.split("/")[1]])
                for name in expected
            }  # fmt: skip
    assert len(rewards) == 6
    assert rewards == expected
    assert scores_of(served) == expected


def test_the_oracle_earns_one_the_floor_nothing_and_both_again(tmp_path: Path) -> None:
    run, file = tmp_path / "run", tmp_path / "questions.jsonl"
    subprocess.run([AGENT_ENV, "questions", "generate", "time-puzzles", "--limit", "20",
                    "--out", str(file)], check=True, capture_output=True)  # fmt: skip
    with openenv("time-puzzles", run, limit=20) as url:
        answers = oracle().gold_answers(file)
        earned = [oracle().rewards(url, answers) for _ in range(2)]
        unknown = dict.fromkeys(answers, "I do not know.")
        floor = [oracle().rewards(url, unknown) for _ in range(2)]
        with AgentEnvClient(base_url=url).sync() as client:
            asked = [client.reset(seed=7).observation.messages for _ in range(2)]
            result = client.step(AgentEnvAction(content="MY ANSWER: 1850-01-01"))
            assert result.done
            assert set(result.observation.metrics) >= {"exact_match", "f1"}
    assert earned == [dict.fromkeys(answers, 1.0)] * 2
    assert floor[0] == floor[1]
    assert sum(floor[0].values()) / 20 < 0.05
    assert asked[0] == asked[1]
