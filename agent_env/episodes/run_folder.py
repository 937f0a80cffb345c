"""A run on disk: the manifest, the samples, the traces, the scores."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from agent_env.episodes.trace.lines import BEGUN, is_finished
from agent_env.errors import ConfigError, DatasetError, StorageError, first_problem
from agent_env.permits import NOTHING, Permit
from agent_env.records.manifest import Manifest
from agent_env.records.safe_files import (
    LARGEST_SETTINGS,
    UnsafeFile,
    check_file,
    check_inside,
    read_file,
    replace_file,
    sync_path,
)
from agent_env.records.schema import Condition, MaterialTable, Sample, Score
from agent_env.records.trace_events import Event
from agent_env.tasks.features import settings_of_features
from agent_env.tasks.sample_files import parse_materials, parse_samples

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Stored = TypeVar("Stored", bound="DataclassInstance")

ROOM = 4 * 1024 * 1024
"""Bytes that must be free on the disk before a run starts."""
NOT_THERE = (
    "is not there. A served run keeps its questions in memory until it is over: the same "
    "`agent-env serve http`, or `agent-env serve mcp --http 0`, with the same --out goes on with "
    "it, and writes them when Ctrl-C ends it"
)
LOCK_TRIES = 5
LOCK_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """One attempt: sample, condition, repeat."""

    sample: str
    condition: str
    repeat: int

    @property
    def name(self) -> str:
        return f"{self.condition}/{self.sample}.{self.repeat}"


class RunFolder:
    """The files of one run. What was read of run.json, the samples and their tables is kept for as
    long as run.json is the same file; `change` changes it, here and on the disk."""

    permit: Permit = NOTHING
    """What may be reached for the run outside its folder, as far as trust was asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._manifest: Manifest | None = None
        self._read_from: tuple[int, int] | None = None
        """The file that `_manifest` was read from."""
        self._samples: dict[type[Sample], tuple[Sample, ...]] = {}
        self._materials: tuple[MaterialTable, ...] | None = None
        self._held: dict[str, bytes] = {}

    @property
    def pages(self) -> Path:
        return self.path / "pages.db"

    @property
    def texts(self) -> Path:
        return self.path / "texts.db"

    def key_of(self, trace: Path) -> str:
        """The episode of a trace file, by its path: CONDITION/SAMPLE.REPEAT."""
        return f"{trace.parent.name}/{trace.stem}"

    def trace(self, key: EpisodeKey) -> Path:
        return self.path / "episodes" / f"{key.name}.jsonl"

    def is_finished(self, key: EpisodeKey) -> bool:
        """Whether the episode has ended."""
        return is_finished(self.trace(key))

    def traces(self) -> Iterator[Path]:
        """All trace files, sorted, without those set aside."""
        yield from sorted((self.path / "episodes").glob("*/*.jsonl"))

    def misfit(self, trace: Path, run: str | None, events: Sequence[Event]) -> str | None:
        """Why these events cannot be this trace of this run; None if they can."""
        if not events:
            return None
        if events[0].episode != self.key_of(trace):
            return f"{trace}:1: is the trace of {events[0].episode}"
        traced_run = getattr(events[0], "run", None)
        if traced_run in (None, run) or run is None:
            return None
        return f"{trace}:1: is a trace of another run ({traced_run}, this one is {run})"

    def place(self, name: str) -> Path:
        """The path for this name in the folder; ConfigError if links lead elsewhere."""
        try:
            check_inside(self.path, self.path / name)
        except OSError as exc:
            raise ConfigError(f"cannot write to {self.path / name}: {exc.strerror}") from exc
        return self.path / name

    def set_aside(self, key: EpisodeKey) -> Path:
        """Moves a broken trace away, so that the episode can continue; returns its new path."""
        trace = self.trace(key)
        aside = self.place(f"broken/{key.condition}")
        aside.mkdir(parents=True, exist_ok=True)
        count = len(list(aside.glob(f"{key.sample}.{key.repeat}.*")))
        return trace.rename(aside / f"{key.sample}.{key.repeat}.{count + 1}.jsonl")

    def create(
        self,
        manifest: Manifest,
        samples: bytes,
        materials: bytes = b"",
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Creates the folder and its files before the first episode; `files`: by their paths in
        the folder."""
        if self.path.is_file():
            raise ConfigError(f"{self.path} is a file; --out takes a new folder")
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(self.path.iterdir()):
                raise ConfigError(f"{self.path} is not empty; name a new folder with --out")
            # Writes and removes as many bytes as a run needs at first
            probe = self.path / ".room"
            try:
                with probe.open("wb") as file:
                    file.write(b"\0" * ROOM)
                    file.flush()
                    os.fsync(file.fileno())
            finally:
                probe.unlink(missing_ok=True)
            (self.path / "episodes").mkdir(exist_ok=True)
            whole = {"samples.jsonl": samples, "materials.jsonl": materials, **(files or {})}
            whole["run.json"] = manifest.as_bytes()
            for name, data in whole.items():
                if name in self._held or (name == "materials.jsonl" and not materials):
                    continue
                (self.path / name).parent.mkdir(exist_ok=True)
                replace_file(self.path / name, data, mode=0o600, sync=True)  # traces need them
            sync_path(self.path.parent)
        except OSError as exc:
            raise ConfigError(f"cannot write to {self.path}: {exc.strerror}") from exc

    def discard(self) -> None:
        """Removes a folder that was just created, without episodes."""
        shutil.rmtree(self.path, ignore_errors=True)

    @property
    def manifest(self) -> Manifest:
        """run.json as it is now; ConfigError or DatasetError where there is none to read."""
        state = self.state
        if self._manifest is None or state != self._read_from:
            if self._manifest is not None:
                self.forget()
            file = self.path / "run.json"
            try:
                data = read_file(self.path, file, LARGEST_SETTINGS)
                self._manifest = Manifest.model_validate_json(data)
                settings_of_features(self._manifest.features, str(self.path))
            except (FileNotFoundError, NotADirectoryError):
                below = min(self.path.glob("*/run.json"), default=None)
                advice = f"; it is a folder of runs: name one, like {below.parent}" if below else ""
                raise ConfigError(f"{self.path} is not a run: it has no run.json{advice}") from None
            except UnsafeFile as exc:
                raise DatasetError(file, None, f"cannot be read: {exc.strerror}") from exc
            except OSError as exc:
                raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
            except ValidationError as exc:
                reason = f"not a run's manifest: {first_problem(exc.errors())}"
                raise DatasetError(file, None, reason) from exc
            self._read_from = state
        return self._manifest

    @property
    def state(self) -> tuple[int, int]:
        """The inode of run.json and when it was written, in ns; zeros if it is missing."""
        try:
            stat = (self.path / "run.json").stat()
        except OSError:
            return 0, 0
        return stat.st_ino, stat.st_mtime_ns

    def forget(self) -> None:
        """Drops what was read: run.json is another file now."""
        self._samples, self._materials = {}, None

    def check_pages(self, digest: str, index: str | None = None) -> None:
        """ConfigError if the run began with other pages or another index; notes both the first
        time."""
        initial = self.manifest.web_settings
        if initial.pages_digest is None:
            self.note_pages(digest, index)
        elif initial.index is not None and index is not None and initial.index != index:
            raise ConfigError(
                f"{self.path} began with pages searched by {initial.index}, and here {index} would "
                "search them; install or remove the extra `search`, or start a new run"
            )
        elif initial.pages_digest != digest:
            raise ConfigError(
                f"{self.path} began with other pages than its page store holds now; "
                "bring the old file back, or start a new run"
            )

    def note_pages(self, digest: str, index: str | None = None) -> None:
        """Writes the digest of the page store and the name of its index into run.json."""
        update = {"pages_digest": digest, "index": index}
        self.change(web_settings=self.manifest.web_settings.model_copy(update=update))

    def change(self, **update: object) -> None:
        """Replaces these fields of run.json, whole or not at all."""
        manifest = self.manifest.model_copy(update=update)
        self.write("run.json", manifest.as_bytes())
        self._manifest, self._read_from = manifest, self.state

    def write(self, name: str, data: bytes) -> None:
        """Writes or replaces a file in the folder, whole or not at all."""
        try:
            replace_file(self.path / name, data, mode=0o600)
        except OSError as exc:
            raise StorageError(f"cannot write {self.path / name}: {exc.strerror}") from exc

    def hold(self, files: Mapping[str, bytes]) -> None:
        """Keeps these files in memory: `create` does not write them, `release` does."""
        self._held = {name: data for name, data in files.items() if data}

    def release(self) -> None:
        """Writes what is held."""
        for name, data in self._held.items():
            self.write(name, data)
        self._held = {}

    def read(self, name: str) -> bytes:
        """The bytes of one of its files; DatasetError for an unsafe one."""
        if name in self._held:
            return self._held[name]
        file = self.path / name
        try:
            return read_file(self.path, file)
        except FileNotFoundError as exc:
            raise DatasetError(file, None, NOT_THERE) from exc
        except OSError as exc:
            raise DatasetError(file, None, f"cannot be read: {exc.strerror}") from exc

    def identity(self) -> str | None:
        """The run's identity; None without one, or without a manifest."""
        try:
            return self.manifest.id
        except (ConfigError, DatasetError):
            return None

    def samples_as(self, kind: type[Sample]) -> tuple[Sample, ...]:
        """The run's samples; DatasetError if the file was changed since."""
        if kind not in self._samples:
            file = self.path / "samples.jsonl"
            data = self.read(file.name)
            samples = parse_samples(file, data, kind)
            if digest(data) != self.manifest.samples_digest:
                raise DatasetError(file, None, "was changed after the run; its digest is another")
            self._samples[kind] = samples
        return self._samples[kind]

    def materials(self) -> tuple[MaterialTable, ...]:
        """The tables that the samples name; DatasetError if the file was changed since."""
        if self._materials is None:
            self._materials = self._read_materials()
        return self._materials

    def _read_materials(self) -> tuple[MaterialTable, ...]:
        expected = self.manifest.materials_digest
        if expected is None:
            return ()
        file = self.path / "materials.jsonl"
        data = self.read(file.name)
        tables = parse_materials(file, data)
        if digest(data) != expected:
            raise DatasetError(file, None, "was changed after the run; its digest is another")
        return tables

    def materials_bytes(self) -> bytes:
        """The bytes of materials.jsonl; empty without tables."""
        return b"" if self.manifest.materials_digest is None else self.read("materials.jsonl")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the run against other processes; ConfigError if one runs it."""
        try:
            check_file(self.path, self.path / ".lock")
            file = (self.path / ".lock").open("a")
        except OSError as exc:
            raise ConfigError(f"cannot lock {self.path}: .lock: {exc.strerror}") from exc
        with file:
            for tries_left in range(LOCK_TRIES, 0, -1):
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if tries_left == 1:
                        words = f"{self.path} is being run already, by this process or another"
                        raise ConfigError(words) from None
                    time.sleep(LOCK_PAUSE_S)
            yield

    @property
    def is_locked(self) -> bool:
        """Whether a process runs this run. The check takes a shared lock for an instant: `locked`
        tries more than once."""
        try:
            check_file(self.path, self.path / ".lock")
            with (self.path / ".lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # never run, or not for us to read
            return False
        return False

    def write_scores(self, scores: Sequence[Score]) -> None:
        """Replaces scores.jsonl, whole or not at all."""
        lines = b"".join(score.model_dump_json().encode() + b"\n" for score in scores)
        self.write("scores.jsonl", lines)


def stored_as(kind: type[Stored], stored: Mapping[str, Any], field: str) -> Stored:
    """The dataclass stored in this field of run.json; ConfigError for an unknown name in it."""
    known = [each.name for each in fields(kind)]
    if unknown := [name for name in stored if name not in known]:
        raise ConfigError(f"run.json: {field} has '{unknown[0]}'; known: {', '.join(known)}")
    return kind(**stored)


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def episode_seed(model_seed: int | None, key: EpisodeKey) -> int | None:
    """31 bits from the run's seed, the sample and the repeat; equal under all conditions, which
    keeps pairs comparable."""
    if model_seed is None:
        return None
    digest = hashlib.sha256(f"{model_seed}/{key.sample}/{key.repeat}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def trace_file(path: Path) -> Path:
    """The trace at this path, also if it is written as RUN/CONDITION/SAMPLE.REPEAT."""
    run = path.parent.parent
    if path.exists() or not (run / "run.json").exists():
        return path
    return run / "episodes" / path.parent.name / f"{path.name}.jsonl"


Pending = Iterator[tuple[EpisodeKey, Sample, Condition]]


def pending(
    folder: RunFolder,
    samples: Sequence[Sample],
    conditions: Sequence[Condition],
    repeats: int,
) -> Pending:
    """The episodes that are not finished, failed ones too, in the order of repeats and samples."""
    for repeat in range(1, repeats + 1):
        for sample in samples:
            for condition in conditions:
                key = EpisodeKey(sample.id, condition.name, repeat)
                if not is_finished(folder.trace(key)):
                    yield key, sample, condition


def begun_in(run: RunFolder) -> dict[str, list[str]]:
    """When each episode of a run was begun; empty for a run that has no list of that."""
    times: dict[str, list[str]] = {}
    with suppress(DatasetError):
        for line in run.read(BEGUN).decode(errors="replace").splitlines():
            at, _, name = line.partition(" ")
            times.setdefault(name, []).append(at)
    return times
