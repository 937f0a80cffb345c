"""Runs on servers that refuse in words of their own: every question is scored."""

import json

import pytest

from agent_env.records.schema import ToolCall
from agent_env.runs.run import Run
from tests.commands import serving, typed
from tests.fake_server import FakeServer, Refusal, ScriptedAnswer
from tests.fake_server.conversation import count_tokens

LIMIT = 2500


def too_long(turns):
    if count_tokens([turn.content for turn in turns]) > LIMIT:
        what = f"Range of input length should be [1, {LIMIT}]"
        raise Refusal(400, f"InternalError.Algo.InvalidParameter: {what}")


def badly(turns):
    if sum(turn.role == "tool" for turn in turns) == 1:
        extra = {"failed_generation": "<function=look {word}>"}
        raise Refusal(400, "Failed to call a function.", code="tool_use_failed", extra=extra)


@pytest.mark.parametrize(
    ("refuses", "words", "cut", "errors"), [(too_long, "--fit-context", 30, 0), (badly, "", 0, 1)]
)
def test_thirty_questions_end_answered_whatever_the_words(tmp_path, refuses, words, cut, errors):
    """A model looks up five times, then answers. Too long a conversation is shortened where that is
    asked for, and a badly written call is a step of the model."""

    async def policy(turns, offers):
        refuses(turns)
        results = sum(turn.role == "tool" for turn in turns)
        word = json.dumps({"word": f"treaty{results} "})
        calls = (ToolCall(id="", name="look", arguments=word),) if results < 5 else ()
        return ScriptedAnswer("" if calls else "MY ANSWER: None", calls=calls)

    tool, out = tmp_path / "look.py", tmp_path / "run"
    tool.write_text("def look(word: str) -> str:\n    'Looks a word up.'\n    return word * 500\n")
    with serving(FakeServer(policy)) as url:
        command = f"run time-puzzles --model compatible/fake@{url} --condition {tool}:look"
        done = typed(f"{command} --limit 10 --repeats 3 --no-preflight --out {out} {words}")
    assert done.returncode == 0, done.stderr
    episodes = [episode for episode, _ in Run(out).scored(print)]
    assert [episode.stop_reason for episode in episodes] == ["answered"] * 30
    assert sum(episode.cut_outputs > 0 for episode in episodes) == cut
    assert {(episode.status, episode.tool_errors) for episode in episodes} == {("finished", errors)}
