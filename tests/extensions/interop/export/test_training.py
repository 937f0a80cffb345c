"""Training data: only what was answered, only what was scored, in chat format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent_env.extensions.interop.export import rollouts, sft
from agent_env.extensions.interop.export.source import Choice, Source
from tests.extensions.interop.export.runs import a_run, source_of


def _sft(source: Source, out: Path) -> list[Any]:
    out.mkdir()
    sft.write(source, out)
    return [json.loads(line) for line in (out / "sft.jsonl").read_text().splitlines()]


def test_a_trajectory_is_a_chat_with_its_tools(tmp_path: Path) -> None:
    chat = _sft(source_of(a_run(tmp_path / "run"), Choice(min_score=1.0)), tmp_path / "out")[0]
    assert [m["role"] for m in chat["messages"]] == ["user", "assistant", "tool", "assistant"]
    asked, told = chat["messages"][1:3]
    function = {"name": "web_search", "arguments": '{"query": "Falklands War"}'}
    assert asked["tool_calls"] == [{"id": "call_1", "type": "function", "function": function}]
    assert asked["reasoning_content"] == "Hm."
    assert told["tool_call_id"] == "call_1"
    assert chat["tools"][0]["function"]["name"] == "web_search"
    assert chat["messages"][chat["prompt_messages"] - 1]["content"] == "Which day was it?"


def test_only_episodes_with_the_score_are_taken_and_the_rest_is_counted(tmp_path: Path) -> None:
    source = source_of(a_run(tmp_path / "run"), Choice(min_score=1.0))
    assert [c["metadata"]["episode"] for c in _sft(source, tmp_path / "a")] == ["web/right.1"]
    assert source.left_out == 3


def test_without_a_score_asked_for_all_answers_are_taken(tmp_path: Path) -> None:
    source = source_of(a_run(tmp_path / "run"))
    chats = _sft(source, tmp_path / "a")
    assert [c["metadata"]["episode"] for c in chats] == ["web/right.1", "web/wrong.1"]
    assert source.left_out == 2


def test_a_rollout_has_prompt_completion_and_reward(tmp_path: Path) -> None:
    source, out = source_of(a_run(tmp_path / "run")), tmp_path / "out"
    out.mkdir()
    assert rollouts.write(source, out) == {"results": 2}
    right, wrong = (json.loads(x) for x in (out / "results.jsonl").read_text().splitlines())
    assert (right["reward"], wrong["reward"]) == (1.0, 0.0)
    assert [m["role"] for m in right["prompt"]] == ["user"]
    assert [m["role"] for m in right["completion"]] == ["assistant", "tool", "assistant"]
    assert right["token_usage"] == {"input_tokens": 235, "output_tokens": 14}
    assert "token_usage" not in wrong


def test_a_failed_episode_gets_no_reward_at_all(tmp_path: Path) -> None:
    source, out = source_of(a_run(tmp_path / "run")), tmp_path / "out"
    out.mkdir()
    rollouts.write(source, out)
    assert "the server is gone" not in (out / "results.jsonl").read_text()
    assert source.left_out == 2
