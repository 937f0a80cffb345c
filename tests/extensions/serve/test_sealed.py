"""While an exam goes on, no file of its folder holds a gold answer; afterwards it is a run."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.extensions.serve.exam import Exam, exam_folder, open_exam
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.runs.environment import make_environment, open_environment
from agent_env.runs.options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.score import score_folder


def _sit(
    out: Path, agent: Callable[[Exam], Awaitable[None]], notes: list[str] | None = None,
    ended_by_agent: bool = False, **changes: Any,
) -> None:  # fmt: skip
    options = RunOptions("time-puzzles", conditions=("explicit+cal",), limit=3, out=out)

    async def main() -> None:
        said = [] if notes is None else notes
        folder = await exam_folder(replace(options, **changes), said.append)
        async with (
            open_environment(folder) as environment,
            open_exam(environment, lambda key, score: None, None, ended_by_agent) as exam,
        ):
            await agent(exam)

    asyncio.run(main())


async def _answer_right(exam: Exam, count: int = 100) -> None:
    for _ in range(count):
        if (question := await exam.begin("x")) is None:
            return
        sample = exam.environment.folder.samples_by_id[exam.opened(question.handle).key.sample]
        assert isinstance(sample, TimePuzzle)
        answer = ", ".join(sample.worded("explicit").gold) or "None"
        await exam.submit(question.handle, f"MY ANSWER: {answer}")


def _files_with_gold(exam: Exam) -> list[str]:
    golds = [
        date.encode()
        for sample in exam.environment.samples
        if isinstance(sample, TimePuzzle)
        for date in sample.gold
    ]
    assert golds
    files = [file for file in exam.folder.rglob("*") if file.is_file()]
    return [file.name for file in files if any(gold in file.read_bytes() for gold in golds)]


def _matches(run: Path) -> list[float]:
    scored = score_folder(Run(run), print)
    return sorted(score.metrics["exact_match"] for _, score in scored)


def test_no_file_has_gold_before_the_end_and_then_the_folder_is_a_run(tmp_path: Path) -> None:
    async def agent(exam: Exam) -> None:
        question = await exam.begin("x")
        assert question is not None
        assert _files_with_gold(exam) == []
        assert not (exam.folder / "samples.jsonl").exists()
        with pytest.raises(DatasetError, match="An exam keeps its questions in memory"):
            Run.open(exam.folder).samples  # noqa: B018
        await exam.submit(question.handle, "MY ANSWER: None")
        await _answer_right(exam)

    _sit(tmp_path / "run", agent)
    metrics = [
        score.metrics["exact_match"] for _, score in score_folder(Run(tmp_path / "run"), print)
    ]
    assert sorted(metrics) == [0.0, 1.0, 1.0]


def test_a_killed_exam_loses_no_episode_and_no_question(tmp_path: Path) -> None:
    out = tmp_path / "run"

    async def killed(exam: Exam) -> None:
        await _answer_right(exam, 2)
        shutil.copytree(out, tmp_path / "left")  # what SIGKILL would leave here

    _sit(out, killed)
    left = tmp_path / "left"
    assert not (left / "samples.jsonl").exists()
    _sit(left, _answer_right)
    assert (left / "samples.jsonl").read_bytes() == (out / "samples.jsonl").read_bytes()
    assert [score.metrics["exact_match"] for _, score in score_folder(Run(left), print)] == [
        1.0
    ] * 3


def test_an_exam_over_a_dataset_goes_on_with_that_dataset_alone(tmp_path: Path) -> None:
    source = asyncio.run(
        make_environment(RunOptions("time-puzzles", limit=3, seed=7, out=tmp_path / "source"))
    )
    data = source.path / "samples.jsonl"
    out = tmp_path / "run"

    async def killed(exam: Exam) -> None:
        assert _files_with_gold(exam) == []
        shutil.copytree(out, tmp_path / "left")

    _sit(out, killed, dataset=data)
    with pytest.raises(ConfigError, match=r"its questions came from samples\.jsonl; name it with"):
        _sit(tmp_path / "left", _answer_right)
    other = tmp_path / "other.jsonl"
    other.write_bytes(data.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(ConfigError, match=r"samples\.jsonl gives other questions than"):
        _sit(tmp_path / "left", _answer_right, dataset=other)
    _sit(tmp_path / "left", _answer_right, dataset=data)
    assert (tmp_path / "left/samples.jsonl").read_bytes() == data.read_bytes()


def test_a_client_that_can_end_the_server_does_not_get_the_gold_by_that(tmp_path: Path) -> None:
    async def one(exam: Exam) -> None:
        await _answer_right(exam, 1)

    out = tmp_path / "run"
    _sit(out, one, ended_by_agent=True)
    assert not (out / "samples.jsonl").exists()
    _sit(out, _answer_right, ended_by_agent=True)
    assert (out / "samples.jsonl").exists()


def test_an_exam_that_goes_on_takes_the_samples_away_again(tmp_path: Path) -> None:
    async def one(exam: Exam) -> None:
        assert not (exam.folder / "samples.jsonl").exists()
        await _answer_right(exam, 1)

    out, notes = tmp_path / "run", list[str]()
    _sit(out, one)
    _sit(out, one, notes)
    assert notes == [f"{out} goes on, with the options that it was begun with"]
    assert (out / "samples.jsonl").exists()


def test_questions_that_cannot_be_made_again_stay_in_the_folder(tmp_path: Path) -> None:
    source = asyncio.run(
        make_environment(RunOptions("time-puzzles", limit=3, seed=7, out=tmp_path / "source"))
    )

    async def agent(exam: Exam) -> None:
        assert (exam.folder / "samples.jsonl").exists()

    notes: list[str] = []
    asyncio.run(make_environment(RunOptions(
        "time-puzzles", conditions=("explicit+cal",), out=tmp_path / "run",
        dataset=source.path / "samples.jsonl")))  # fmt: skip
    _sit(tmp_path / "run", agent, notes)
    assert notes[1].startswith(f"{tmp_path / 'run' / 'samples.jsonl'} stays readable, gold answers")
