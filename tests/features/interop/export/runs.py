"""A run in which everything occurs that an export must keep apart."""

from datetime import UTC, datetime, timedelta

import pytest

from agent_env.episodes.run_folder import EpisodeKey
from agent_env.episodes.trace.lines import TraceWriter
from agent_env.features.interop.export.source import Choice, Source
from agent_env.records import trace_events as events
from agent_env.records.schema import Message, PageRef, Reply, ToolCall, ToolResult, ToolSpec, Usage
from agent_env.testing import answer
from tests.episodes.runs import WEB, make_run

PARAMETERS = {"type": "object", "properties": {"query": {"type": "string"}}}
SEARCH = ToolSpec(name="web_search", description="Finds pages.", parameters=PARAMETERS)
PAGE = PageRef(url="https://a.example/war", how="opened", digest="00")


class Clock:
    """Half a second later each time it is read."""

    def __init__(self):
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        self._now += timedelta(seconds=0.5)
        return self._now


def a_run(path):
    """`right` answers rightly after a failed call and a search, `wrong` wrongly and without known
    tokens, `lost` fails, `cut` is unfinished; 1982-04-02 is the answer to all."""
    folder = make_run(path, ["right", "wrong", "lost", "cut"])
    trace = _begin(folder, "right")
    trace.write(
        events.ModelCalled, request="0" * 64, error="too many requests", error_kind="rate_limit",
        usage=Usage(input_tokens=5, output_tokens=0, cached_tokens=0, reasoning_tokens=0),
        wait_s=0.1, latency_s=0.1,
    )  # fmt: skip
    call = ToolCall(id="call_1", name="web_search", arguments='{"query": "Falklands War"}')
    asked = Message(role="assistant", content="I look.", tool_calls=(call,), reasoning="Hm.")
    counted = {"cached_tokens": 40, "output_tokens": 7, "reasoning_tokens": 3}
    usage = Usage(input_tokens=100, source="provider", **counted)
    reply = Reply(message=asked, finish_reason="tool_calls", usage=usage, model="gpt-5-2026")
    trace.write(events.ModelCalled, request="1" * 64, reply=reply, latency_s=0.25, attempt=2)
    trace.write(
        events.ToolCalled, call=call, duration_s=0.2, output_tokens=9, tokens_source="estimate",
        result=ToolResult(output="It began on 1982-04-02.", pages=(PAGE,)),
    )  # fmt: skip
    last = usage.model_copy(update={"input_tokens": 130})
    _answer(trace, "2", "MY ANSWER: 1982-04-02", last, 0.3)
    _answer(_begin(folder, "wrong"), "0", "MY ANSWER: 1999-01-01", Usage(), 0.1)
    trace = _begin(folder, "lost")
    trace.write(events.EpisodeFailed, error="ModelError", message="the server is gone")
    trace.close()
    _begin(folder, "cut").close()
    return folder


def _begin(folder, sample):
    key = EpisodeKey(sample, "web", 1)
    trace = TraceWriter(folder.trace(key), key.name, Clock())
    trace.write(
        events.EpisodeStarted, sample=sample, condition=WEB, repeat=1, model="openai/gpt-5",
        messages=(Message(role="user", content="Which day was it?"),), tools=(SEARCH,),
    )  # fmt: skip
    return trace


def _answer(trace, digit, text, usage, latency_s):
    """The last reply and the end."""
    reply = answer(text, usage)
    trace.write(events.ModelCalled, request=digit * 64, reply=reply, latency_s=latency_s)
    trace.write(events.EpisodeFinished, answer=text, stop_reason="answered")
    trace.close()


def source_of(folder, choice=None):
    """The run, with every complaint raised."""
    return Source(folder, folder.task, pytest.fail, choice or Choice())
