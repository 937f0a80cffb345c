"""Episodes of four steps against servers that insist on what they said, by the command line."""

import json
from contextlib import contextmanager

import pytest

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.fold import fold
from agent_env.episodes.trace.lines import read_trace
from agent_env.records.trace_events import ModelCalled
from tests.commands import agent_env, serving
from tests.fake_server import FakeServer, script_policy

INSISTING = ("deepseek", "kimi", "gemini", "minimax", "glm", "vllm", "openrouter", "future")
REFUSING = ("no-echo", "no-echo-422")
STEPS = [
    {"text": "", "calls": [{"name": "web_search", "arguments": {"query": "Falklands War"}}]},
    {"text": "", "calls": [{"name": "web_search", "arguments": {"query": "the same, in 1982"}}]},
    {"text": "", "calls": [{"name": "web_search", "arguments": {"query": "its last day"}}]},
    {"text": "MY ANSWER: None"},
]
ASK = (
    "run", "time-puzzles", "--limit", "1", "--condition", "web", "--first-step", "auto",
    "--no-preflight",
)  # fmt: skip


@contextmanager
def served(tmp_path, mode):
    """A fake server in a thread, while the command line runs in this one."""
    script = tmp_path / "script.jsonl"
    script.write_text("\n".join(json.dumps(step) for step in STEPS))
    server = FakeServer(script_policy(script), mode=mode)
    with serving(server):
        yield server


def asked(tmp_path, server, *more):
    out = tmp_path / "run"
    where = ("--model", "compatible/m", "--base-url", server.url, "--out", str(out))
    done = agent_env(*ASK, *where, *more)
    return done, next(out.rglob("*.1.jsonl"))


def said(body):
    return [message for message in body["messages"] if message["role"] == "assistant"]


@pytest.mark.parametrize(
    ("mode", "stream"),
    [(mode, ()) for mode in (*INSISTING, *REFUSING)]
    + [(mode, ("--stream",)) for mode in ("deepseek", "gemini", "openrouter", "future", "no-echo")],
)
def test_four_steps_finish_and_replay_alike(tmp_path, mode, stream):
    with served(tmp_path, mode) as server:
        done, trace = asked(tmp_path, server, *stream)
    assert done.returncode == 0, done.stderr
    episode = fold(read_trace(trace))
    assert (episode.status, episode.steps) == ("finished", 4)
    assert episode.failed_calls == (1 if mode in REFUSING else 0)
    assert done.stderr.count("is not sent any more") == episode.failed_calls
    bodies = [body for body in server.recent if "messages" in body]
    assert len(said(bodies[-1])) == 3
    replayed = agent_env("replay", str(tmp_path / "run"), "--json")
    assert json.loads(replayed.stdout)["same"] == 1, replayed.stdout


@pytest.mark.parametrize(
    ("mode", "echo", "reason"),
    [
        ("deepseek", "never", "must be passed back to the API"),
        (
            "no-echo", "always",
            "property 'messages.1.assistant.reasoning_content' is unsupported",
        ),
    ],
)  # fmt: skip
def test_a_server_that_is_not_given_its_way_ends_the_episode(tmp_path, mode, echo, reason):
    with served(tmp_path, mode) as server:
        _, trace = asked(tmp_path, server, "--echo-reasoning", echo)
    assert reason in fold(read_trace(trace)).failure


@pytest.mark.parametrize("mode", ["deepseek", "openrouter", "gemini"])
def test_a_fork_echoes_to_the_same_server_and_model_and_to_no_other(tmp_path, mode):
    with served(tmp_path, mode) as server:
        _, trace = asked(tmp_path, server)
        server.recent.clear()
        same = agent_env(
            "episodes", "fork", str(trace), "--at", "2", "--out", str(tmp_path / "same")
        )
        echoed = [body for body in server.recent if "messages" in body]
        server.recent.clear()
        other = agent_env(
            "episodes", "fork", str(trace), "--at", "2", "--out", str(tmp_path / "other"),
            "--model", "compatible/other", "--trust-run",
        )  # fmt: skip
        elsewhere = [body for body in server.recent if "messages" in body]
    assert same.returncode == 0, same.stderr
    first, second = reasoning_of(read_trace(trace))[:2]
    texts = json.dumps([said(body) for body in echoed])
    assert json.dumps(first)[1:-1] in texts
    assert json.dumps(second)[1:-1] in texts
    assert elsewhere, other.stderr
    for body in elsewhere:
        for message in said(body)[:2]:
            assert {"role", "content", "tool_calls"} <= message.keys()
            assert len(message) <= (4 if mode == "deepseek" else 3)
            assert not message.get("reasoning_content")  # which DeepSeek wants, if empty
            assert all(call.keys() == {"id", "type", "function"} for call in message["tool_calls"])


def reasoning_of(events):
    """What each reply holds that must come back: its reasoning, or the signature of its call."""
    replies = [e.reply.message for e in events if isinstance(e, ModelCalled) and e.reply]
    return [message.reasoning or _signature(message) for message in replies]


def _signature(message):
    kept = message.provider_fields
    extra = {} if kept is None else next(iter(kept.calls.values()), {}).get("extra_content")
    return str(extra["google"]["thought_signature"]) if extra else ""


def test_a_resumed_episode_gives_the_server_what_it_said_before_also_where_it_has_moved(tmp_path):
    with served(tmp_path, "vllm") as server:
        done, trace = asked(tmp_path, server)
        assert done.returncode == 0, done.stderr
        lines = trace.read_bytes().splitlines(keepends=True)
        trace.write_bytes(b"".join(lines[:5]))  # two replies and their results
    with served(tmp_path, "vllm") as server:
        resumed = agent_env(
            "resume", str(tmp_path / "run"), "--base-url", server.url, "--trust-run"
        )
        bodies = [body for body in server.recent if "messages" in body]
    assert resumed.returncode == 0, resumed.stderr
    assert all("reasoning" in message for message in said(bodies[0]))
    manifest = RunFolder(tmp_path / "run").manifest
    assert len(manifest.former_urls) == 1


def test_the_reply_cache_gives_the_fields_too(tmp_path):
    cache = ("--reply-cache", str(tmp_path / "cache.db"))
    with served(tmp_path, "deepseek") as server:
        asked(tmp_path, server, *cache)
        (tmp_path / "run").rename(tmp_path / "first")
        _, trace = asked(tmp_path, server, *cache)
    first = next((tmp_path / "first").rglob("*.1.jsonl"))
    assert reasoning_of(read_trace(trace)) == reasoning_of(read_trace(first))
    assert fold(read_trace(trace)).cache_hits == 4


@pytest.mark.parametrize("mode", ["deepseek", "minimax"])
def test_under_the_text_protocol_it_goes_back_too(tmp_path, mode):
    call = '```tool_call\n{"name": "web_search", "arguments": {"query": "x"}}\n```'
    with served(tmp_path, mode) as server:
        (tmp_path / "script.jsonl").write_text(f"{json.dumps({'text': call})}\n" * 3)
        server._policy = script_policy(tmp_path / "script.jsonl")
        asked(tmp_path, server, "--tool-protocol", "text", "--steps", "3")
        bodies = [body for body in server.recent if "messages" in body]
    known = {"role", "content"}
    kept = [message.keys() - known for message in said(bodies[-1])]
    assert kept == ([{"reasoning_content"}] * 2 if mode == "deepseek" else [set()] * 2)
