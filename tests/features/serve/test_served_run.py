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


def _sit(out, agent, *more, **how):
    async def main():
        async with _sitting(out, *more, **how) as served_run:
            return await agent(served_run)

    return asyncio.run(main())


def _gold(served_run, handle):
    sample = served_run.environment.folder.samples_by_id[served_run.opened(handle).key.sample]
    return "MY ANSWER: " + (", ".join(sample.worded("explicit").gold) or "None")


def _matches(scored):
    return sorted(score.metrics["exact_match"] for _, score in scored)


def test_a_right_answer_after_calls_scores_one_and_replays(tmp_path):
    async def agent(served_run):
        while (question := await served_run.begin("a client 1.0")) is not None:
            result = await served_run.call(question.handle, "calendars", HEBREW)
            assert not result.is_error
            submission = await served_run.submit(
                question.handle, _gold(served_run, question.handle)
            )
            assert submission.text == "The episode is over (answered)."

    ends = []
    _sit(tmp_path / "run", agent, ends)
    run = Run(tmp_path / "run")
    scored = score_folder(run, print)
    assert [score.metrics["exact_match"] for score in ends] == _matches(scored) == [1.0, 1.0]
    assert {episode.model for episode, _ in scored} == {"a client 1.0"}
    results = asyncio.run(replay(run, ReplayOptions(), print))
    assert [result.verdict for result in results] == ["same", "same"]


async def test_calls_fail_end_the_episode_or_are_recorded_to_their_end(tmp_path):
    async with _sitting(tmp_path / "run") as served_run:
        question = await served_run.begin("x")
        unknown = await served_run.call(question.handle, "almanac", {})
        unknown, wrong = (
            unknown,
            await served_run.call(question.handle, "calendars", {"calendar": "hebrew"}),
        )
    assert unknown.is_error
    assert "tools you can call: calendars" in unknown.text
    assert wrong.is_error
    assert "wrong arguments" in wrong.text
    async with _sitting(tmp_path / "run1", limits={"steps": 2}) as served_run:
        question = await served_run.begin("x")
        calls = [await served_run.call(question.handle, "calendars", HEBREW) for _ in range(2)]
        assert served_run.handles == ()
        first, second = calls
    assert "This is your last reply" in first.text
    assert second.is_last
    assert second.text.endswith("The episode is over (steps).")
    async with _sitting(tmp_path / "run2") as served_run:
        question = await served_run.begin("x")
        call = asyncio.ensure_future(served_run.call(question.handle, "calendars", HEBREW))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        call.cancel()
        await served_run.submit(question.handle, NO_DATE)
    ((episode, _),) = score_folder(Run(tmp_path / "run2"), print)
    assert [m.role for m in episode.messages][-3:] == ["assistant", "tool", "assistant"]


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


def test_mcp_clients_sit_the_exam_with_and_without_handles(tmp_path):
    mcp = pytest.importorskip("mcp", reason="needs the extra mcp")

    async def agent(served_run):
        async with mcp.Client(
            QuestionServer(
                served_run, await tools_of(served_run.environment), tells_score=True
            ).server()
        ) as client:
            early = await client.call_tool("submit_answer", {"answer": "x"})
            prompt = await client.get_prompt("question")
            second = await client.call_tool("next_question", {})
            result = await client.call_tool("calendars", HEBREW)
            end = await client.call_tool("submit_answer", {"answer": NO_DATE})
            names = [tool.name for tool in (await client.list_tools()).tools]
            return [early, prompt, second, result, end, names]

    early, prompt, second, result, end, names = _sit(tmp_path / "run", agent)
    assert names == ["next_question", "calendars", "submit_answer"]
    assert early.is_error
    assert early.content[0].text.startswith("Error: no question is open")
    assert "Constraints:" in prompt.messages[0].content.text
    assert second.is_error
    assert "a question is open" in second.content[0].text
    assert not result.is_error
    assert set(end.structured_content) == {"accepted", "score"}
    assert end.structured_content["accepted"] is True
    mcp = pytest.importorskip("mcp", reason="needs the extra mcp")

    async def agent(served_run):
        async with mcp.Client(
            QuestionServer(served_run, await tools_of(served_run.environment), many=True).server()
        ) as client:
            begun = [await client.call_tool("next_question", {}) for _ in range(3)]
            handles = [b.structured_content.get("episode") for b in begun]
            call = await client.call_tool("calendars", {**HEBREW, "episode": handles[1]})
            nameless = await client.call_tool("calendars", HEBREW)
            ends = [
                await client.call_tool("submit_answer", {"answer": NO_DATE, "episode": handle})
                for handle in handles[:2]
            ]
            return [begun, call, nameless, ends]

    begun, call, nameless, ends = _sit(tmp_path / "run1", agent)
    assert [b.structured_content["done"] for b in begun] == [False, False, True]
    assert not call.is_error
    assert nameless.is_error
    assert "episode is missing" in nameless.content[0].text
    assert [end.structured_content for end in ends] == [{"accepted": True}] * 2


