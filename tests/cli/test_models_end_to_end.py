"""Whole runs through the fake server, over a real socket: every way of talking to a model gives
the answers and scores that the scripted policy gives directly."""

import asyncio
import json
import os
from itertools import pairwise

import pytest

from agent_env.analysis.statistics.cache import cache
from agent_env.episodes.results import episodes_of
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ConfigError
from agent_env.features.reference.policy import Reference
from agent_env.records.trace_events import ModelCalled, ToolCalled
from agent_env.runs.fork import fork
from agent_env.runs.options.run_options import ForkOptions, ReplayOptions, ResumeOptions, RunOptions
from agent_env.runs.replay import replay
from agent_env.runs.resume import resume
from agent_env.runs.run import Run
from agent_env.runs.scores.score import score_folder
from agent_env.runs.start import run_episodes, start_run
from tests.commands import agent_env as command
from tests.fake_server import (
    FakeServer,
    ScriptedAnswer,
    script_policy,
    serve,
)
from tests.models.raw_server import KEY
from tests.plans import QUIET, finished

WAYS = {
    "chat": ("compatible/m", {}),
    "chat, streamed": ("compatible/m", {"stream": True}),
    "chat, in text": ("compatible/m", {"tool_protocol": "text"}),
    "responses": ("openai/m", {}),
    "responses, streamed": ("openai/m", {"stream": True}),
    "responses, in text": ("openai/m", {"tool_protocol": "text", "stream": True}),
    "messages": ("anthropic/m", {}),
    "messages, streamed": ("anthropic/m", {"stream": True}),
    "messages, in text": ("anthropic/m", {"tool_protocol": "text"}),
}


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "")


ALL = {"limit": 3, "conditions": ("base", "web", "web-once")}


def run(out, **options):
    return score_folder(finished(out, **ALL | options), print)


def run_served(out, server, **options):
    """The scored episodes of one puzzle under `web`, or of what the options say."""
    asked = {"model": "compatible/m", "limit": 1, "conditions": ("web",), "out": out} | options

    async def go():
        async with server:
            where = at(server.url, asked["model"])
            return await start_run(RunOptions("time-puzzles", **(where | asked)), QUIET)

    return score_folder(asyncio.run(go()), print)


def at(url, model):
    """How a run is told that the model is there."""
    if model.startswith("compatible/"):
        return {"base_url": url}
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):  # `_key` puts them back
        os.environ[name] = url
    return {}


def told(scored):
    return [(e.sample, e.condition, e.answer, s.metrics) for e, s in scored]


@pytest.fixture(scope="module")
def direct(tmp_path_factory):
    return run(tmp_path_factory.mktemp("direct") / "run")


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_answers_and_scores_of_the_policy_itself(direct, tmp_path, way):
    model, parameters = WAYS[way]
    got = run_served(
        tmp_path / "run", serve(Reference()), model=model, parameters=parameters, **ALL
    )
    assert told(got) == told(direct)
    assert sum(score.metrics["exact_match"] for _, score in got) >= 3
    assert {e.tool_calls for e, _ in got} == {e.tool_calls for e, _ in direct}


@pytest.mark.parametrize("way", WAYS)
def test_a_request_repeats_the_one_before_to_the_byte_and_appends(tmp_path, way):
    """What a prompt cache lives on. A first call that is forced changes the choice of tools and, in
    text, the end of the question."""
    model, parameters = WAYS[way]
    server = serve(Reference())
    more = {"parameters": parameters, "first_steps": ("auto",)}
    run_served(tmp_path / "run", server, model=model, **more)
    bodies = [body for body in server.recent if 256 not in body.values()]  # of no test call
    assert len(bodies) >= 3
    place = "input" if "input" in bodies[0] else "messages"
    for before, body in pairwise(bodies):
        assert json.dumps(body[place]).startswith(json.dumps(before[place])[:-1])
        rest = [json.dumps({n: each[n] for n in each if n != place}) for each in (before, body)]
        assert rest[0] == rest[1]


def test_thinking_goes_back_signed_and_the_cache_gives_what_it_could_and_a_table_says_so(tmp_path):
    server = serve(Reference())
    model, parameters = "anthropic/claude-opus-5", {"reasoning_effort": "high", "stream": True}
    run_served(
        tmp_path / "run", server, model=model, parameters=parameters, limit=4,
        conditions=("web", "base"), first_steps=("auto",),
    )  # fmt: skip
    assert server.counts["refused"] == 0
    table = cache(Run(tmp_path / "run").comparison(print))
    rows = {row[0]: row for row in table.rows}
    assert rows["web"][3] >= 0.85 * rows["web"][4] > 0.4
    assert rows["base"][3:] == (0.0, 0.0)
    assert len(table.notes) == 1


