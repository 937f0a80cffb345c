"""Whole runs through the fake server, over a real socket: every way of talking to a model gives
the answers and scores that the scripted policy gives directly."""

import asyncio
import json
import os
from collections import Counter
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
from tests.fake_server import FakeServer, script_policy, serve
from tests.loops import in_loop
from tests.models.raw_server import KEY
from tests.plans import QUIET, finished

WAYS = {
    way: {"model": model, "parameters": parameters}
    for way, model, parameters in (
        ("chat", "compatible/m", {}),
        ("chat, streamed", "compatible/m", {"stream": True}),
        ("chat, in text", "compatible/m", {"tool_protocol": "text"}),
        ("responses", "openai/m", {}),
        ("responses, streamed", "openai/m", {"stream": True}),
        ("responses, in text", "openai/m", {"tool_protocol": "text", "stream": True}),
        ("messages", "anthropic/m", {}),
        ("messages, streamed", "anthropic/m", {"stream": True}),
        ("messages, in text", "anthropic/m", {"tool_protocol": "text"}),
    )
}


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    for api in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{api}_BASE_URL", "")
    for api in ("OPENAI", "ANTHROPIC", "COMPATIBLE"):
        monkeypatch.setenv(f"{api}_API_KEY", KEY)


ALL = {"limit": 3, "conditions": ("base", "web", "web-once")}


def run(out, **options):
    return score_folder(finished(out, **ALL | options), print)


@in_loop
async def run_served(out, server, **options):
    """The scored episodes of one puzzle under `web`, or of what the options say."""
    asked = {"model": "compatible/m", "limit": 1, "conditions": ("web",), "out": out} | options
    async with server:
        where = at(server.url, asked["model"])
        run = await start_run(RunOptions("time-puzzles", **(where | asked)), QUIET)
    return score_folder(run, print)


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
    got = run_served(tmp_path / "run", serve(Reference()), **WAYS[way], **ALL)
    assert told(got) == told(direct)
    assert sum(score.metrics["exact_match"] for _, score in got) >= 3
    assert {e.tool_calls for e, _ in got} == {e.tool_calls for e, _ in direct}


@pytest.mark.parametrize("way", WAYS)
def test_a_request_repeats_the_one_before_to_the_byte_and_appends(tmp_path, way):
    """What a prompt cache lives on. A first call that is forced changes the choice of tools and, in
    text, the end of the question."""
    server = serve(Reference())
    run_served(tmp_path / "run", server, **WAYS[way], first_steps=("auto",))
    bodies = [body for body in server.recent if 256 not in body.values()]  # of no test call
    assert len(bodies) >= 3
    place = "input" if "input" in bodies[0] else "messages"
    for before, body in pairwise(bodies):
        assert json.dumps(body[place]).startswith(json.dumps(before[place])[:-1])
        rest = [json.dumps({n: each[n] for n in each if n != place}) for each in (before, body)]
        assert rest[0] == rest[1]


def test_thinking_goes_back_signed_and_the_cache_gives_what_it_could_and_a_table_says_so(tmp_path):
    server = serve(Reference())
    parameters = {"reasoning_effort": "high", "stream": True}
    asked = {"model": "anthropic/claude-opus-5", "parameters": parameters, "first_steps": ("auto",)}
    run_served(tmp_path / "run", server, limit=4, conditions=("web", "base"), **asked)
    assert server.counts["refused"] == 0
    table = cache(Run(tmp_path / "run").comparison(print))
    rows = {row[0]: row[3:] for row in table.rows}
    assert rows["web"][0] >= 0.85 * rows["web"][1] > 0.4
    assert (rows["base"], len(table.notes)) == ((0.0, 0.0), 1)


def scripted(tmp_path, *lines):
    script = tmp_path / "script.jsonl"
    script.write_text("\n".join(json.dumps(line) for line in lines))
    return script_policy(script)


NONE = {"text": "MY ANSWER: None"}
CALL_IN_TEXT = {"text": '```tool_call\n{"name": "web_search", "arguments": {"query": "x"}}\n```'}


def test_in_text_no_tool_schema_goes_over_the_wire_and_a_bad_call_can_be_mended(tmp_path):
    bad = {"text": CALL_IN_TEXT["text"].replace('"x"', "")}
    server = FakeServer(scripted(tmp_path, bad, CALL_IN_TEXT, NONE))
    ((episode, _),) = run_served(tmp_path / "run", server, parameters={"tool_protocol": "text"})
    assert (episode.tool_calls, episode.tool_errors, episode.stop_reason) == (2, 1, "answered")
    assert all(not {"tools", "tool_choice"} & set(body) for body in server.recent)
    roles = {m["role"] for body in server.recent for m in body["messages"]}
    assert roles == {"system", "user", "assistant"}
    error, wanted = "Error: this is not a call that can be run", "Write it like this:\n"
    mended = server.recent[1]["messages"][-1]["content"]
    assert mended.startswith(f"````tool_result 1 unreadable\n{error}")
    assert wanted in mended