async def _answer_right(served_run, count=100):
    for _ in range(count):
        if (question := await served_run.begin("x")) is None:
            return
        await served_run.submit(question.handle, _gold(served_run, question.handle))


def _files_with_gold(served_run):
    golds = [
        date.encode()
        for sample in served_run.environment.samples
        if isinstance(sample, TimePuzzle)
        for date in sample.gold
    ]
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


def test_a_killed_exam_loses_no_episode_and_no_question(tmp_path):
    out = tmp_path / "run"

    async def killed(served_run):
        await _answer_right(served_run, 2)
        shutil.copytree(out, tmp_path / "left")  # what SIGKILL would leave here

    _sit(out, killed, limit=3)
    left = tmp_path / "left"
    assert not (left / "samples.jsonl").exists()
    _sit(left, _answer_right, limit=3)
    assert (left / "samples.jsonl").read_bytes() == (out / "samples.jsonl").read_bytes()
    assert _matches(score_folder(Run(left), print)) == [1.0] * 3


def test_an_exam_over_a_dataset_goes_on_with_that_dataset_alone(tmp_path):
    source = asyncio.run(
        make_environment(RunOptions("time-puzzles", limit=3, seed=7, out=tmp_path / "source"))
    )
    data = source.path / "samples.jsonl"
    out = tmp_path / "run"

    async def killed(served_run):
        assert _files_with_gold(served_run) == []
        shutil.copytree(out, tmp_path / "left")

    _sit(out, killed, dataset=data, limit=3)
    with pytest.raises(ConfigError, match=r"its questions came from samples\.jsonl; name it with"):
        _sit(tmp_path / "left", _answer_right, limit=3)
    other = tmp_path / "other.jsonl"
    other.write_bytes(data.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(ConfigError, match=r"samples\.jsonl gives other questions than"):
        _sit(tmp_path / "left", _answer_right, dataset=other, limit=3)
    _sit(tmp_path / "left", _answer_right, dataset=data, limit=3)
    assert (tmp_path / "left/samples.jsonl").read_bytes() == data.read_bytes()


def test_gold_stays_hidden_until_all_is_answered_and_from_those_who_can_end_it(tmp_path):
    async def one(served_run):
        await _answer_right(served_run, 1)

    out = tmp_path / "run"
    _sit(out, one, ended_by_agent=True, limit=3)
    assert not (out / "samples.jsonl").exists()
    _sit(out, _answer_right, ended_by_agent=True, limit=3)
    assert (out / "samples.jsonl").exists()

    async def one(served_run):
        assert not (served_run.folder / "samples.jsonl").exists()
        await _answer_right(served_run, 1)

    out, notes = tmp_path / "run1", list[str]()
    _sit(out, one, limit=3)
    _sit(out, one, notes=notes, limit=3)
    assert notes == [f"{out} goes on, with the options that it was begun with"]
    assert (out / "samples.jsonl").exists()


def test_questions_that_cannot_be_made_again_stay_in_the_folder(tmp_path):
    source = asyncio.run(
        make_environment(RunOptions("time-puzzles", limit=3, seed=7, out=tmp_path / "source"))
    )

    async def agent(served_run):
        assert (served_run.folder / "samples.jsonl").exists()

    notes = []
    asyncio.run(make_environment(RunOptions(
        "time-puzzles", conditions=("explicit+cal",), out=tmp_path / "run",
        dataset=source.path / "samples.jsonl")))  # fmt: skip
    _sit(tmp_path / "run", agent, notes=notes, limit=3)
    assert notes[1].startswith(f"{tmp_path / 'run' / 'samples.jsonl'} stays readable, gold answers")
