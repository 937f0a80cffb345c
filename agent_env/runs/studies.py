"""Studies, as far as runs know them, which a feature reads; and what a folder asks for outside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent_env.errors import ConfigError
from agent_env.registry import hook_or_none
from agent_env.runs.run import Run
from agent_env.runs.study import runs_below
from agent_env.wiring.trust import is_known, outside_settings, with_plan

if TYPE_CHECKING:
    from agent_env.runs.options.run_options import ResumeOptions


class Studies(Protocol):
    @staticmethod
    def resume(path: Path, options: ResumeOptions) -> bool:
        """Goes on with the study that the path is, or with its runs below the path; False where it
        belongs to none, or to one that this user did not begin."""

    @staticmethod
    def asks_of(folder: Path) -> list[Ask] | None:
        """What the study in this folder asks for outside; None where there is none."""

    @staticmethod
    def contrasts_of(runs: Iterable[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The contrasts that the studies of these runs planned at their start, and later ones."""


def studies() -> Studies | None:
    """The reader; None where it was left out, and a study is a folder of runs."""
    return hook_or_none("studies")


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
    runs = list(runs_below(folder)) if folder.is_dir() else []
    reader = studies()
    of_study = None if reader is None else reader.asks_of(folder)
    if not runs and of_study is None:
        raise ConfigError(f"{folder} is neither a run nor a study and holds none")
    asks = list[Ask](of_study or ())
    for path in runs:
        run = Run.open(path)
        name = str((path / "run.json").relative_to(folder))
        for each in with_plan(run, outside_settings(path, run.manifest)):
            kinds = dict.fromkeys(reach.value for reach, _ in each.grants)
            asks.append(Ask(name, str(each), ", ".join(kinds), is_known(run, each)))
    return asks
