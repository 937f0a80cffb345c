"""A run that is tried before its first episode, over a real socket."""

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from agent_env.cli.preflight import print_checks
from agent_env.episodes.calls import preflight
from agent_env.episodes.calls.budget import RunLimits
from agent_env.episodes.calls.options import CallOptions, open_calls
from agent_env.episodes.results import episodes_of
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ConfigError
from agent_env.features.reference.policy import Reference
from agent_env.records.trace_events import ToolCalled
from agent_env.runs.options.run_options import ReplayOptions, ResumeOptions, RunOptions
from agent_env.runs.planning.plan import plan_run
from agent_env.runs.replay import replay
from agent_env.runs.resume import resume
from agent_env.runs.run import Run
from agent_env.runs.start import check_run, open_plan, run_episodes, start_run, try_server
from tests.fake_server import FakeServer, ScriptedAnswer, model_policy, tool_call
from tests.fake_server.conversation import Tokens
from tests.loops import in_loop
from tests.plans import QUIET

TEST = "This is a test of the connection."


def policy(drops=False, fence=None):
    """Calls a tool of the preflight where it hears of one, then answers."""

    async def says(turns, offers):
        tokens = Tokens(input=31 if drops else 31 + 300 * len(offers), output=5)
        if fence is not None and turns[0].role == "system":
            call = '{"name": "web_search", "arguments": {"query": "x"}}'
            tokens = Tokens(input=400, output=5)
            return ScriptedAnswer(text=f"```{fence}\n{call}\n```", usage=tokens)
        if offers and not drops and TEST in turns[-1].content:
            return ScriptedAnswer(calls=(tool_call(offers[0].name, "{}"),), usage=tokens)
        return ScriptedAnswer(text="MY ANSWER: None", usage=tokens)

    return says


def asked(out, url, **options):
    given = {
        "task": "time-puzzles", "model": "compatible/fake", "conditions": ("base", "web"),
        "limit": 1, "out": out, "base_url": url, "preflight": "on", "first_steps": ("auto",),
    }  # fmt: skip
    return RunOptions(**(given | options))


@in_loop
async def ran(out, server, notes=None, **options):
    listener = QUIET if notes is None else replace(QUIET, note=notes.append)
    async with server:
        return (await start_run(asked(out, server.url, **options), listener)).manifest


CHAT = "/v1/chat/completions"


@in_loop
async def go_on(run, server, **options):
    """How many replies the server gave when the run went on there."""
    async with server:
        await resume(run, ResumeOptions(base_url=server.url, **options), QUIET)
        return server.counts[CHAT]


def test_what_was_seen_stands_in_run_json_and_its_tokens_count_against_the_limit(tmp_path):
    server, limits = FakeServer(policy()), CallOptions(run=RunLimits(tokens=100_000))
    (found,) = ran(tmp_path / "run", server, calls=limits).preflights
    assert server.counts[CHAT] == 2 + 2  # two of the preflight, two episodes
    names = found.model, found.served_model, found.listed_models
    assert names == ("compatible/fake", "fake", ("fake",))
    (check,) = found.conditions
    assert (check.condition, check.added_input_tokens, check.calls_parsed) == ("web", 600, True)
    assert {probe["max_tokens"] for probe in list(server.recent)[:2]} == {256}
    folder = Run(tmp_path / "run")

    @in_loop
    async def spent():
        async with AsyncExitStack() as stack:
            return open_calls(folder, folder.manifest, 1, stack, print).budget.tokens

    assert spent() == 2 * (31 + 5) + 2 * (631 + 5)


