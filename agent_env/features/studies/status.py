"""What each run of a study has, from its traces; begins nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from agent_env.sdk.errors import AgentEnvError
from agent_env.sdk.run import Run

if TYPE_CHECKING:
    from pathlib import Path

    from agent_env.features.studies.folder import StudyFolder
    from agent_env.sdk.inside import Spending
    from agent_env.sdk.results import Estimate, ResultTable


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Where one run of a study stands."""

    run: str
    """TASK/MODEL."""
    state: str
    """`not begun`, `running`, `done`, `unfinished`, or why it cannot be read."""
    finished: int = 0
    failed: int = 0
    """Episodes that ended without an answer; resume runs them again."""
    planned: int = 0
    metric: str = ""
    scores: Mapping[str, Estimate] = field(default_factory=dict)
    """By condition: the mean of the metric over samples."""
    spent: Spending | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def status_of(study: StudyFolder) -> list[RunStatus]:
    """A row for each run that the plan asks for, in its order."""
    from agent_env.sdk.inside import SoFar

    rows = []
    for place in study.places():
        run = Run(place.path)
        try:
            if not place.is_begun:
                rows.append(RunStatus(place.name, "not begun"))
                continue
            planned, so_far = run.manifest.planned_episodes, SoFar(run)
            ends = Counter(ending for _, ending in so_far.read())
        except AgentEnvError as exc:
            rows.append(RunStatus(place.name, str(exc)))
            continue
        failed = ends["failed"]
        finished = ends.total() - failed - ends[""]
        state = "done" if finished == planned else "unfinished"
        state = "running" if run.is_locked else state
        scores = so_far.metric, so_far.estimates, so_far.spent
        rows.append(RunStatus(place.name, state, finished, failed, planned, *scores))
    return rows


def status_table(folder: Path, rows: Sequence[RunStatus]) -> ResultTable:
    from agent_env.sdk.inside import scores_text
    from agent_env.sdk.results import Column, ResultTable

    columns = (
        Column("run"), Column("state"), Column("finished"), Column("of"), Column("failed"),
        Column("metric", rank=1), Column("score"), Column("tokens", rank=2),
        Column("USD", 4, rank=2),
    )  # fmt: skip
    cells = tuple(
        (row.run, row.state, row.finished, row.planned, row.failed, row.metric,
         scores_text(row.scores), getattr(row.spent, "tokens", None),
         getattr(row.spent, "cost_usd", None))
        for row in rows
    )  # fmt: skip
    return ResultTable("status", f"study {folder}", columns, cells)


def status_json(folder: Path, rows: Sequence[RunStatus]) -> dict[str, object]:
    return {"study": str(folder), "runs": [row.as_json() for row in rows]}
