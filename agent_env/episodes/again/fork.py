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

from agent_env.episodes.again.tape import Recording, Step
from agent_env.episodes.run_folder import EpisodeKey, RunFolder, digest, samples_bytes
from agent_env.episodes.trace.fold import fold
from agent_env.episodes.trace.texts import Texts
from agent_env.episodes.trace.writer import Clock, TraceWriter
from agent_env.errors import ConfigError, DatasetError, first_problem
from agent_env.records.manifest import Manifest
from agent_env.records.safe_files import check_database, new_folder
from agent_env.records.schema import Episode, Sample
from agent_env.records.trace_events import EpisodeStarted, Event, ModelCalled, Parent, ToolCalled
from agent_env.web.store_file import reading

PARENT = "parent.json"
"""The parent as it ended, in the fork's folder."""


def read_edits(edit: Path | Mapping[str, str], step: Step) -> dict[str, str]:
    """New tool results by call id, from call id, or number of the call from 1, to text: as a JSON
    object in a file, or as a mapping. A file with another text is for the step's only call."""
    ids = [event.call.id for event in _in_order(step)]
    if isinstance(edit, Mapping):
        return {_call_id("edit", str(name), ids): str(value) for name, value in edit.items()}
    file = edit
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"cannot read {file}: {getattr(exc, 'strerror', None) or exc}") from exc
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        if len(ids) != 1:
            raise ConfigError(
                f"{file}: the step has {len(ids)} tool results; write a JSON object with the ids "
                f"of those to replace ({', '.join(ids) or 'there are none'})"
            )
        return {ids[0]: text}
    return {_call_id(file, str(name), ids): str(value) for name, value in given.items()}


def _call_id(file: Path | str, name: str, ids: Sequence[str]) -> str:
    if name in ids:
        return name
    if name.isdecimal() and 1 <= int(name) <= len(ids):
        return ids[int(name) - 1]
    raise DatasetError(file, None, f"no call '{name}' in that step; it has {', '.join(ids)}")


def _in_order(step: Step) -> list[ToolCalled]:
    order = [call.id for call in step.reply.message.tool_calls]
    return sorted(step.results, key=lambda e: order.index(e.call.id) if e.call.id in order else -1)


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


def make_fork(
    folder: RunFolder,
    manifest: Manifest,
    recording: Recording,
    edits: Mapping[str, str],
    sample: Sample,
    materials: bytes,
    pages: Path,
    clock: Clock,
    files: Mapping[str, bytes] | None = None,
) -> None:
    """Create the run of the forks, `manifest.repeats` of them; it appears whole or not at all.
    `manifest` names the parent, the model, the one condition; `files` by their paths in the run."""
    if folder.path.exists() and any(folder.path.iterdir()):
        raise ConfigError(f"{folder.path} is not empty; name a new folder with --out")
    samples = samples_bytes([sample])
    asked = {"samples_digest": digest(samples), "samples": 1}
    with new_folder(folder.path) as path:
        part = RunFolder(path)
        part.create(manifest.model_copy(update=asked), samples, materials, files)
        parent: Episode = fold(recording.events)
        part.write(PARENT, (parent.model_dump_json(indent=2) + "\n").encode())
        if pages.exists():
            try:
                check_database(pages.parent, pages)
            except OSError as exc:
                raise DatasetError(pages, None, f"cannot be copied: {exc.strerror}") from exc
            _copy_database(pages, part.pages)
        _write_prefixes(part, sample, manifest, recording, edits, clock)


def _write_prefixes(
    run: RunFolder,
    sample: Sample,
    manifest: Manifest,
    recording: Recording,
    edits: Mapping[str, str],
    clock: Clock,
) -> None:
    """The beginning of each fork's trace."""
    texts = Texts(run.texts)
    try:
        for repeat in range(1, manifest.repeats + 1):
            key = EpisodeKey(sample.id, manifest.conditions[0].name, repeat)
            trace = TraceWriter(run.trace(key), key.name, clock, texts)
            _write_prefix(trace, key, manifest, recording, edits)
            trace.close()
    finally:
        texts.close()


def read_parent(folder: RunFolder) -> Episode:
    """The episode that the run's episodes were forked from, as it ended."""
    file = folder.path / PARENT
    try:
        return Episode.model_validate_json(folder.read(PARENT))
    except ValidationError as exc:
        raise DatasetError(file, None, first_problem(exc.errors())) from exc


def _write_prefix(
    trace: TraceWriter,
    key: EpisodeKey,
    manifest: Manifest,
    recording: Recording,
    edits: Mapping[str, str],
) -> None:
    parent: Parent | None = manifest.parent
    assert parent is not None  # a fork's manifest names it
    start = _fields(recording.start) | {
        "run": manifest.id,
        "condition": manifest.conditions[0],
        "repeat": key.repeat,
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
    own = {name: getattr(event, name) for name in type(event).model_fields if name not in common}
    return own | (event.model_extra or {})


def _copy_database(source: Path, target: Path) -> None:
    with closing(reading(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