def test_a_run_whose_tools_are_dropped_is_refused_unless_it_runs_anyway_and_is_marked(tmp_path):
    server, notes = FakeServer(policy(drops=True)), []
    with pytest.raises(ConfigError, match=r"condition web cannot mean anything: .*31 without"):
        ran(tmp_path / "run", server)
    assert server.counts[CHAT] == 2
    assert not (tmp_path / "run").exists()
    manifest = ran(tmp_path / "run", FakeServer(policy(drops=True)), notes, preflight="anyway")
    problem = (
        "the server drops its tools, or its token counts say nothing (31 input tokens with tools, "
        "31 without)"
    )
    assert manifest.problems == {"web": problem}
    assert f"preflight: web: {problem}" in notes
    assert len(list(Run(tmp_path / "run").traces())) == 2


@pytest.mark.parametrize(("reply_timeout_s", "error_kind"), [(None, "timeout"), (30.0, None)])
async def test_a_test_call_may_take_as_long_as_a_reply_of_the_run(
    tmp_path, monkeypatch, reply_timeout_s, error_kind
):
    monkeypatch.setattr(preflight, "CALL_S", 0.3)

    async def slow(turns, offers):
        await asyncio.sleep(0.6)
        return await policy()(turns, offers)

    given = {} if reply_timeout_s is None else {"reply_timeout_s": reply_timeout_s}
    async with FakeServer(slow) as server:
        options = asked(tmp_path / "run", server.url, conditions=("base",), parameters=given)
        (probe,) = (await check_run(options, print)).manifest.preflights[0].probes
    assert probe.error_kind == error_kind


@pytest.mark.parametrize(("fence", "text_calls"), [("json", "lenient"), ("tool_call", None)])
async def test_under_the_text_protocol_fences_make_the_reading_lenient(tmp_path, fence, text_calls):
    server = FakeServer(policy(fence=fence))
    options = asked(tmp_path / "run", "", parameters={"tool_protocol": "text"})
    async with server:
        manifest = (await check_run(replace(options, base_url=server.url), print)).manifest
    assert manifest.model_parameters.get("text_calls") == text_calls
    assert not (tmp_path / "run").exists()
    assert server.counts[CHAT] == 2


async def talks_when_free(turns, offers):
    """Calls nothing unless each of its messages is held to be an object."""
    tokens = Tokens(input=31 + 300 * len(offers), output=5)
    if not turns[0].content.count("Each of your messages is one JSON object"):
        return ScriptedAnswer(text="OK", usage=tokens)
    step = {"answer": "MY ANSWER: None"}
    if TEST in turns[-1].content:
        step = {"tool": "web_search", "arguments": {"query": "x"}}
    return ScriptedAnswer(text=json.dumps({"step": step}), usage=Tokens(input=400, output=5))


def test_auto_takes_the_first_protocol_by_which_a_call_comes_and_resume_keeps_it(tmp_path):
    notes, server = [], FakeServer(talks_when_free)
    manifest = ran(tmp_path / "run", server, notes, parameters={"tool_protocol": "auto"})
    reason = "calls that came: native 0 of 1, text 0 of 1, schema 1 of 1"
    assert f"preflight: --tool-protocol auto takes schema; {reason}" in notes
    (seen,) = manifest.preflights
    assert (seen.protocol.name, seen.protocol.reason) == ("schema", reason)
    assert [probe.protocol for probe in seen.probes] == [None, None, "text", "schema"]
    assert manifest.model_parameters["tool_protocol"] == "schema"
    folder = Run(tmp_path / "run")
    episode = next(each for each in episodes_of(folder, print) if each.condition == "web")
    assert (episode.answer, episode.stop_reason) == ("MY ANSWER: None", "answered")
    next(trace for trace in folder.traces() if "web" in trace.parts).unlink()
    other = FakeServer(talks_when_free)
    go_on(folder, other, anyway=True)
    system = list(other.recent)[-1]["messages"][0]["content"]
    assert "Each of your messages is one JSON object" in system
    assert folder.manifest.model_parameters["tool_protocol"] == "schema"


