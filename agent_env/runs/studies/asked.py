"""What a folder's run.json and study.toml ask for outside it; only reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.runs.run import Run
from agent_env.runs.studies.folder import RECORD, StudyFolder
from agent_env.runs.studies.read import FILE
from agent_env.runs.study import runs_below
from agent_env.wiring.trust import is_known, outside_settings, with_plan


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing that a file says and that reaches outside."""

    file: str
    what: str
    """As `resume` lists it."""
    reach: str
    """The kinds, such as `address, key`."""
    trusted: bool
    """Whether this user made it or allowed it."""

    def __str__(self) -> str:
        """Whole, however long: what is left out could be an address's host."""
        return f"{self.file}: {self.what} [{self.reach}] {'trusted' if self.trusted else 'asks'}"


def asks_of(folder: Path) -> list[Ask]:
    """Of the folder's study and of the runs in it; ConfigError where there is neither."""
    asks, runs = list[Ask](), list(runs_below(folder)) if folder.is_dir() else []
    is_study = (folder / FILE).exists() or (folder / RECORD).exists()
    if not runs and not is_study:
        raise ConfigError(f"{folder} is neither a run nor a study and holds none")
    if (folder / FILE).exists():
        study = StudyFolder(folder)
        trusted = study.record is not None and not study.is_foreign
        asks += [Ask(FILE, text, reach, trusted) for text, reach in study.plan.outside()]
    for path in runs:
        run = Run.open(path)
        name = str((path / "run.json").relative_to(folder))
        for each in with_plan(run, outside_settings(path, run.manifest)):
            kinds = dict.fromkeys(reach.value for reach, _ in each.grants)
            asks.append(Ask(name, str(each), ", ".join(kinds), is_known(run, each)))
    return asks
