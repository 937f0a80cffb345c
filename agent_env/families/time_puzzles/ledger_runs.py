"""The scores of runs under each reading of the convention ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.families.time_puzzles.audit_report import AuditReport
from agent_env.families.time_puzzles.ledger import ReadingScore, scores_by_reading
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.runs.run import Run
from agent_env.tasks.conditions import wording_of


@dataclass(frozen=True, slots=True)
class RunReadingScore:
    """A condition's score under one reading."""

    run: str
    condition: str
    score: ReadingScore

    def as_json(self) -> dict[str, object]:
        """The row of a table."""
        return {"run": self.run, "condition": self.condition, **self.score.as_json()}


def scores_of_runs(
    folders: Sequence[Path],
    puzzles: Sequence[TimePuzzle],
    report: AuditReport,
    note: Callable[[str], None],
) -> list[RunReadingScore]:
    """Every condition of the runs under every reading; failed episodes are left out. Raises
    ConfigError for a run without any of the puzzles."""
    return [row for folder in folders for row in _scores_of(folder, puzzles, report, note)]


def _scores_of(
    folder: Path, puzzles: Sequence[TimePuzzle], report: AuditReport, note: Callable[[str], None]
) -> list[RunReadingScore]:
    from agent_env.episodes.results import score_run

    run, known = Run.open(folder), {puzzle.id for puzzle in puzzles}
    answers: dict[str, dict[str, list[tuple[str, ...] | None]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for episode, score in score_run(run, run.task, lambda reason: note(f"left out: {reason}")):
        if episode.sample in known and score.outcome in ("read", "unreadable"):
            answers[episode.condition][episode.sample].append(score.answer)
    if not answers:
        raise ConfigError(f"{folder} has no answer to a puzzle of this file; ids are compared")
    return [
        RunReadingScore(folder.name, condition, score)
        for condition, own in answers.items()
        for score in scores_by_reading(puzzles, report, own, wording_of(condition))
    ]
