"""Episodes of a run: what is written, said, killed and collected."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random

import pytest

from agent_env.episodes.calls.budget import ConcurrencyLimit
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.retries import Retries
from agent_env.episodes.results import episodes_of
from agent_env.episodes.runner import Watch
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ModelError, SandboxError, StorageError
from agent_env.families.time_puzzles.family import SetOptions, make_set
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.records.schema import ToolSpec
from agent_env.records.trace_events import EpisodeStarted
from agent_env.tasks.sample_files import samples_bytes
from agent_env.testing import FakeTool, ScriptedModel, answer, calls, puzzle
from tests.episodes.killing import ordeal
from tests.episodes.runs import WEB, scripted_runner


def runner_for(path, make_model):
    tool = FakeTool("web_search", lambda arguments: "found")
    calls = Calls(ConcurrencyLimit(most=4), Retries(attempts=4, first_wait_s=0.001))
    return scripted_runner(path, lambda sample: (make_model(sample), tool), calls=calls)


def run(runner, count=3, repeats=1):
    samples = [puzzle(f"tp-0-{number}") for number in range(count)]
    asyncio.run(runner.run(samples, [WEB], repeats, lambda key, ending: None))
    return {f"{e.sample}.{e.repeat}": e for e in episodes_of(runner.folder, print)}


def searching(sample):
    return ScriptedModel([calls(("web_search", "{}")), answer("MY ANSWER: None")])


def test_a_failed_episode_is_recorded_with_its_error_and_its_siblings_go_on(tmp_path):
    errors = {"tp-0-1": ModelError("no such model"), "tp-0-2": ZeroDivisionError("x")}

    def model(sample):
        return ScriptedModel([errors[sample.id]]) if sample.id in errors else searching(sample)

    episodes = run(runner_for(tmp_path, model), 4)
    assert [(e.status, e.failure) for e in episodes.values()] == [
        ("finished", None),
        ("failed", "ModelError: no such model"),
        ("failed", "ModelError: model scripted: ZeroDivisionError: x"),
        ("finished", None),
    ]


def test_seams_that_cannot_be_opened_fail_the_episode_readably(tmp_path):
    @asynccontextmanager
    async def broken(sample, condition):
        raise SandboxError("the daemon is gone")
        yield

    runner = replace(runner_for(tmp_path, searching), open_seams=broken)
    episodes = run(runner, count=1)
    assert episodes["tp-0-0.1"].failure == "SandboxError: the daemon is gone"
    (first, _) = read_trace(tmp_path / "episodes/web/tp-0-0.1.jsonl")
    assert isinstance(first, EpisodeStarted)


def test_a_disk_that_takes_no_more_stops_the_run(tmp_path):
    (tmp_path / "episodes").write_text("a file where a folder should be")
    with pytest.raises(StorageError, match="cannot create the trace"):
        run(runner_for(tmp_path, searching))


SEARCH = ToolSpec(name="web_search", description="", parameters={})
CALL = '{"name": "web_search", "arguments": {}}'


def test_a_model_that_changes_and_a_call_in_text_are_said_once():
    said = []
    watch = Watch(said.append)
    for model in ("a", None, "a", "b", "a", "c"):
        watch.reply(answer("x").model_copy(update={"model": model}))
    assert said == [
        "the server changed its model: b answers now, a did before; score tells how many episodes "
        "of each"
    ]
    said.clear()
    watch.answer("base/a.1", CALL, [])
    watch.answer("web/a.1", None, [SEARCH])
    watch.answer("web/b.1", "1982-06-14", [SEARCH])
    assert said == []
    watch.answer("web/c.1", CALL, [SEARCH])
    watch.answer("web/d.1", CALL, [SEARCH])
    assert said == [
        "web/c.1 ended with a tool call as text (bare JSON), which nobody ran; score counts these: "
        "take --tool-protocol auto, or start the server with a parser that fits the model (vLLM, "
        "SGLang: --tool-call-parser; llama.cpp: --chat-template-file, whose form of a call is the "
        "model's)"
    ]


def test_a_run_killed_at_random_moments_ends_as_an_undisturbed_one(tmp_path):
    dataset = tmp_path / "puzzles.jsonl"
    dataset.write_bytes(samples_bytes(make_set(shipped_tables(), SetOptions(8, 3)).puzzles))
    found = asyncio.run(ordeal(tmp_path, dataset, "explicit+cal", 2, 4, 0.05, Random(7)))
    assert (found.kills, found.same_scores) == (2, True)
    assert (found.asked_again, found.left_over, found.episodes) == (0, 0, 8)
    assert found.repeats <= found.in_flight
    assert found.in_flight <= 2 * 4