def scripted(tmp_path, *lines):
    script = tmp_path / "script.jsonl"
    script.write_text("\n".join(json.dumps(line) for line in lines))
    return script_policy(script)


def test_in_text_no_tool_schema_goes_over_the_wire_and_a_bad_call_can_be_mended(tmp_path):
    server = FakeServer(
        scripted(
            tmp_path,
            {"text": '```tool_call\n{"name": "web_search", "arguments": {"query": }}\n```'},
            {"text": '```tool_call\n{"name": "web_search", "arguments": {"query": "x"}}\n```'},
            {"text": "MY ANSWER: None"},
        )
    )
    ((episode, _),) = run_served(tmp_path / "run", server, parameters={"tool_protocol": "text"})
    assert (episode.tool_calls, episode.tool_errors, episode.stop_reason) == (2, 1, "answered")
    assert all(not {"tools", "tool_choice"} & set(body) for body in server.recent)
    assert {m["role"] for body in server.recent for m in body["messages"]} == {
        "system", "user", "assistant",
    }  # fmt: skip
    mended = server.recent[1]["messages"][-1]["content"]
    assert mended.startswith(
        "````tool_result 1 unreadable\nError: this is not a call that can be run"
    )
    assert "Write it like this:\n" in mended


def test_a_native_call_written_as_text_is_mended_once_counted_and_replayed(tmp_path):
    fenced = {"text": '```json\n{"name": "web_search", "arguments": {"query": "x"}}\n```'}
    server = FakeServer(scripted(tmp_path, fenced, fenced))
    wish = {"parameters": {"repair_calls": 1}, "first_steps": ("auto",)}
    (_, (episode, _)) = run_served(
        tmp_path / "run", server, conditions=("base", "web"), concurrency=1, **wish
    )
    assert (episode.steps, episode.repairs, episode.stop_reason) == (2, 1, "answered")
    assert episode.answer == fenced["text"]
    said, told = list(server.recent)[-1]["messages"][-2:]
    assert (said["content"], told["role"]) == (fenced["text"], "user")
    assert "tool_calls" not in said
    run = Run(tmp_path / "run")
    shown = command("show", str(run.path)).stdout
    assert "Unreadable calls answered with the right form: web 1" in shown
    trace = next(each for each in run.traces() if "web" in each.parts)

    async def again(go):
        async with FakeServer(scripted(tmp_path, fenced, fenced)) as server:
            return await go(server.url)

    assert {r.verdict for r in asyncio.run(replay(run, ReplayOptions(), print))} == {"same"}
    trace.write_text(
        "".join(trace.read_text().splitlines(keepends=True)[:3])
    )  # the repair was the last
    asyncio.run(again(lambda url: resume(run, ResumeOptions(base_url=url), QUIET)))
    assert [each.repairs for each in episodes_of(run, print)] == [0, 1]
    out = tmp_path / "fork"
    asyncio.run(again(lambda url: fork(trace, ForkOptions(1, out, base_url=url), QUIET)))
    assert [r.verdict for r in asyncio.run(replay(Run(out), ReplayOptions(), print))] == ["same"]


@pytest.mark.parametrize("way", ["chat", "responses, streamed", "chat, in text"])
def test_a_first_step_of_none_is_asked_for_and_answered_without_a_call(tmp_path, way):
    """The fake server obeys, as OpenAI and vLLM do; another condition of the run is left free."""
    model, parameters = WAYS[way]
    server = serve(Reference())
    got = run_served(
        tmp_path / "run", server, model=model, parameters=parameters,
        conditions=("web", "web+cal"), first_steps=("web=none",),
    )  # fmt: skip
    calls = {episode.condition: episode.tool_calls for episode, _ in got}
    assert calls["web"] == 0 < calls["web+cal"]
    kept = json.loads((tmp_path / "run/run.json").read_text())
    assert [c["first_step"] for c in kept["conditions"]] == ["none", "required"]
    if "text" not in way:
        assert [b.get("tool_choice") for b in server.recent].count("none") == 1


def test_every_episode_samples_by_a_seed_of_its_own_that_conditions_share(tmp_path):
    server = FakeServer(scripted(tmp_path, {"text": "MY ANSWER: None"}))
    run_served(
        tmp_path / "run", server, limit=2, conditions=("base", "explicit"),
        parameters={"seed": 7}, repeats=2,
    )  # fmt: skip
    seeds = [body["seed"] for body in server.recent]
    assert len(seeds) == 8
    assert len(set(seeds)) == 4
    assert {seeds.count(seed) for seed in seeds} == {2}


