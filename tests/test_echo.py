"""Episodes of four steps against servers that insist on what they said, by the command line."""

import json
from contextlib import contextmanager

import pytest

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.fold import fold
from agent_env.episodes.trace.lines import read_trace
from agent_env.records.trace_events import ModelCalled
from tests.commands import agent_env, serving, typed
from tests.fake_server import FakeServer, script_policy

INSISTING = ("deepseek", "kimi", "gemini", "minimax", "glm", "vllm", "openrouter", "future")
REFUSING = ("no-echo", "no-echo-422")
STEPS = [
    *({"text": "", "calls": [{"name": "web_search", "arguments": {"query": query}}]}
      for query in ("Falklands War", "the same, in 1982", "its last day")),
    {"text": "MY ANSWER: None"},
]  # fmt: skip


@contextmanager
def served(tmp_path, mode, steps=STEPS):
    """A fake server in a thread, while the command line runs in this one."""
    script = tmp_path / "script.jsonl"
    script.write_text("\n".join(map(json.dumps, steps)))
    server = FakeServer(script_policy(script), mode=mode)
    with serving(server):
        yield server


def asked(tmp_path, server, *more):
    ask = "run time-puzzles --limit 1 --condition web --first-step auto --no-preflight".split()
    where = ("--model", "compatible/m", "--base-url", server.url, "--out", str(tmp_path / "run"))
    done = agent_env(*ask, *where, *more)
    return done, next((tmp_path / "run").rglob("*.1.jsonl"))


def bodies_of(server):
    return [body for body in server.recent if "messages" in body]


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
    assert len(said(bodies_of(server)[-1])) == 3
    replayed = agent_env("replay", str(tmp_path / "run"), "--json")
    assert json.loads(replayed.stdout)["same"] == 1, replayed.stdout


@pytest.mark.parametrize(
    ("mode", "echo", "reason"),
    [
        ("deepseek", "never", "must be passed back to the API"),
        ("no-echo", "always", "property 'messages.1.assistant.reasoning_content' is unsupported"),
    ],
)
def test_a_server_that_is_not_given_its_way_ends_the_episode(tmp_path, mode, echo, reason):
    with served(tmp_path, mode) as server:
        _, trace = asked(tmp_path, server, "--echo-reasoning", echo)
    assert reason in fold(read_trace(trace)).failure


@pytest.mark.parametrize("mode", ["deepseek", "openrouter", "gemini"])
def test_a_fork_echoes_to_the_same_server_and_model_and_to_no_other(tmp_path, mode):
    with served(tmp_path, mode) as server:
        _, trace = asked(tmp_path, server)
        server.recent.clear()
        fork = "episodes fork {} --at 2 --out {}"
        same = typed(fork, trace, tmp_path / "same")
        texts = json.dumps([said(body) for body in bodies_of(server)])
        server.recent.clear()
        more = "--model compatible/other --trust-run"
        other = typed(f"{fork} {more}", trace, tmp_path / "other")
        elsewhere = bodies_of(server)
    assert same.returncode == 0, same.stderr
    for reasoning in reasoning_of(read_trace(trace))[:2]:
        assert json.dumps(reasoning)[1:-1] in texts
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
        resumed = typed("resume {} --base-url {} --trust-run", tmp_path / "run", server.url)
    assert resumed.returncode == 0, resumed.stderr
    assert all("reasoning" in message for message in said(bodies_of(server)[0]))
    assert len(RunFolder(tmp_path / "run").manifest.former_urls) == 1


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
    with served(tmp_path, mode, [{"text": call}] * 3) as server:
        asked(tmp_path, server, "--tool-protocol", "text", "--steps", "3")
    kept = [message.keys() - {"role", "content"} for message in said(bodies_of(server)[-1])]
    assert kept == ([{"reasoning_content"}] * 2 if mode == "deepseek" else [set()] * 2)
