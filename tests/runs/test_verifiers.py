"""The verifiers library drives our episodes and gets the scorer's rewards."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_env.families.reference.policy import Reference
from agent_env.models.fake_server.server import serve
from agent_env.runs.options import RunOptions

vf = pytest.importorskip("verifiers", reason="needs the extra verifiers")


def test_rollouts_against_a_server_earn_what_the_scorer_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent_env.runs.score import score_folder
    from agent_env.runs.verifiers import load_environment

    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("PUZZLE_KEY", "none")
    options = RunOptions("time-puzzles", conditions=("explicit+cal",), limit=2, out=tmp_path / "r")
    env = load_environment(options)

    async def evaluate(url: str):  # type: ignore[no-untyped-def]
        client = vf.types.ClientConfig(
            client_type="openai_chat_completions", api_base_url=url, api_key_var="PUZZLE_KEY"
        )
        found = await env.evaluate(client, "x", num_examples=2, rollouts_per_example=2)
        await env.close()
        return found["outputs"]

    async def main():  # type: ignore[no-untyped-def]
        async with serve(Reference()) as server:
            return await evaluate(server.url)

    outputs = asyncio.run(main())
    assert [output["error"] for output in outputs] == [None] * 4
    assert [output["reward"] for output in outputs] == [1.0] * 4
    assert outputs[0]["metrics"]["f1"] == 1.0
    scored = score_folder(env.folder, print)
    assert [score.metrics["exact_match"] for _, score in scored] == [1.0] * 4
    assert {episode.stop_reason for episode, _ in scored} == {"answered"}