def test_hosted_tools_leave_their_pages_calls_and_code_in_the_trace(tmp_path):
    reply = {
        "hosted": [
            {"search": "Falklands War", "gave": ["https://a.example/", "https://b.example/"]},
            {"open_page": "https://a.example/"},
            {"find_in_page": "https://c.example/", "pattern": "June"},
            {"code": "print(1 + 1)", "gave": ["2\n"]},
        ],
        "cited": ["https://a.example/"],
        "text": "MY ANSWER: None",
    }
    for stream in (False, True):
        server = FakeServer(scripted(tmp_path, reply))
        out = tmp_path / f"run-{stream}"
        ((episode, _),) = run_served(
            out, server, model="openai/m", conditions=("web+python",),
            parameters={"hosted_tools": True, "stream": stream},
        )  # fmt: skip
        assert episode.citations == ("https://a.example/",)
        assert (episode.tool_calls, episode.hosted_calls) == (0, 4)
        assert episode.tools == ("web_search", "code_interpreter")
        (call,) = [e for e in events(out) if isinstance(e, ModelCalled)]
        assert [(page.url, page.how) for page in call.reply.hosted_pages] == [
            ("https://a.example/", "returned"),
            ("https://b.example/", "returned"),
            ("https://a.example/", "opened"),
            ("https://c.example/", "opened"),
        ]
        assert call.reply.usage.hosted_calls == {
            "search": 1, "open_page": 1, "find_in_page": 1, "code_interpreter": 1, "container": 1,
        }  # fmt: skip
        code = call.reply.message.provider_items[3]
        assert (code["code"], code["outputs"]) == (
            "print(1 + 1)", [{"type": "logs", "logs": "2\n"}],
        )  # fmt: skip
        assert [tool["type"] for tool in server.recent[0]["tools"]] == [
            "web_search", "code_interpreter",
        ]  # fmt: skip
        assert json.loads((out / "run.json").read_text())["web"] == "hosted"


def events(out):
    (trace,) = Run(out).traces()
    return list(read_trace(trace))


def test_usage_that_nobody_told_is_unknown_unless_an_exact_tokenizer_was_named(tmp_path):
    server = FakeServer(scripted(tmp_path, {"text": "MY ANSWER: None", "usage": "absent"}))
    ((unknown, _),) = run_served(tmp_path / "unknown", server, conditions=("base",))
    assert (unknown.input_tokens, unknown.output_tokens, unknown.usage_sources) == (None, None, ())
    ((episode, _),) = run_served(
        tmp_path / "run", server, tokenizer="cl100k_base", conditions=("base",)
    )
    assert episode.usage_sources == ("tokenizer",)
    assert episode.output_tokens == 5
    assert (episode.cached_tokens, episode.reasoning_tokens) == (None, None)


