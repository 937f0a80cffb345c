"""Answers from a file, such as the authors' outputs, scored like those of a run.

Unless a paper has a format of its own, a file holds JSON lines. A line has `setup` and `sample`
(the names that `reproduce` gives them in its folder), `model`, `response` and may have `condition`
(default `base`) and `output_tokens`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_env.features.facts.tables.table_files import json_rows
from agent_env.sdk.errors import DatasetError
from agent_env.sdk.family import Task, parse_condition
from agent_env.sdk.records import Episode, Manifest, Sample, Score
from agent_env.sdk.results import RunData


@dataclass(frozen=True, slots=True)
class ResponseRow:
    setup: str
    """The setup under which the model was asked."""
    model: str
    condition: str
    """As conditions write it: `base`, `explicit`, `web+python`."""
    sample: str
    text: str | None
    """None where the file has no response."""
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ResponseFile:
    rows: tuple[ResponseRow, ...]
    samples: tuple[Sample, ...] = ()
    """The questions as far as the file tells them; used where the user gives no question file."""


@dataclass(frozen=True, slots=True)
class ReadSamples:
    golds: Mapping[str, tuple[Sample, ...]]
    """By id: the sample with each of its golds."""

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Each once, with its first gold."""
        return tuple(own[0] for own in self.golds.values())

    def score(self, task: Task, episode: Episode) -> Score:
        """The episode's score; of several golds the best one, for each metric."""
        first, *others = (task.score(sample, episode) for sample in self.golds[episode.sample])
        metrics = dict(first.metrics)
        for name, value in (pair for other in others for pair in other.metrics.items()):
            best = min if name in task.error_metrics else max
            metrics[name] = best(value, metrics.get(name, value))
        return first.model_copy(update={"metrics": metrics})


def response_runs(
    setup: str, rows: Iterable[ResponseRow], read: ReadSamples, task: Task,
    note: Callable[[str], None],
) -> list[RunData]:  # fmt: skip
    """A run for each model of the rows; rows of other questions are reported."""
    by_model: dict[str, list[ResponseRow]] = {}
    for row in rows:
        by_model.setdefault(row.model, []).append(row)
    runs = []
    for model, own in by_model.items():
        unknown = [row.sample for row in own if row.sample not in read.golds]
        if unknown:
            note(f"{len(unknown)} responses of {model} are to no question, {unknown[0]} first")
        episodes = [_episode(row) for row in own if row.sample in read.golds]
        scored = [(episode, read.score(task, episode)) for episode in episodes]
        used = {episode.sample for episode, _ in scored}
        chosen = [sample for sample in read.samples if sample.id in used]
        if scored:
            samples = len(chosen)
            names = list(dict.fromkeys(row.condition for row in own))
            manifest = Manifest(
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
            runs.append(RunData.of(f"responses of {model}", manifest, chosen, scored, None))
    return runs


def _episode(row: ResponseRow) -> Episode:
    return Episode(
        sample=row.sample,
        condition=row.condition,
        repeat=1,
        model=row.model,
        status="finished",
        answer=row.text,
        stop_reason="answered",
        output_tokens=row.output_tokens,
    )


FIELDS = ("setup", "model", "sample", "response")


def text_of(path: Path) -> str:
    """The text of a file; DatasetError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise DatasetError(path, None, f"cannot be read: {exc}") from exc


def read_response_lines(path: Path, setups: Collection[str]) -> ResponseFile:
    """The responses of a file; DatasetError names the line and the field."""
    rows = [_row(path, line, item, setups) for line, item in json_rows(path, text_of(path))]
    if not rows:
        raise DatasetError(path, None, "holds no response")
    return ResponseFile(tuple(rows))


def _row(path: Path, number: int, item: Mapping[str, Any], setups: Collection[str]) -> ResponseRow:
    for name in FIELDS:
        is_empty = name == "response" and name in item and item[name] is None
        if not isinstance(item.get(name), str) and not is_empty:
            raise DatasetError(path, number, f"{name} is missing or no text")
    if item["setup"] not in setups:
        raise DatasetError(
            path, number, f"setup '{item['setup']}' is unknown; known: {', '.join(setups)}"
        )
    tokens = item.get("output_tokens")
    return ResponseRow(
        setup=item["setup"],
        model=item["model"],
        condition=str(item.get("condition", "base")),
        sample=item["sample"],
        text=item["response"],
        output_tokens=int(tokens) if isinstance(tokens, int | float) else None,
    )
