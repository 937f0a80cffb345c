"""Episodes and scores from traces, which can be computed again at any time, and new scores against
earlier ones with the scorers of both.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from pydantic import ValidationError

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.fold import Recording, fold
from agent_env.episodes.trace.lines import read_trace
from agent_env.episodes.trace.texts import Texts
from agent_env.errors import DatasetError, ReplayError
from agent_env.protocols import Scorer
from agent_env.records.schema import Episode, Record, Sample, Score
from agent_env.records.trace_events import Event
from agent_env.tasks.task import Task

READERS = ("agent_env.scoring.", "agent_env.features.", "agent_env.families.")


def traces_of(
    folder: RunFolder, on_broken: Callable[[str], None], names: Collection[str] | None = None
) -> Iterator[tuple[str, list[Event]]]:
    """The events of the episodes CONDITION/SAMPLE.REPEAT of these names, by default of all, in the
    order of their files; skips unreadable traces and calls `on_broken` with the reason."""
    texts, run = Texts(folder.texts), folder.identity()
    try:
        for file in folder.traces():
            if names is not None and folder.key_of(file) not in names:
                continue
            try:
                events = read_trace(file, texts)
                problem = folder.misfit(file, run, events)
            except DatasetError as exc:
                problem = str(exc)
            if problem is not None:
                on_broken(problem)
            elif events:  # an empty file: killed before the first event
                yield folder.key_of(file), events
    finally:
        texts.close()


def recordings(
    folder: RunFolder, on_broken: Callable[[str], None], names: Collection[str] | None = None
) -> Iterator[tuple[str, Recording]]:
    """The same as steps."""
    for name, events in traces_of(folder, on_broken, names):
        try:
            recording = Recording.of(events)
        except ReplayError as exc:
            on_broken(f"{name}: {exc}")
        else:
            yield name, recording


def episodes_of(folder: RunFolder, on_broken: Callable[[str], None]) -> Iterator[Episode]:
    """The episodes of a run, without those of unreadable traces."""
    return (fold(events) for _, events in traces_of(folder, on_broken))


def scored_episodes(
    folder: RunFolder, task: Task, samples: Sequence[Sample], on_broken: Callable[[str], None]
) -> Iterator[tuple[Episode, Score]]:
    """Every episode with its score, from the traces and samples alone; writes nothing."""
    by_id = {sample.id: sample for sample in samples}
    for episode in episodes_of(folder, on_broken):
        sample = by_id.get(episode.sample)
        if sample is None:
            raise DatasetError(folder.path / "samples.jsonl", None, f"no sample '{episode.sample}'")
        yield episode, task.score(sample, episode)


def score_run(
    folder: RunFolder, task: Task, on_broken: Callable[[str], None]
) -> list[tuple[Episode, Score]]:
    """The same, read whole."""
    return list(scored_episodes(folder, task, folder.samples_as(task.sample_type), on_broken))


class ScorerVersion(Record):
    """The code that computed scores."""

    scorer: str
    """Module and name."""
    source: str
    """Digest of the scorer's module and of those it reads by, 12 hexadecimal digits. Another
    digest need not mean other scores; the same digest means the same code."""

    def __str__(self) -> str:
        return f"{self.scorer} {self.source}"


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """An episode with a changed score."""

    before: Score
    now: Score

    @property
    def episode(self) -> str:
        return f"{self.now.condition}/{self.now.sample}.{self.now.repeat}"

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        verdicts = {"before": self.before, "now": self.now}
        fields = {"outcome", "answer", "rule", "metrics"}
        return {"episode": self.episode} | {
            k: v.model_dump(include=fields) for k, v in verdicts.items()
        }


@dataclass(frozen=True, slots=True)
class Rescoring:
    """New scores against earlier ones."""

    scorer: ScorerVersion
    earlier: ScorerVersion | None
    """None without earlier scores, or if their scorer is unknown."""
    compared: int
    """Episodes that were scored before and are now."""
    changed: tuple[ScoreChange, ...]

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        return {
            "scorer": self.scorer.model_dump(),
            "earlier_scorer": self.earlier.model_dump() if self.earlier else None,
            "compared": self.compared,
            "changed": [change.as_json() for change in self.changed],
        }


def version_of(scorer: Scorer) -> ScorerVersion:
    """The scorer's name and the digest of its sources: its module, and those it reads by."""
    module = inspect.getmodule(scorer)
    name = getattr(scorer, "__qualname__", type(scorer).__qualname__)
    whole = sha256(b"" if getattr(module, "__file__", None) else _source(scorer))
    for each in sorted(_modules_of(module), key=lambda each: each.__name__):
        if place := getattr(each, "__file__", None):
            whole.update(Path(place).name.encode() + b"\0" + Path(place).read_bytes())
    where = module.__name__ if module is not None else "unknown"
    return ScorerVersion(scorer=f"{where}.{name}", source=whole.hexdigest()[:12])


