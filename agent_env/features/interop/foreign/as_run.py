"""A log of another tool as a run folder, its transcripts as traces.

Nothing is made up: what the source does not tell is None, and scores are the source's own. The
folder appears whole, or not at all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex

from agent_env.features.interop.foreign.log import (
    CONDITION,
    ForeignEpisode,
    ForeignLog,
    ImportedSample,
    Transcript,
    names_of,
    odd_values,
)
from agent_env.features.interop.foreign.read import read_logs
from agent_env.sdk.errors import ConfigError, DatasetError
from agent_env.sdk.records import (
    Condition,
    ImportedResult,
    Manifest,
    Message,
    Reply,
    StopReason,
    ToolResult,
    Usage,
    new_folder,
)
from agent_env.sdk.run import Run, score_folder
from agent_env.sdk.trace import (
    EpisodeFailed,
    EpisodeFinished,
    EpisodeKey,
    EpisodeStarted,
    ModelCalled,
    Texts,
    ToolCalled,
    TraceWriter,
    samples_bytes,
)

STOPS: dict[str, StopReason] = {
    "context": "context", "time": "time", "working": "time", "token": "tokens", "cost": "cost",
    "message": "steps", "turn": "steps",
}  # fmt: skip
"""Limits of Inspect as our reasons; any other becomes `other`."""


@dataclass(frozen=True, slots=True)
class ImportedRun:
    path: Path
    log: ForeignLog
    episodes: int
    transcripts: int
    """Of the episodes, those with their conversation."""

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        log = self.log
        return {
            "run": str(self.path),
            "log": str(log.file),
            "tool": log.source,
            "task": log.task,
            "model": log.model,
            "metrics": list(log.metrics),
            "episodes": self.episodes,
            "transcripts": self.transcripts,
        }


def import_logs(
    logs: Sequence[Path], out: Path, note: Callable[[str], None], columns: Path | None = None
) -> list[ImportedRun]:
    """A run of one log; of several, runs in the folder `out`. Files and `columns` as of
    `read_logs`. ConfigError where `out` holds something."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} is there already and is not empty; name a new folder with --out")
    read = read_logs(logs, columns, with_transcripts=True)
    names = [""] if len(read) == 1 else _folder_names(names_of(read))
    try:
        with new_folder(out) as part:
            runs = []
            for log, name in zip(read, names, strict=True):
                with odd_values(log.file):
                    runs.append(_Import(log, note).write(Run(part / name), out / name))
            return runs
    except OSError as exc:
        raise ConfigError(f"cannot write to {out}: {exc.strerror}") from exc


def _folder_names(names: Sequence[str]) -> list[str]:
    """The names as folders, where these are told apart without digests."""
    plain = [re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:100] for name in names]
    is_clear = all(plain) and len(set(plain)) == len(names)
    return plain if is_clear else [file_name(name) for name in names]


