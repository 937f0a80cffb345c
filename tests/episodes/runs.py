"""Small finished runs on disk, made without a model."""

from contextlib import asynccontextmanager
from datetime import UTC, datetime

from agent_env.episodes.run_folder import EpisodeKey, RunFolder, digest
from agent_env.episodes.runner import Runner, Seams
from agent_env.episodes.trace.lines import TraceWriter
from agent_env.families.time_puzzles.task import make_task
from agent_env.graph.strategies import make_strategy
from agent_env.models.tokenizers import Estimate
from agent_env.protocols import Limits
from agent_env.records.schema import Message, PageRef, Reply, ToolCall, ToolResult
from agent_env.records.trace_events import (
    EpisodeFailed,
    EpisodeFinished,
    EpisodeStarted,
    ModelCalled,
    ToolCalled,
)
from agent_env.runs.run import Run
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.sample_files import samples_bytes
from agent_env.testing import puzzle
from agent_env.tools.toolbox import ToolSet
from tests.ended import manifest

WEB = parse_condition("web")


def clock():
    return datetime(2026, 1, 1, tzinfo=UTC)


def scripted_runner(path, opened, **fields):
    """Episodes of puzzles in this folder: `opened` gives the model of a sample, and its tools."""

    @asynccontextmanager
    async def open_seams(sample, condition):
        model, *tools = opened(sample)
        yield Seams(model, ToolSet(tools), make_strategy(condition, make_task().prompt))

    return Runner(
        folder=RunFolder(path), model_name="scripted", open_seams=open_seams,
        tokenizer=Estimate(), **{"limits": Limits(), "concurrency": 4} | fields,
    )  # fmt: skip


def make_run(path, names, web="record", **fields):
    """A run of these samples under `web`, without episodes yet; `fields` of its manifest."""
    data = samples_bytes([puzzle(name) for name in names])
    known = {"model": "openai/gpt-5", "conditions": (WEB,), "seed": None, "web": web}
    of_samples = {"samples": len(names), "samples_digest": digest(data)}
    folder = Run(path)
    folder.create(manifest(task="time-puzzles", **known | of_samples | fields), data)
    return folder


def write_episode(
    folder, sample, answer="MY ANSWER: None", tool_pages=(), citations=(), hosted=(), failed=False
):
    """One finished or failed episode that met these pages."""
    key = EpisodeKey(sample, "web", 1)
    trace = TraceWriter(folder.trace(key), key.name, clock)
    trace.write(EpisodeStarted, sample=sample, condition=WEB, repeat=1, model="openai/gpt-5")
    call = ToolCall(id="call_1", name="web_search", arguments="{}")
    result = ToolResult(output="found", pages=tuple(tool_pages))
    trace.write(ToolCalled, call=call, result=result, duration_s=0.1)
    message = Message(role="assistant", content=answer)
    reply = Reply(message=message, citations=tuple(citations), hosted_pages=tuple(hosted))
    trace.write(ModelCalled, request="0", reply=reply, latency_s=0.1)
    if failed:
        trace.write(EpisodeFailed, error="ModelError", message="busy")
    else:
        end = {"answer": answer, "stop_reason": "answered", "citations": tuple(citations)}
        trace.write(EpisodeFinished, **end)
    trace.close()


def opened(url, digest=None):
    return PageRef(url=url, how="opened", digest=digest)


def returned(url):
    return PageRef(url=url, how="returned")


def started_with(path, runs):
    """A run under `cited` whose episodes began with this text and stated this digest."""
    folder = make_run(path, list(runs))
    cited = parse_condition("cited")
    folder.change(conditions=(cited,))
    for sample, (text, stated) in runs.items():
        key = EpisodeKey(sample, "cited", 1)
        trace = TraceWriter(folder.trace(key), key.name, clock)
        trace.write(
            EpisodeStarted, sample=sample, condition=cited, repeat=1, model="m", context=stated,
            messages=(Message(role="user", content=text),),
        )  # fmt: skip
        trace.close()
    return folder