def _modules_of(module: ModuleType | None) -> set[ModuleType]:
    """The module, and those of families, features and `scoring` whose functions and classes it
    names, or one that it names so."""
    modules, queue = set[ModuleType](), [module]
    while queue:
        if (each := queue.pop()) is not None and each not in modules:
            modules.add(each)
            names = {str(getattr(value, "__module__", "")) for value in vars(each).values()}
            queue += [sys.modules.get(name) for name in names if name.startswith(READERS)]
    return modules


def _source(scorer: Scorer) -> bytes:
    """Of a scorer without a file, as in a notebook."""
    try:
        return inspect.getsource(scorer).encode()
    except (OSError, TypeError):
        return b""


@dataclass(frozen=True, slots=True)
class EarlierScores:
    """The contents of scores.jsonl before a new scoring."""

    scores: dict[tuple[str, str, int], Score]
    scorer: ScorerVersion | None


def earlier_scores(folder: RunFolder) -> EarlierScores:
    """The existing scores; unreadable lines count as not scored."""
    return EarlierScores({_key(score): score for score in _stored_scores(folder)}, _made_by(folder))


def against(earlier: EarlierScores, scores: Sequence[Score], scorer: Scorer) -> Rescoring:
    """Compares new with earlier scores. An episode that was unfinished, or a metric that was
    missing, is no change."""
    pairs = [(earlier.scores[_key(now)], now) for now in scores if _key(now) in earlier.scores]
    ended = [(old, now) for old, now in pairs if old.outcome in ("read", "unreadable")]
    changed = tuple(ScoreChange(old, now) for old, now in ended if old != _as_before(old, now))
    return Rescoring(version_of(scorer), earlier.scorer, len(ended), changed)


def _as_before(old: Score, now: Score) -> Score:
    """The new score with the earlier one's metrics alone."""
    metrics = {name: value for name, value in now.metrics.items() if name in old.metrics}
    return now.model_copy(update={"metrics": metrics})


def keep_version(folder: RunFolder, version: ScorerVersion) -> None:
    """Write which scorer made scores.jsonl, into scored.json beside it."""
    folder.write("scored.json", (version.model_dump_json() + "\n").encode())


def _key(score: Score) -> tuple[str, str, int]:
    return score.condition, score.sample, score.repeat


def _stored_scores(folder: RunFolder) -> list[Score]:
    try:
        lines = folder.read("scores.jsonl").splitlines()
    except DatasetError:
        return []
    scores: list[Score] = []
    for line in lines:
        try:
            scores.append(Score.model_validate_json(line))
        except ValidationError:
            continue
    return scores


def _made_by(folder: RunFolder) -> ScorerVersion | None:
    try:
        return ScorerVersion.model_validate(json.loads(folder.read("scored.json")))
    except (DatasetError, ValueError, RecursionError):
        return None
