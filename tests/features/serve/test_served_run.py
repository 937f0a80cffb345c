"""Exams: handles, tries, scores, and samples that no file holds."""

import asyncio
import shutil
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.features.serve.mcp_server import QuestionServer
from agent_env.features.serve.served_run import open_served_run, served_folder, tools_of
from agent_env.records.schema import ToolSpec
from agent_env.runs.environment import make_environment, open_environment
from agent_env.runs.options.run_options import ReplayOptions, RunOptions
from agent_env.runs.replay import replay
from agent_env.runs.run import Run
from agent_env.runs.scores.score import score_folder

HEBREW = {"operation": "describe", "calendar": "hebrew", "date": "2024-01-01"}
NO_DATE = "MY ANSWER: None"


@asynccontextmanager
async def _sitting(out, ends=None, notes=None, ended_by_agent=False, **changes):
    options = RunOptions("time-puzzles", conditions=("explicit+cal",), limit=2, out=out)
    scores, said = ([] if given is None else given for given in (ends, notes))
    folder = await served_folder(replace(options, **changes), said.append)
    async with (
        open_environment(folder) as environment,
        open_served_run(
            environment, lambda key, score: scores.append(score), None, ended_by_agent
        ) as served_run,
    ):
        yield served_run


async def _sit(out, count=100, **how):
    """An exam whose next questions, so many, are answered rightly."""
    async with _sitting(out, limit=3, **how) as served_run:
        await _answer_right(served_run, count)


async def _dataset(folder):
    """The file of three samples."""
    options = RunOptions("time-puzzles", limit=3, seed=7, out=folder / "source")
    return (await make_environment(options)).path / "samples.jsonl"


def _gold(served_run, handle):
    sample = served_run.environment.folder.samples_by_id[served_run.opened(handle).key.sample]
    return "MY ANSWER: " + (", ".join(sample.worded("explicit").gold) or "None")


def _matches(scored):
    return sorted(score.metrics["exact_match"] for _, score in scored)


async def test_a_right_answer_after_calls_scores_one_and_replays(tmp_path):
    ends, run = [], Run(tmp_path / "run")
    async with _sitting(run.path, ends) as served_run:
        while (question := await served_run.begin("a client 1.0")) is not None:
            result = await served_run.call(question.handle, "calendars", HEBREW)
            assert not result.is_error
            answer = _gold(served_run, question.handle)
            submission = await served_run.submit(question.handle, answer)
            assert submission.text == "The episode is over (answered)."
    scored = score_folder(run, print)
    assert [score.metrics["exact_match"] for score in ends] == _matches(scored) == [1.0, 1.0]
    assert {episode.model for episode, _ in scored} == {"a client 1.0"}
    assert [r.verdict for r in await replay(run, ReplayOptions(), print)] == ["same", "same"]


async def test_calls_fail_end_the_episode_or_are_recorded_to_their_end(tmp_path):
    async with _sitting(tmp_path / "run") as served_run:
        handle = (await served_run.begin("x")).handle
        unknown = await served_run.call(handle, "almanac", {})
        wrong = await served_run.call(handle, "calendars", {"calendar": "hebrew"})
    assert (unknown.is_error, wrong.is_error) == (True, True)
    assert "tools you can call: calendars" in unknown.text
    assert "wrong arguments" in wrong.text
    async with _sitting(tmp_path / "run1", limits={"steps": 2}) as served_run:
        handle = (await served_run.begin("x")).handle
        first, second = [await served_run.call(handle, "calendars", HEBREW) for _ in range(2)]
        assert served_run.handles == ()
    assert "This is your last reply" in first.text
    assert second.is_last
    assert second.text.endswith("The episode is over (steps).")
    async with _sitting(tmp_path / "run2") as served_run:
        handle = (await served_run.begin("x")).handle
        call = asyncio.ensure_future(served_run.call(handle, "calendars", HEBREW))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        call.cancel()
        await served_run.submit(handle, NO_DATE)
    ((episode, _),) = score_folder(Run(tmp_path / "run2"), print)
    assert [m.role for m in episode.messages][-3:] == ["assistant", "tool", "assistant"]


@asynccontextmanager
async def _client(out, **how):
    """An MCP client of an exam; it gives what a tool leaves."""
    mcp = pytest.importorskip("mcp", reason="needs the extra mcp")
    async with _sitting(out) as served_run:
        specs = await tools_of(served_run.environment)
        async with mcp.Client(QuestionServer(served_run, specs, **how).server()) as client:
            yield client


async def test_an_exam_over_mcp_has_one_condition_and_checks_its_headers(tmp_path):
    async with _sitting(tmp_path / "run", conditions=("base", "explicit+cal")) as served_run:
        with pytest.raises(ConfigError, match="one --condition, not base, explicit\\+cal"):
            await tools_of(served_run.environment)
    pytest.importorskip("mcp", reason="needs the extra mcp")
    region = {"type": "string", "x-mcp-header": "Region"}
    routed = ToolSpec(name="routed", description="", parameters={"properties": {"region": region}})
    async with _sitting(tmp_path / "run1") as served_run:
        specs = (*await tools_of(served_run.environment), routed)
        schema = QuestionServer(served_run, specs, many=True).server().get_tool_input_schema
    assert schema("calendars") is None
    assert schema("routed")["properties"]["region"] == region


