"""Runs on servers that refuse in words of their own: every question is scored."""

import json

from agent_env.records.schema import ToolCall
from agent_env.runs.run import Run
from tests.commands import agent_env, serving
from tests.fake_server import FakeServer, Refusal, ScriptedAnswer
from tests.fake_server.conversation import count_tokens

LIMIT = 2500


def looking(refusal):
    """Looks up five times, then answers; the server refuses as `refusal` says."""

    async def policy(turns, offers):
        refusal(turns)
        results = sum(turn.role == "tool" for turn in turns)
        if results < 5:
            word = json.dumps({"word": f"treaty{results} "})
            return ScriptedAnswer(calls=(ToolCall(id="", name="look", arguments=word),))
        return ScriptedAnswer("MY ANSWER: None")

    return policy


def done_by(policy, out, *words):
    tool = out.with_name("look.py")
    tool.write_text("def look(word: str) -> str:\n    'Looks a word up.'\n    return word * 500\n")
    with serving(FakeServer(policy)) as url:
        return agent_env(
            "run", "time-puzzles", "--model", f"compatible/fake@{url}",
            "--condition", f"{tool}:look", "--limit", "10", "--repeats", "3",
            "--no-preflight", "--out", str(out), *words,
        )  # fmt: skip


def test_with_fit_context_thirty_questions_end_scored(tmp_path):
    def too_long(turns):
        if count_tokens([turn.content for turn in turns]) > LIMIT:
            what = f"Range of input length should be [1, {LIMIT}]"
            raise Refusal(400, f"InternalError.Algo.InvalidParameter: {what}")

    done = done_by(looking(too_long), tmp_path / "run", "--fit-context")
    assert done.returncode == 0, done.stderr
    episodes = [episode for episode, _ in Run(tmp_path / "run").scored(print)]
    assert [episode.stop_reason for episode in episodes] == ["answered"] * 30
    assert sum(episode.cut_outputs > 0 for episode in episodes) == 30


def test_a_badly_written_call_is_a_step_of_the_model_and_stops_nothing(tmp_path):
    def badly(turns):
        if sum(turn.role == "tool" for turn in turns) == 1:
            extra = {"failed_generation": "<function=look {word}>"}
            raise Refusal(400, "Failed to call a function.", code="tool_use_failed", extra=extra)

    done = done_by(looking(badly), tmp_path / "run")
    assert done.returncode == 0, done.stderr
    episodes = [episode for episode, _ in Run(tmp_path / "run").scored(print)]
    assert [episode.status for episode in episodes] == ["finished"] * 30
    assert {episode.tool_errors for episode in episodes} == {1}
