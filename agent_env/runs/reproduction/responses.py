"""Answers from a file, such as the authors' outputs, scored like those of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent_env.analysis.study import RunData
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Episode, Sample, Score
from agent_env.runs.study import run_data
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.task import Task


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One model's response to one question."""

    setup: str
    """The setup under which the model was asked."""
    model: str
    condition: str
    """As conditions write it: `base`, `explicit`, `web+ci`."""
    sample: str
    text: str | None
    """None where the file has no response."""
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ResponseFile:
    """The rows of a file."""

    rows: tuple[ResponseRow, ...]
    samples: tuple[Sample, ...] = ()
    """The questions as far as the file tells them; used where the user gives no question file."""


def response_runs(
    setup: str, rows: Iterable[ResponseRow], samples: Sequence[Sample], task: Task,
    note: Callable[[str], None],
) -> list[RunData]:  # fmt: skip
    """A run for each model of the rows; rows of other questions are reported."""
    by_model: dict[str, list[ResponseRow]] = {}
    for row in rows:
        by_model.setdefault(row.model, []).append(row)
    by_id = {sample.id: sample for sample in samples}
    runs = []
    for model, own in by_model.items():
        unknown = [row.sample for row in own if row.sample not in by_id]
        if unknown:
            note(f"{len(unknown)} responses of {model} are to no question, {unknown[0]} first")
        scored = [_scored(row, by_id[row.sample], task) for row in own if row.sample in by_id]
        used = {episode.sample for episode, _ in scored}
        chosen = [sample for sample in samples if sample.id in used]
        if scored:
            manifest = _manifest(model, own, task, len(chosen))
            runs.append(run_data(f"responses of {model}", manifest, chosen, scored, None))
    return runs


def _scored(row: ResponseRow, sample: Sample, task: Task) -> tuple[Episode, Score]:
    episode = Episode(
        sample=row.sample,
        condition=row.condition,
        repeat=1,
        model=row.model,
        status="finished",
        answer=row.text,
        stop_reason="answered",
        output_tokens=row.output_tokens,
    )
    return episode, task.score(sample, episode)


def _manifest(model: str, rows: Sequence[ResponseRow], task: Task, samples: int) -> Manifest:
    """As much of a manifest as a study reads."""
    names = list(dict.fromkeys(row.condition for row in rows))
    return Manifest(
        task=task.name,
        model=model,
        conditions=tuple(parse_condition(name) for name in names),
        repeats=1,
        limits={},
        prompt="of the response file",
        seed=None,
        samples=samples,
        samples_digest="",
        concurrency=1,
        versions={},
        created_at="",
    )