async def test_mcp_clients_sit_the_exam_with_and_without_handles(tmp_path):
    async with _client(tmp_path / "run", tells_score=True) as client:
        early = await client.call_tool("submit_answer", {"answer": "x"})
        prompt = await client.get_prompt("question")
        second = await client.call_tool("next_question", {})
        result = await client.call_tool("calendars", HEBREW)
        end = await client.call_tool("submit_answer", {"answer": NO_DATE})
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["next_question", "calendars", "submit_answer"]
    assert (early.is_error, second.is_error, result.is_error) == (True, True, False)
    assert early.content[0].text.startswith("Error: no question is open")
    assert "Constraints:" in prompt.messages[0].content.text
    assert "a question is open" in second.content[0].text
    assert set(end.structured_content) == {"accepted", "score"}
    assert end.structured_content["accepted"] is True
    async with _client(tmp_path / "run1", many=True) as client:
        begun = [(await client.call_tool("next_question", {})).structured_content for _ in range(3)]
        handles = [each.get("episode") for each in begun]
        call = await client.call_tool("calendars", {**HEBREW, "episode": handles[1]})
        nameless = await client.call_tool("calendars", HEBREW)
        ends = [
            await client.call_tool("submit_answer", {"answer": NO_DATE, "episode": handle})
            for handle in handles[:2]
        ]
    assert [each["done"] for each in begun] == [False, False, True]
    assert (call.is_error, nameless.is_error) == (False, True)
    assert "episode is missing" in nameless.content[0].text
    assert [end.structured_content for end in ends] == [{"accepted": True}] * 2


async def _answer_right(served_run, count=100):
    for _ in range(count):
        if (question := await served_run.begin("x")) is None:
            return
        await served_run.submit(question.handle, _gold(served_run, question.handle))


def _files_with_gold(served_run):
    samples = [s for s in served_run.environment.samples if isinstance(s, TimePuzzle)]
    golds = [date.encode() for sample in samples for date in sample.gold]
    assert golds
    files = [file for file in served_run.folder.rglob("*") if file.is_file()]
    return [file.name for file in files if any(gold in file.read_bytes() for gold in golds)]


async def test_no_file_has_gold_before_the_end_and_then_the_folder_is_a_run(tmp_path):
    async with _sitting(tmp_path / "run", limit=3) as served_run:
        question = await served_run.begin("x")
        assert _files_with_gold(served_run) == []
        assert not (served_run.folder / "samples.jsonl").exists()
        with pytest.raises(DatasetError, match="A served run keeps its questions in memory"):
            Run.open(served_run.folder).samples  # noqa: B018
        await served_run.submit(question.handle, "MY ANSWER: None")
        await _answer_right(served_run)
    assert _matches(score_folder(Run(tmp_path / "run"), print)) == [0.0, 1.0, 1.0]


async def test_a_killed_exam_loses_no_episode_and_no_question(tmp_path):
    out, left = tmp_path / "run", tmp_path / "left"
    async with _sitting(out, limit=3) as served_run:
        await _answer_right(served_run, 2)
        shutil.copytree(out, left)  # what SIGKILL would leave here
    assert not (left / "samples.jsonl").exists()
    await _sit(left)
    assert (left / "samples.jsonl").read_bytes() == (out / "samples.jsonl").read_bytes()
    assert _matches(score_folder(Run(left), print)) == [1.0] * 3


async def test_an_exam_over_a_dataset_goes_on_with_that_dataset_alone(tmp_path):
    data, left = await _dataset(tmp_path), tmp_path / "left"
    async with _sitting(tmp_path / "run", dataset=data, limit=3) as served_run:
        assert _files_with_gold(served_run) == []
        shutil.copytree(tmp_path / "run", left)
    other = tmp_path / "other.jsonl"
    other.write_bytes(data.read_bytes().splitlines(keepends=True)[0])
    for dataset, reason in (
        (None, r"its questions came from samples\.jsonl; name it with"),
        (other, r"samples\.jsonl gives other questions than"),
    ):
        with pytest.raises(ConfigError, match=reason):
            await _sit(left, dataset=dataset)
    await _sit(left, dataset=data)
    assert (left / "samples.jsonl").read_bytes() == data.read_bytes()


async def test_gold_stays_hidden_until_all_is_answered_and_from_those_who_can_end_it(tmp_path):
    samples = tmp_path / "run/samples.jsonl"
    await _sit(samples.parent, 1, ended_by_agent=True)
    assert not samples.exists()
    await _sit(samples.parent, ended_by_agent=True)
    assert samples.exists()

    out, notes = tmp_path / "run1", list[str]()
    for heard in (None, notes):
        async with _sitting(out, notes=heard, limit=3) as served_run:
            assert not (out / "samples.jsonl").exists()
            await _answer_right(served_run, 1)
    assert notes == [f"{out} goes on, with the options that it was begun with"]
    assert (out / "samples.jsonl").exists()


async def test_questions_that_cannot_be_made_again_stay_in_the_folder(tmp_path):
    out, notes = tmp_path / "run", []
    dataset = await _dataset(tmp_path)
    options = RunOptions("time-puzzles", conditions=("explicit+cal",), out=out, dataset=dataset)
    await make_environment(options)
    async with _sitting(out, notes=notes, limit=3):
        assert (out / "samples.jsonl").exists()
    assert notes[1].startswith(f"{out / 'samples.jsonl'} stays readable, gold answers")