def test_auto_asks_a_server_of_working_native_tools_nothing_more(tmp_path):
    server = FakeServer(policy())
    manifest = ran(tmp_path / "run", server, parameters={"tool_protocol": "auto"})
    assert (server.counts[CHAT], manifest.model_parameters["tool_protocol"]) == (4, "native")
    with pytest.raises(ConfigError, match="auto is settled by the preflight"):
        ran(tmp_path / "x", server, parameters={"tool_protocol": "auto"}, preflight="off")


@pytest.mark.parametrize(("context", "window"), [(4096, 2048), (16_384, None)])
def test_short_tool_texts_cut_the_windows_of_pages_to_a_small_context(tmp_path, context, window):
    server = FakeServer(model_policy(Reference()), mode="llama.cpp", context_tokens=context)
    short = {"parameters": {"tool_texts": "short"}, "conditions": ("web",)}
    manifest = ran(tmp_path / "run", server, **short)
    assert (manifest.page_window, manifest.limits["fit_context"]) == (window, True)
    folder = Run(tmp_path / "run")
    (trace,) = folder.traces()
    events = read_trace(trace)
    opened = [e.result.output for e in events if isinstance(e, ToolCalled) and e.result.pages]
    assert max(map(len, opened)) <= (window or 6000) + 500
    for spec in events[0].tools:
        assert set(spec.parameters["properties"]) == set(spec.parameters["required"])
    played = asyncio.run(replay(folder, ReplayOptions(tools_live=True), print))
    assert [each.verdict for each in played] == ["same"]


def test_a_resumed_run_is_tried_again_only_where_it_was_and_the_server_is_another(tmp_path):
    ran(tmp_path / "run", FakeServer(policy()))
    ran(tmp_path / "untried", FakeServer(policy()), preflight="off")
    folder = Run(tmp_path / "run")
    assert go_on(folder, FakeServer(policy())) == 2
    with pytest.raises(ConfigError, match="drops its tools"):
        go_on(folder, FakeServer(policy(drops=True)))
    assert len(folder.manifest.preflights) == 2
    assert go_on(folder, FakeServer(policy(drops=True)), anyway=True) == 2
    assert go_on(Run(tmp_path / "untried"), FakeServer(policy(drops=True))) == 0
    assert list(folder.manifest.problems) == ["web"]
    asyncio.run(run_episodes(folder, None, QUIET))
    assert len(folder.manifest.preflights) == 3


def test_a_run_of_a_study_that_was_refused_is_kept_and_resumed_once_its_server_is_mended(tmp_path):
    run = Run(tmp_path / "run")

    @in_loop
    async def begin():
        async with FakeServer(policy(drops=True)) as server, AsyncExitStack() as stack:
            options = asked(run.path, server.url)
            opened = open_plan(await plan_run(options, print, stack), print, stack)
            await try_server(opened, options.preflight, lambda text: None, stack)

    with pytest.raises(ConfigError, match="drops its tools"):
        begin()
    with pytest.raises(ConfigError, match="drops its tools"):
        go_on(run, FakeServer(policy(drops=True)))
    assert list(run.traces()) == []
    go_on(run, FakeServer(policy()))
    assert (len(list(run.traces())), Run(run.path).manifest.problems) == (2, {})


async def test_a_check_prints_what_the_run_will_use_and_can_show(capsys, tmp_path):
    async with FakeServer(policy()) as server:
        options = asked(tmp_path / "run", server.url, conditions=("base", "web"))
        for as_json in (False, True):
            await asyncio.to_thread(print_checks, [options], as_json)
    text, _, data = capsys.readouterr().out.rpartition('{"runs"')
    lines = [line.split() for line in text.splitlines()]
    (run,) = json.loads('{"runs"' + data)["runs"]
    assert run["forecast"]["episodes"] == 2
    assert [each["condition"] for each in run["preflight"]["contexts"]] == ["base", "web"]
    assert ["web", "−", "base", "1", "guess:"] in [line[:5] for line in lines]  # 1.534 is none
