"""Episodes that outgrow the model's context with `--fit-context`: they go on, and as exactly as
others they replay, resume and fork."""

import asyncio
from dataclasses import replace

import pytest

from agent_env.episodes.rerun.replay import Replayer
from agent_env.episodes.results import episodes_of
from agent_env.episodes.trace.fold import Recording
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ModelError
from agent_env.families.time_puzzles.task import make_task
from agent_env.graph.loop import AgentLoop
from agent_env.graph.meter import estimated_tokens
from agent_env.graph.strategies import make_strategy
from agent_env.protocols import Limits
from agent_env.records.trace_events import ModelCalled
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from tests.episodes.runs import WEB, scripted_runner

FITTING = Limits(fit_context=True)
SCRIPT = [
    *(calls(("web_search", f'{{"n": {n}}}'), first_id=n) for n in range(1, 7)),
    answer("MY ANSWER: 1982-04-02"),
]


class Narrow(ScriptedModel):
    """Reads no more than so many tokens, and says so with the sizes, or without."""

    def __init__(self, context, tells=True):
        super().__init__(SCRIPT)
        self.context, self.tells = context, tells

    async def generate(self, messages, tools, options=None):
        size = estimated_tokens(messages, tools)
        if size > self.context:
            told = {"context_tokens": self.context, "request_tokens": size} if self.tells else {}
            raise ModelError("too long", status=400, kind="context_overflow", **told)
        return await super().generate(messages, tools)


def run(path, model, limits=FITTING):
    tool = FakeTool("web_search", lambda arguments: f"page {arguments} " * 200)
    made = scripted_runner(path, lambda sample: (model, tool), limits=limits, concurrency=1)
    asyncio.run(made.run([puzzle("a")], [WEB], 1, lambda key, ending: None))
    (episode,) = episodes_of(made.folder, print)
    return episode


def trace_of(path):
    return path / "episodes/web/a.1.jsonl"


def model_calls(path):
    return [e for e in read_trace(trace_of(path)) if isinstance(e, ModelCalled)]


def replayed(path, limits=FITTING):
    replayer = Replayer(lambda _, c: make_strategy(c, make_task().prompt), limits)
    recording = Recording.of(read_trace(trace_of(path)))
    result = asyncio.run(replayer.play(recording, puzzle("a"), AgentLoop()))
    return result.verdict, result.steps


@pytest.mark.parametrize("tells", [True, False])
def test_an_episode_goes_on_with_old_outputs_cut_and_replays_the_same(tmp_path, tells):
    episode = run(tmp_path, Narrow(2000, tells))
    assert (episode.status, episode.stop_reason, episode.steps) == ("finished", "answered", 7)
    last = model_calls(tmp_path)[-1].kept or {}
    assert episode.cut_outputs == len(last) > 0
    assert "call_6" not in last
    assert all(len(m.content) == 2800 for m in episode.messages if m.role == "tool")
    assert {e.error_kind for e in model_calls(tmp_path) if e.reply is None} == {"context_overflow"}
    assert replayed(tmp_path) == ("same", 7)


@pytest.mark.parametrize(
    ("context", "limits", "cut"),
    [(2000, Limits(), 0), (600, FITTING, 4)],
    ids=["no option", "nothing left to cut"],
)
def test_without_the_option_or_more_to_cut_it_ends_there(tmp_path, context, limits, cut):
    episode = run(tmp_path, Narrow(context), limits)
    assert (episode.stop_reason, episode.cut_outputs) == ("context", cut)
    assert replayed(tmp_path, limits) == ("same", episode.steps)


def test_cut_off_anywhere_it_goes_on_with_the_same_requests(tmp_path):
    run(tmp_path / "whole", Narrow(2000))
    lines = trace_of(tmp_path / "whole").read_bytes().splitlines(keepends=True)
    asked = [call.request for call in model_calls(tmp_path / "whole") if call.reply is not None]
    for kept in range(1, len(lines)):
        path = tmp_path / str(kept)
        trace_of(path).parent.mkdir(parents=True)
        trace_of(path).write_bytes(b"".join(lines[:kept]))
        (path / "texts.db").write_bytes((tmp_path / "whole/texts.db").read_bytes())
        episode = run(path, Narrow(2000))
        assert (episode.status, episode.stop_reason) == ("finished", "answered"), kept
        now = [call.request for call in model_calls(path) if call.reply is not None]
        assert now == asked, kept
        assert replayed(path) == ("same", 7), kept


def test_the_other_episodes_are_not_touched_by_the_option(tmp_path):
    run(tmp_path / "with", Narrow(10**6))
    run(tmp_path / "without", Narrow(10**6), replace(FITTING, fit_context=None))
    with_, without = model_calls(tmp_path / "with"), model_calls(tmp_path / "without")
    assert [e.request for e in with_] == [e.request for e in without]
    assert {e.kept for e in with_} == {None}
