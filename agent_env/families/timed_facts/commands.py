"""What the commands on questions of timed facts do: inspect a file, draw from it, tell tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError

if TYPE_CHECKING:
    from agent_env.families.timed_facts.layouts import CellScore
    from agent_env.families.timed_facts.sample import TimedQuestion

FAMILIES = ("tempreason", "timeqa")


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is in a file of questions."""

    questions: int
    cells: dict[str, int]
    facts: int
    unread: tuple[tuple[str, str], ...]
    """By sample: statements that state a time and are no facts, with the reason."""
    solved: dict[str, int]
    """By cell: questions whose words and facts could be read."""
    agree: dict[str, int]
    """Of those, where the solver gives the stated answer."""
    differ: tuple[str, ...]
    """Ids of the others."""

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def read_questions(file: Path) -> tuple[TimedQuestion, ...]:
    """The questions of a file, own or published; ConfigError where it holds none of ours."""
    from agent_env.episodes.run_folder import read_samples
    from agent_env.families.timed_facts.sample import TimedQuestion
    from agent_env.wiring.registry import load_family

    for name in FAMILIES:
        if (made := load_family(name).read_foreign(file)) is not None:
            return made.samples  # type: ignore[return-value]  # both families make these
    return read_samples(file, TimedQuestion)  # type: ignore[return-value]  # read as such


def inspect_file(file: Path) -> Inspected:
    """Counts, what could not be read, and whether the solver agrees with the stated answers."""
    from agent_env.families.timed_facts.published import solver_agrees

    questions = read_questions(file)
    solved: Counter[str] = Counter()
    agree: Counter[str] = Counter()
    differ: list[str] = []
    for asked in questions:
        verdict = solver_agrees(asked)
        solved[asked.cell] += verdict is not None
        agree[asked.cell] += verdict is True
        if verdict is False:
            differ.append(asked.id)
    return Inspected(
        questions=len(questions),
        cells=dict(sorted(Counter(asked.cell for asked in questions).items())),
        facts=sum(len(asked.facts) for asked in questions),
        unread=tuple((asked.id, text) for asked in questions for text in asked.unread),
        solved=dict(sorted(solved.items())),
        agree=dict(sorted(agree.items())),
        differ=tuple(differ),
    )


def draw_cells(file: Path, per_cell: int, seed: int, out: Path) -> dict[str, int]:
    """Writes so many questions of each cell, drawn by the seed; gives how many of each there
    are, fewer where the file has fewer."""
    from agent_env.episodes.run_folder import samples_bytes, write_whole

    cells: dict[str, list[TimedQuestion]] = defaultdict(list)
    for asked in read_questions(file):
        cells[asked.cell].append(asked)
    rng = Random(f"draw/{seed}")
    drawn = {
        cell: rng.sample(found, min(per_cell, len(found))) for cell, found in sorted(cells.items())
    }
    write_whole(out, samples_bytes([asked for found in drawn.values() for asked in found]))
    return {cell: len(found) for cell, found in drawn.items()}


def cell_scores(runs: Sequence[Path], note: Callable[[str], None]) -> list[CellScore]:
    """The scored episodes of runs of these families that came to an end."""
    from agent_env.families.timed_facts.layouts import CellScore
    from agent_env.families.timed_facts.sample import timed
    from agent_env.runs.run import Run
    from agent_env.runs.score import score_folder

    found: list[CellScore] = []
    for path in runs:
        run = Run(path)
        if (task := run.manifest().task) not in FAMILIES:
            raise ConfigError(f"{path} is a run of {task}, not of {' or '.join(FAMILIES)}")
        manifest, scored = run.manifest(), score_folder(run, note)
        samples = {s.id: timed(s) for s in run.samples}
        strategies = {c.name: f"{c.strategy} · {c.name}" for c in manifest.conditions}
        for episode, score in scored:
            if score.outcome in ("read", "unreadable"):
                row = f"{strategies[episode.condition]} · {manifest.model}"
                found.append(CellScore(row, samples[score.sample].cell, dict(score.metrics)))
    return found
