"""Episodes driven from outside have the tools, limits, traces and scores of any run."""

import runpy
import sys
from contextlib import asynccontextmanager

import pytest

from agent_env.errors import ConfigError
from agent_env.records.schema import Message, ToolCall
from agent_env.runs.environment import make_environment, open_environment
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.scores.score import score_folder
from tests import ROOT

EXAMPLE = ROOT / "examples" / "drive.py"


async def _folder(path):
    asked = {"conditions": ("explicit+cal",), "limit": 1, "out": path}
    return await make_environment(RunOptions("time-puzzles", **asked))


@asynccontextmanager
async def _opened(folder):
    """The environment, and an episode of its first sample."""
    async with open_environment(folder) as environment:
        yield environment, environment.episode(environment.samples[0].id)


def _calls(*ids):
    arguments = '{"calendar": "hebrew", "date": "2024-01-01"}'
    asked = tuple(ToolCall(id=i, name="calendars", arguments=arguments) for i in ids)
    return Message(role="assistant", tool_calls=asked)


def test_the_example_earns_the_reward_of_right_answers(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["drive.py", str(tmp_path / "run")])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    rewards = [line.split()[1] for line in capsys.readouterr().out.splitlines()]
    assert rewards == ["1.0"] * 4
    run = Run(tmp_path / "run")
    assert run.manifest.model == "policy"
    assert [episode.model for episode, _ in score_folder(run, print)] == ["policy"] * 4


async def test_a_reply_with_a_call_is_followed_by_the_tool_s_result(tmp_path):
    async with _opened(await _folder(tmp_path / "r")) as (_, episode):
        turn = await episode.reset()
        assert (turn.done, turn.reward, turn.tool_choice) == (False, None, "required")
        assert [tool.name for tool in turn.tools] == ["calendars"]
        turn = await episode.step(_calls("a", "b"))
        assert [(m.role, m.tool_call_id) for m in turn.new] == [("tool", "a"), ("tool", "b")]
        turn = await episode.step("MY ANSWER: 1066-10-14")
        assert (turn.done, turn.reward, turn.new, turn.episode.tool_calls) == (True, 0.0, (), 2)


async def test_a_folder_opened_again_goes_on_counting(tmp_path):
    folder, repeats = await _folder(tmp_path / "r"), []
    for _ in range(2):
        async with _opened(folder) as (_, episode):
            await episode.reset()
            repeats.append((await episode.step("MY ANSWER: None")).episode.repeat)
    assert repeats == [1, 2]


async def test_wrong_use_is_refused_in_words_and_an_episode_given_up_stays_unfinished(tmp_path):
    folder = await _folder(tmp_path / "r")
    async with _opened(folder) as (environment, episode):
        with pytest.raises(ConfigError, match="no sample nobody"):
            environment.episode("nobody")
        with pytest.raises(ConfigError, match="has not begun"):
            await episode.step("x")
        await episode.reset()
        with pytest.raises(ConfigError, match="has begun"):
            await episode.reset()
        with pytest.raises(ConfigError, match="role assistant"):
            await episode.step(Message(role="user", content="x"))
        await episode.close()
    assert [episode.status for episode, _ in score_folder(folder, print)] == ["unfinished"]
