"""Runs of scripted episodes on disk, and the viewer over them as a real server in a thread."""

import threading
from contextlib import contextmanager

import httpx
import uvicorn

from agent_env.episodes.run_folder import EpisodeKey
from agent_env.episodes.trace.lines import TraceWriter
from agent_env.episodes.trace.texts import Texts
from agent_env.features.serve.hosting import listening
from agent_env.features.viewer.app import make_app
from agent_env.features.viewer.library import Library
from agent_env.records.schema import Message, PageRef, Reply, ToolCall, ToolResult, Usage
from agent_env.records.trace_events import EpisodeFinished, EpisodeStarted, ModelCalled, ToolCalled
from agent_env.runs.scores.score import score_folder
from agent_env.tasks.conditions import parse_condition
from tests.episodes import runs

RIGHT, WRONG = "MY ANSWER: 1982-04-02", "MY ANSWER: 1982-04-03"


def make_run(path, samples, conditions=("web",), model="m"):
    """A run that asks these samples, without episodes yet."""
    return runs.make_run(
        path, samples, "sealed", id=path.name, model=model, limits={"steps": 9}, seed=1,
        conditions=tuple(map(parse_condition, conditions)), versions={"agent-env": "0"},
    )  # fmt: skip


def begin(folder, sample, condition="web"):
    """An episode that has just begun; close what is given back."""
    key = EpisodeKey(sample, condition, 1)
    trace = TraceWriter(folder.trace(key), key.name, runs.clock, Texts(folder.texts))
    trace.write(
        EpisodeStarted, run=folder.path.name, sample=sample, repeat=1, model="m",
        condition=parse_condition(condition), messages=(Message(role="user", content="When?"),),
    )  # fmt: skip
    return trace


def step(trace, query, output, url="https://a.example/x"):
    """One search with its result."""
    call = ToolCall(id="call_1", name="web_search", arguments=f'{{"query": "{query}"}}')
    message = Message(role="assistant", content="I look it up.", tool_calls=(call,))
    usage = Usage(input_tokens=100, output_tokens=10, cached_tokens=40, source="provider")
    trace.write(ModelCalled, request="0", reply=Reply(message=message, usage=usage), latency_s=0.2)
    result = ToolResult(output=output, pages=(PageRef(url=url, how="returned"),))
    trace.write(ToolCalled, call=call, result=result, duration_s=0.1)


def end(trace, answer):
    """The last reply and the end."""
    reply = Reply(message=Message(role="assistant", content=answer))
    trace.write(ModelCalled, request="0", reply=reply, latency_s=0.2)
    trace.write(EpisodeFinished, answer=answer, stop_reason="answered")
    trace.close()


def write(folder, sample, answer=RIGHT, output="found", condition="web", url="https://a.example/x"):
    """A whole episode of two steps."""
    trace = begin(folder, sample, condition)
    step(trace, "war", output, url)
    end(trace, answer)


def score(folder):
    """Write scores.jsonl."""
    score_folder(folder, lambda text: None)


@contextmanager
def viewer(root):
    """The viewer, asked by a client whose addresses may begin with /."""
    with listening(0) as listener:
        port = listener.getsockname()[1]
        library = Library(root)
        config = uvicorn.Config(make_app(library, port), log_level="error", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30.0) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(timeout=20)
