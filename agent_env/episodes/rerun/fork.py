"""Forks: a recorded episode up to one of its steps, from there on another one.

A fork is made as an episode that was cut off behind step K, in a run of its own; running that run
is resuming it. So a fork survives, replays and is scored like any other episode.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_env.episodes.run_folder import EpisodeKey, RunFolder, digest
from agent_env.episodes.trace.fold import Recording, Step, fold
from agent_env.episodes.trace.lines import Clock, TraceWriter
from agent_env.episodes.trace.texts import Texts
from agent_env.errors import ConfigError, DatasetError, StorageError, first_problem
from agent_env.records.manifest import Manifest
from agent_env.records.safe_files import check_database, new_folder
from agent_env.records.schema import Episode, Sample
from agent_env.records.trace_events import EpisodeStarted, Event, ModelCalled, ToolCalled
from agent_env.tasks.sample_files import samples_bytes
from agent_env.web.store_file import reading

PARENT = "parent.json"
"""The parent as it ended, in the fork's folder."""


def read_edits(edit: Path | Mapping[str, str], step: Step) -> dict[str, str]:
    """New tool results by call id, from call id, or number of the call from 1, to text: as a JSON
    object in a file, or as a mapping. A file with another text is for the step's only call."""
    order = [call.id for call in step.reply.message.tool_calls]
    ids = [event.call.id for event in step.results]
    ids.sort(key=lambda id_: order.index(id_) if id_ in order else -1)
    if isinstance(edit, Mapping):
        return {_call_id("edit", str(name), ids): str(value) for name, value in edit.items()}
    file = edit
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"cannot read {file}: {getattr(exc, 'strerror', None) or exc}") from exc
    try:
        edits = json.loads(text)
    except ValueError:
        edits = None
    if not isinstance(edits, dict):
        if len(ids) != 1:
            raise ConfigError(
                f"{file}: the step has {len(ids)} tool results; write a JSON object with the ids "
                f"of those to replace ({', '.join(ids) or 'there are none'})"
            )
        return {ids[0]: text}
    return {_call_id(file, str(name), ids): str(value) for name, value in edits.items()}


def _call_id(file: Path | str, name: str, ids: Sequence[str]) -> str:
    if name in ids:
        return name
    if name.isdecimal() and 1 <= int(name) <= len(ids):
        return ids[int(name) - 1]
    raise DatasetError(file, None, f"no call '{name}' in that step; it has {', '.join(ids)}")


def step_of(recording: Recording, number: int) -> Step | None:
    """Step K, from 1; None for 0, which is before the first. ConfigError where there is none."""
    if not 0 <= number <= len(recording.steps):
        raise ConfigError(
            f"{recording.start.episode} has {len(recording.steps)} steps; --at {number} is none"
        )
    step = recording.steps[number - 1] if number else None
    if step is not None and not step.reply.message.tool_calls:
        raise ConfigError(f"step {number} is the answer; nothing comes after it to be asked anew")
    return step


def make_forks(
    folder: RunFolder,
    source: RunFolder,
    manifest: Manifest,
    recording: Recording,
    edits: Mapping[str, str],
    sample: Sample,
    files: Mapping[str, bytes],
    clock: Clock,
) -> None:
    """Creates the run of the forks of a recorded episode of the `source`; it appears whole or not
    at all. `manifest` names the parent, the model, the condition and how many forks there are;
    `edits`: new results of the last step, by call id; `files` by their paths in the run."""
    if folder.path.exists() and any(folder.path.iterdir()):
        raise ConfigError(f"{folder.path} is not empty; name a new folder with --out")
    lines = samples_bytes([sample])
    asked = {"samples_digest": digest(lines), "samples": 1}
    materials = source.materials_bytes()
    with new_folder(folder.path) as path:
        part = RunFolder(path)
        part.create(manifest.model_copy(update=asked), lines, materials, files)
        episode: Episode = fold(recording.events)
        part.write(PARENT, (episode.model_dump_json(indent=2) + "\n").encode())
        if source.pages.exists():
            pages = source.pages
            try:
                check_database(pages.parent, pages)
            except OSError as exc:
                raise DatasetError(pages, None, f"cannot be copied: {exc.strerror}") from exc
            with closing(reading(pages)) as old, closing(sqlite3.connect(part.pages)) as new:
                old.backup(new)
        texts, (condition,) = Texts(part.texts), manifest.conditions
        try:
            for repeat in range(1, manifest.repeats + 1):
                key = EpisodeKey(recording.start.sample, condition.name, repeat)
                trace = TraceWriter(part.trace(key), key.name, clock, texts)
                _write(trace, recording, edits, manifest, repeat)
                trace.close()
        except OSError as exc:
            raise StorageError(f"cannot write to {part.path}: {exc.strerror}") from exc
        finally:
            texts.close()


def read_parent(folder: RunFolder) -> Episode:
    """The episode that the run's episodes were forked from, as it ended."""
    file = folder.path / PARENT
    try:
        return Episode.model_validate_json(folder.read(PARENT))
    except ValidationError as exc:
        raise DatasetError(file, None, first_problem(exc.errors())) from exc


def _write(
    trace: TraceWriter,
    recording: Recording,
    edits: Mapping[str, str],
    manifest: Manifest,
    repeat: int,
) -> None:
    (condition,), parent = manifest.conditions, manifest.parent
    assert parent is not None
    start = _fields(recording.start) | {
        "run": manifest.id,
        "condition": condition,
        "repeat": repeat,
        "model": manifest.model,
        "limits": manifest.limits,
        "parent": parent,
    }
    trace.write(EpisodeStarted, **start)
    for number, step in enumerate(recording.steps[: parent.step], start=1):
        trace.write(ModelCalled, **_fields(step.call), replayed=True)
        for event in step.results:
            fields = _fields(event)
            if number == parent.step and event.call.id in edits:
                output = edits[event.call.id]
                fields["result"] = event.result.model_copy(
                    update={"output": output, "error": None, "fault": None}
                )
                fields["output_tokens"] = fields["tokens_source"] = None
            trace.write(ToolCalled, **fields, replayed=True)


def _fields(event: Event) -> dict[str, Any]:
    """An event's own fields, unknown ones included."""
    common = {*Event.model_fields, "kind", "replayed"}
    values = {name: getattr(event, name) for name in type(event).model_fields if name not in common}
    return values | (event.model_extra or {})