@pytest.mark.parametrize("way", ["chat, streamed", "chat, in text"])
def test_the_servers_own_tokenizer_counts_what_its_replies_do_not_tell(tmp_path, way):
    """The fake server counts both alike, so that telling and being asked give the same sums."""
    model, parameters = WAYS[way]
    asked = {"model": model, "parameters": parameters}
    lines = (
        {"text": '```tool_call\n{"name": "web_search", "arguments": {"query": "x"}}\n```'}
        if "text" in way
        else {"calls": [{"name": "web_search", "arguments": {"query": "x"}}]},
        {"text": "MY ANSWER: None"},
    )
    told = run_served(tmp_path / "told", FakeServer(scripted(tmp_path, *lines)), **asked)
    counted = run_served(
        tmp_path / "counted", FakeServer(scripted(tmp_path, *lines), tells_usage=False),
        tokenizer="server", **asked,
    )  # fmt: skip
    assert [e.usage_sources for e, _ in counted] == [("server tokenizer",)]
    assert [e.usage_sources for e, _ in told] == [("provider",)]
    assert [(e.input_tokens, e.output_tokens) for e, _ in counted] == [
        (e.input_tokens, e.output_tokens) for e, _ in told
    ]
    tools = [e for e in events(tmp_path / "counted") if isinstance(e, ToolCalled)]
    assert {tool.tokens_source for tool in tools} == {"server tokenizer"}
    assert tools[0].output_tokens == -(-len(tools[0].result.output.encode()) // 4)


def test_a_server_without_a_tokenizer_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(ConfigError, match="--tokenizer server: this server does not count tokens"):
        run_served(tmp_path / "run", serve_plain(), tokenizer="server")
    assert not (tmp_path / "run").exists()


def serve_plain():
    """A server that speaks the two APIs and nothing else."""

    async def silent(turns, offers):
        return ScriptedAnswer(text="MY ANSWER: None")

    return FakeServer(silent, tokenizer=None)


def test_an_empty_reply_is_asked_about_once_and_then_stands(tmp_path):
    server = FakeServer(scripted(tmp_path, {"text": ""}, {"text": " "}))
    ((episode, score),) = run_served(tmp_path / "run", server, conditions=("base",))
    assert (episode.steps, episode.stop_reason, score.outcome) == (2, "answered", "unreadable")
    (said,) = [e.added for e in events(tmp_path / "run") if isinstance(e, ModelCalled)][1]
    assert said.content.startswith("Your last message was empty.")


def test_own_texts_are_stored_and_hold_on_resume(tmp_path):
    template, system = tmp_path / "own.txt", tmp_path / "system.txt"
    template.write_text("Solve {{this}}:\n{constraints}\n({first} to {last})")
    system.write_text("You are careful.")
    server = FakeServer(scripted(tmp_path, {"match": "", "text": "MY ANSWER: None"}))
    run_served(
        tmp_path / "run", server, conditions=("base",), prompt=str(template), system=system,
        strategy="few-shot",
    )  # fmt: skip
    started = events(tmp_path / "run")[0]
    assert [m.role for m in started.messages] == [
        "system", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert started.messages[0].content == "You are careful."
    assert all(
        m.content.startswith("Solve {this}:\n- ") and m.content.endswith("(1800 to 2050)")
        for m in started.messages
        if m.role == "user"
    )
    kept = json.loads((tmp_path / "run/run.json").read_text())
    assert kept["prompt_file"]["text"] == template.read_text()
    assert kept["system_file"]["name"] == "system.txt"
    folder = Run(tmp_path / "run")
    (trace,) = folder.traces()
    trace.unlink()
    for text in (template, system):
        text.unlink()

    async def resume():
        async with server:
            await run_episodes(folder, None, QUIET)

    asyncio.run(resume())
    (again, *_) = events(tmp_path / "run")
    assert again.messages == started.messages
    (episode,) = episodes_of(folder, print)
    assert [m.role for m in episode.messages] == [
        "system", "user", "assistant", "user", "assistant", "user", "assistant",
    ]  # fmt: skip


@pytest.mark.parametrize(("model", "stream"), [("compatible/m", True), ("openai/m", False)])
def test_what_a_model_calls_wrongly_is_answered_and_stored(tmp_path, model, stream):
    wrong = [
        {"name": "browse", "arguments": {}, "id": "a"},
        {"name": "web_search", "arguments": '{"query": "x"', "id": "a"},
        {"name": "web_search", "arguments": '"{\\"query\\": \\"x\\"}"', "id": "b"},
        {"name": "web_search", "arguments": json.dumps({"query": "x" * 1_000_000}), "id": "c"},
        {"name": "web_search", "arguments": {"query": "x"}, "id": "d"},
    ]
    server = FakeServer(scripted(tmp_path, {"calls": wrong}, {"text": "MY ANSWER: None"}))
    ((episode, _),) = run_served(
        tmp_path / "run", server, model=model, parameters={"stream": stream}
    )
    results = [e for e in events(tmp_path / "run") if isinstance(e, ToolCalled)]
    assert sorted(e.call.id for e in results) == ["a", "a_2", "b", "c", "d"]
    errors = {e.call.id: e.result.error or "" for e in results}
    assert errors["a"].startswith("there is no tool 'browse' here; tools you can call:")
    assert errors["a_2"].startswith("the arguments are not valid JSON")
    assert errors["b"] == "the arguments are a string that holds JSON; send the object itself"
    assert errors["c"] == "the arguments have 1,000,013 characters; send at most 200,000"
    assert errors["d"] == ""
    assert (episode.tool_errors, episode.stop_reason) == (4, "answered")


def test_a_run_with_examples_and_parameters_replays_with_recorded_and_with_live_tools(tmp_path):
    wish = {"strategy": "few-shot", "parameters": {"tool_protocol": "text"}, "limit": 2}
    asked = wish | {"conditions": ("base", "web")}
    run_served(tmp_path / "run", serve(Reference()), **asked)
    for options in (ReplayOptions(), ReplayOptions(tools_live=True)):
        played = asyncio.run(replay(Run(tmp_path / "run"), options, print))
        assert [episode.drift for episode in played] == [()] * 4