def test_a_native_call_written_as_text_is_mended_once_counted_and_replayed(tmp_path):
    fenced = {"text": '```json\n{"name": "web_search", "arguments": {"query": "x"}}\n```'}
    server = FakeServer(scripted(tmp_path, fenced, fenced))
    wish = {"parameters": {"repair_calls": 1}, "first_steps": ("auto",), "concurrency": 1}
    (_, (episode, _)) = run_served(tmp_path / "run", server, conditions=("base", "web"), **wish)
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
    before_end = trace.read_text().splitlines(keepends=True)[:3]  # the repair was the last
    trace.write_text("".join(before_end))
    asyncio.run(again(lambda url: resume(run, ResumeOptions(base_url=url), QUIET)))
    assert [each.repairs for each in episodes_of(run, print)] == [0, 1]
    out = tmp_path / "fork"
    asyncio.run(again(lambda url: fork(trace, ForkOptions(1, out, base_url=url), QUIET)))
    assert [r.verdict for r in asyncio.run(replay(Run(out), ReplayOptions(), print))] == ["same"]


@pytest.mark.parametrize("way", ["chat", "responses, streamed", "chat, in text"])
def test_a_first_step_of_none_is_asked_for_and_answered_without_a_call(tmp_path, way):
    """The fake server obeys, as OpenAI and vLLM do; another condition of the run is left free."""
    server = serve(Reference())
    asked = {"conditions": ("web", "web+cal"), "first_steps": ("web=none",)}
    got = run_served(tmp_path / "run", server, **WAYS[way], **asked)
    calls = {episode.condition: episode.tool_calls for episode, _ in got}
    assert calls["web"] == 0 < calls["web+cal"]
    kept = json.loads((tmp_path / "run/run.json").read_text())
    assert [c["first_step"] for c in kept["conditions"]] == ["none", "required"]
    if "text" not in way:
        assert [b.get("tool_choice") for b in server.recent].count("none") == 1


def test_every_episode_samples_by_a_seed_of_its_own_that_conditions_share(tmp_path):
    server = FakeServer(scripted(tmp_path, NONE))
    asked = {"limit": 2, "conditions": ("base", "explicit"), "repeats": 2}
    run_served(tmp_path / "run", server, parameters={"seed": 7}, **asked)
    assert sorted(Counter(body["seed"] for body in server.recent).values()) == [2, 2, 2, 2]


@pytest.mark.parametrize("stream", [False, True])
def test_hosted_tools_leave_their_pages_calls_and_code_in_the_trace(tmp_path, stream):
    a, b, c = (f"https://{name}.example/" for name in "abc")
    hosted = [
        {"search": "Falklands War", "gave": [a, b]},
        {"open_page": a},
        {"find_in_page": c, "pattern": "June"},
        {"code": "print(1 + 1)", "gave": ["2\n"]},
    ]
    server, out = (
        FakeServer(scripted(tmp_path, NONE | {"hosted": hosted, "cited": [a]})),
        tmp_path / "run",
    )
    parameters = {"hosted_tools": True, "stream": stream}
    asked = {"model": "openai/m", "conditions": ("web+python",), "parameters": parameters}
    ((episode, _),) = run_served(out, server, **asked)
    assert (episode.citations, episode.tool_calls, episode.hosted_calls) == ((a,), 0, 4)
    assert episode.tools == ("web_search", "code_interpreter")
    (call,) = [e for e in events(out) if isinstance(e, ModelCalled)]
    pages = [(page.url, page.how) for page in call.reply.hosted_pages]
    assert pages == [(a, "returned"), (b, "returned"), (a, "opened"), (c, "opened")]
    kinds = ("search", "open_page", "find_in_page", "code_interpreter", "container")
    assert call.reply.usage.hosted_calls == dict.fromkeys(kinds, 1)
    code = call.reply.message.provider_items[3]
    assert (code["code"], code["outputs"]) == ("print(1 + 1)", [{"type": "logs", "logs": "2\n"}])
    offered = [tool["type"] for tool in server.recent[0]["tools"]]
    assert offered == ["web_search", "code_interpreter"]
    assert Run(out).manifest.web == "hosted"


def events(out):
    (trace,) = Run(out).traces()
    return list(read_trace(trace))


