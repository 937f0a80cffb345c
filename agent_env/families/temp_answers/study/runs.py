"""Runs of temp-answers as response files, for scoring by the same code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_env.families.temp_answers.generator import AnswerOptions
from agent_env.families.temp_answers.responses import Response, ResponseFile
from agent_env.families.temp_answers.sample import TimeQuestion
from agent_env.families.temp_answers.task import is_prefilled
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Episode

FINISH = {"truncated": "length", "repetition": "length"}


def run_files(
    path: Path,
    manifest: Manifest,
    options: AnswerOptions,
    questions: Mapping[str, TimeQuestion],
    episodes: Sequence[Episode],
) -> list[ResponseFile]:
    """One file for each condition and answer form (final lines are `ttqa`, objects `tot`), from the
    finished episodes only."""
    files = []
    for condition in manifest.conditions:
        own = [e for e in episodes if e.condition == condition.name and e.status == "finished"]
        for dataset in ("ttqa", "tot"):
            pairs = [(questions[e.sample], e) for e in own if e.sample in questions]
            of_dataset = [(q, e) for q, e in pairs if bool(q.keys) == (dataset == "tot")]
            if not of_dataset:
                continue
            rows = tuple(response_row(n, q, e) for n, (q, e) in enumerate(of_dataset, start=1))
            files.append(
                ResponseFile(
                    path / f"{condition.name} {dataset}",
                    dataset,
                    f"{manifest.model} {condition.name}",
                    f"{options.shots} shots, {options.turns}",
                    any(is_prefilled(q, condition, options) for q, _ in of_dataset),
                    rows,
                    generation="prefill" if options.prefill else options.turns,
                )
            )
    return files


def response_row(line: int, question: TimeQuestion, episode: Episode) -> Response:
    """An episode's answer as a row of a response file."""
    return Response(
        line=line,
        question=question.question,
        label=question.label,
        format=question.answer_format,
        unit=question.answer_unit,
        split=question.split,
        response=episode.answer,
        key=question.id,
        cluster=question.materials[0] if question.materials else question.id,
        question_type=question.question_type,
        finish_reason=FINISH.get(episode.stop_reason or ""),
        years_only=question.years_only,
    )