def file_name(text: str) -> str:
    """The text where it can name a file of a run, else what of it can, with a digest."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}", text):
        return text
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:100]
    return f"{plain or 'sample'}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass(slots=True)
class _Import:
    """One log on its way into a folder."""

    log: ForeignLog
    note: Callable[[str], None]
    run: str = field(default_factory=lambda: token_hex(6))
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    samples: dict[str, ImportedSample] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    """Names, in their order."""
    problems: list[str] = field(default_factory=list)

    def write(self, folder: Run, place: Path) -> ImportedRun:
        """The run, which will be at `place`; DatasetError for a log without an episode."""
        log, texts = self.log, Texts(folder.texts)
        count = whole = repeats = 0
        folder.path.mkdir(exist_ok=True)
        try:
            for episode in log.stream(self.problems.append) if log.stream else log.episodes:
                if self._write_episode(folder, episode, texts):
                    count, whole = count + 1, whole + (episode.transcript is not None)
                    repeats = max(repeats, episode.repeat)
        finally:
            texts.close()
        if not count:
            raise DatasetError(log.file, None, "holds no episode that can be read")
        if whole < count:
            self.problems.append(f"{count - whole} of {count} episodes have no conversation")
        every = [self._sample(name, None) for name in {**log.samples, **self.samples}]
        data = samples_bytes(every)
        manifest = self._manifest(repeats, hashlib.sha256(data).hexdigest())
        folder.write("samples.jsonl", data)
        folder.write("run.json", manifest.as_bytes())
        score_folder(Run(folder.path), self.problems.append)
        notes = (*log.notes, *self.problems)
        for text in notes:
            self.note(f"{log.file}: {text}")
        return ImportedRun(place, log, count, whole)

    def _write_episode(self, folder: Run, episode: ForeignEpisode, texts: Texts) -> bool:
        """Writes the trace; false for a second one of the same sample and repeat."""
        sample = self._sample(episode.sample, episode.transcript)
        key = EpisodeKey(sample.id, CONDITION, episode.repeat)
        if folder.trace(key).exists():
            self.problems.append(
                f"sample {episode.sample} has repeat {episode.repeat} twice; the first is kept"
            )
            return False
        clock = _Clock(self.at)
        trace = TraceWriter(folder.trace(key), key.name, clock, texts)
        try:
            self._write_events(trace, clock, episode, sample)
        finally:
            trace.close()
        return True

    def _sample(self, name: str, transcript: Transcript | None) -> ImportedSample:
        if name not in self.samples or (transcript and self.samples[name].question is None):
            gold = transcript.gold if transcript else None
            self.samples[name] = ImportedSample(
                id=file_name(name),
                task=self.log.task,
                gold=(gold,) if isinstance(gold, str) else gold or (),
                source_id=name,
                question=transcript.question if transcript else None,
                metadata=dict(self.log.samples.get(name, {})),
                content=self.log.contents.get(name, ""),
            )
        return self.samples[name]

    def _write_events(
        self, trace: TraceWriter, clock: _Clock, episode: ForeignEpisode, sample: ImportedSample
    ) -> None:
        transcript = episode.transcript or Transcript(())
        clock.now = transcript.began_at or clock.now
        prompt, steps, rest = _steps(transcript)
        names = [tool.name for tool in transcript.tools]
        names += [call.name for step in steps for call in step.reply.tool_calls]
        self.tools |= dict.fromkeys(names)
        trace.write(
            EpisodeStarted,
            run=self.run,
            sample=sample.id,
            condition=Condition(name=CONDITION, tools=tuple(dict.fromkeys(names))),
            repeat=episode.repeat,
            model=self.log.model,
            messages=prompt,
            tools=transcript.tools,
            imported=ImportedResult(
                metrics=dict(episode.metrics),
                answer=transcript.answer,
                output=transcript.output,
                used=dict(episode.used),
                stop_reason=episode.stop_reason,
            ),
        )
        for at, step in enumerate(steps):
            _write_step(trace, clock, step, at, transcript)
        if episode.failure is not None:
            error, message = _failure(episode.failure, self.log.source)
            trace.write(EpisodeFailed, error=error, message=message, added=rest)
            return
        reason = episode.stop_reason
        trace.write(
            EpisodeFinished,
            answer=steps[-1].reply.content if steps else transcript.answer,
            stop_reason="answered" if reason is None else STOPS.get(reason, "other"),
            added=rest,
        )

    def _manifest(self, repeats: int, samples_digest: str) -> Manifest:
        log = self.log
        return Manifest(
            id=self.run,
            task=log.task,
            model=log.model,
            conditions=(Condition(name=CONDITION, tools=tuple(self.tools)),),
            repeats=repeats,
            limits={},
            prompt="",
            options=dict(log.settings),
            seed=None,
            dataset=log.file.name,
            samples=len(self.samples),
            samples_digest=samples_digest,
            concurrency=1,
            versions={},
            created_at=self.at.isoformat(timespec="seconds"),
            imported=log.origin.model_copy(
                update={
                    "digest": hashlib.sha256(log.file.read_bytes()).hexdigest()
                    if log.file.is_file()
                    else None,
                    "notes": (*log.notes, *self.problems),
                }
            ),
        )


@dataclass(slots=True)
class _Clock:
    """The time of the next event, as far as the source tells times."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def go(self, seconds: float | None) -> None:
        self.now += timedelta(seconds=seconds or 0.0)


@dataclass(frozen=True, slots=True)
class _Step:
    """A message of the model's, with what came in before it and the results of its calls."""

    reply: Message
    added: tuple[Message, ...]
    results: dict[str, Message] = field(default_factory=dict)
    """By call id."""


def _steps(transcript: Transcript) -> tuple[tuple[Message, ...], list[_Step], tuple[Message, ...]]:
    """The prompt, the steps, and the messages after the last. A result that no call of the step
    asks for stays a message."""
    messages = transcript.messages
    first = transcript.prompt
    if first is None:
        replies = (at for at, message in enumerate(messages) if message.role == "assistant")
        first = next(replies, len(messages))
    steps: list[_Step] = []
    added: list[Message] = []
    for message in messages[first:]:
        if message.role == "assistant":
            steps.append(_Step(message, tuple(added)))
            added = []
            continue
        waiting = {call.id for call in steps[-1].reply.tool_calls} if steps and not added else set()
        name = message.tool_call_id
        if message.role == "tool" and name in waiting and name not in steps[-1].results:
            steps[-1].results[name] = message
        else:
            added.append(message)
    return messages[:first], steps, tuple(added)


def _write_step(
    trace: TraceWriter, clock: _Clock, step: _Step, at: int, transcript: Transcript
) -> None:
    usage = transcript.usages[at] if at < len(transcript.usages) else None
    latency = transcript.latencies_s[at] if at < len(transcript.latencies_s) else None
    clock.go(latency)
    trace.write(
        ModelCalled,
        request="",
        added=step.added,
        reply=Reply(message=step.reply, usage=usage or Usage(), model=transcript.model),
        latency_s=latency,
    )
    for call in step.reply.tool_calls:
        if (result := step.results.get(call.id)) is None:
            continue
        duration = transcript.durations_s.get(call.id)
        clock.go(duration)
        error = transcript.tool_errors.get(call.id)
        trace.write(
            ToolCalled,
            call=call,
            result=ToolResult(output=result.content, error=error),
            duration_s=duration,
        )


def _failure(text: str, source: str) -> tuple[str, str]:
    """The error's class and its message, as far as the text tells them apart."""
    match = re.match(r"([A-Za-z_][\w.]*)(?:: |\((.*)\)$)", text)
    if match is None:
        return source.split()[0], text
    return match[1], (match[2] or text[match.end() :]).strip("'\"")