def test_usage_that_nobody_told_is_unknown_unless_an_exact_tokenizer_was_named(tmp_path):
    server = FakeServer(scripted(tmp_path, NONE | {"usage": "absent"}))
    ((unknown, _),) = run_served(tmp_path / "unknown", server, conditions=("base",))
    assert (unknown.input_tokens, unknown.output_tokens, unknown.usage_sources) == (None, None, ())
    named = {"tokenizer": "cl100k_base", "conditions": ("base",)}
    ((episode, _),) = run_served(tmp_path / "run", server, **named)
    assert (episode.usage_sources, episode.output_tokens) == (("tokenizer",), 5)
    assert (episode.cached_tokens, episode.reasoning_tokens) == (None, None)


@pytest.mark.parametrize("way", ["chat, streamed", "chat, in text"])
def test_the_servers_own_tokenizer_counts_what_its_replies_do_not_tell(tmp_path, way):
    """The fake server counts both alike, so that telling and being asked give the same sums."""
    natively = {"calls": [{"name": "web_search", "arguments": {"query": "x"}}]}
    policy = scripted(tmp_path, CALL_IN_TEXT if "text" in way else natively, NONE)
    ((told, _),) = run_served(tmp_path / "told", FakeServer(policy), **WAYS[way])
    silent = FakeServer(policy, tells_usage=False)
    ((counted, _),) = run_served(tmp_path / "run", silent, tokenizer="server", **WAYS[way])
    assert counted.usage_sources == ("server tokenizer",)
    assert told.usage_sources == ("provider",)
    assert (counted.input_tokens, counted.output_tokens) == (told.input_tokens, told.output_tokens)
    tools = [e for e in events(tmp_path / "run") if isinstance(e, ToolCalled)]
    assert {tool.tokens_source for tool in tools} == {"server tokenizer"}
    assert tools[0].output_tokens == -(-len(tools[0].result.output.encode()) // 4)


def test_a_server_without_a_tokenizer_is_refused_before_anything_is_made(tmp_path):
    server = FakeServer(scripted(tmp_path, NONE), tokenizer=None)
    with pytest.raises(ConfigError, match="--tokenizer server: this server does not count tokens"):
        run_served(tmp_path / "run", server, tokenizer="server")
    assert not (tmp_path / "run").exists()


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
    server, folder = FakeServer(scripted(tmp_path, NONE | {"match": ""})), Run(tmp_path / "run")
    own = {"prompt": str(template), "system": system, "strategy": "few-shot"}
    run_served(folder.path, server, conditions=("base",), **own)
    started = events(folder.path)[0]
    roles = ["system", *["user", "assistant"] * 2, "user"]
    assert [m.role for m in started.messages] == roles
    assert started.messages[0].content == "You are careful."
    asked = [m.content for m in started.messages if m.role == "user"]
    assert all(each.startswith("Solve {this}:\n- ") for each in asked)
    assert all(each.endswith("(1800 to 2050)") for each in asked)
    assert folder.manifest.prompt_file.text == template.read_text()
    assert folder.manifest.system_file.name == "system.txt"
    for file in (*folder.traces(), template, system):
        file.unlink()

    async def resume():
        async with server:
            await run_episodes(folder, None, QUIET)

    asyncio.run(resume())
    assert events(folder.path)[0].messages == started.messages
    (episode,) = episodes_of(folder, print)
    assert [m.role for m in episode.messages] == [*roles, "assistant"]


@pytest.mark.parametrize(("model", "stream"), [("compatible/m", True), ("openai/m", False)])
def test_what_a_model_calls_wrongly_is_answered_and_stored(tmp_path, model, stream):
    wrong = [
        {"name": "browse", "arguments": {}, "id": "a"},
        {"name": "web_search", "arguments": '{"query": "x"', "id": "a"},
        {"name": "web_search", "arguments": '"{\\"query\\": \\"x\\"}"', "id": "b"},
        {"name": "web_search", "arguments": json.dumps({"query": "x" * 1_000_000}), "id": "c"},
        {"name": "web_search", "arguments": {"query": "x"}, "id": "d"},
    ]
    server = FakeServer(scripted(tmp_path, {"calls": wrong}, NONE))
    asked = {"model": model, "parameters": {"stream": stream}}
    ((episode, _),) = run_served(tmp_path / "run", server, **asked)
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
    wish = {"strategy": "few-shot", "parameters": {"tool_protocol": "text"}}
    more = {"limit": 2, "conditions": ("base", "web")}
    run_served(tmp_path / "run", serve(Reference()), **wish, **more)
    for options in (ReplayOptions(), ReplayOptions(tools_live=True)):
        played = asyncio.run(replay(Run(tmp_path / "run"), options, print))
        assert [episode.drift for episode in played] == [()] * 4
