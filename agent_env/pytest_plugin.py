"""The fixture `agent_env`: a run is recorded once and decided on in any number of tests.

    def test_the_web_helps(agent_env):
        run = agent_env.run("time-puzzles", model="reference", limit=12)
        agent_env.require(run, "web-base >= 0.05")

Recordings are run folders below the ini option `agent_env_recordings`; nothing is asked again
while the arguments stay the same, so that a CI job with the recordings needs no key.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agent_env.api.run import Run

HOW = "--agent-env-record"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the fixture."""
    group = parser.getgroup("agent-env")
    group.addoption(
        HOW, choices=("missing", "none", "all"), default="missing",
        help="Which runs of the fixture agent_env are asked: missing ones, none, or all anew.",
    )  # fmt: skip
    parser.addini("agent_env_recordings", "Folder of recorded runs.", default="agent-env-runs")


class Recordings:
    """What the fixture gives: recorded runs, and requirements on them."""

    def __init__(self, folder: Path, how: str) -> None:
        self.folder = folder
        self._how = how
        self._asked: set[Path] = set()

    def run(self, task: str, **options: Any) -> Run:
        """The run of `agent_env.run_sync(task, **options)`, asked where it is not recorded yet, and
        finished where it was cut off. Fails the test where it may not be asked."""
        import agent_env as ae

        text = json.dumps([task, options], sort_keys=True, default=str)
        place = self.folder / f"{task}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        with self._locked(place):
            anew = self._how == "all" and place not in self._asked
            self._asked.add(place)
            if not anew and (place / "run.json").exists():
                run = ae.open(place)
                if run.is_finished or self._how == "none":
                    return run
                from agent_env.runs.waiting import wait_for

                return wait_for(run.resume(progress=False))
            if self._how == "none":
                pytest.fail(f"{place} is not recorded; run pytest with {HOW}=missing", False)
            if anew:
                import shutil

                shutil.rmtree(place, ignore_errors=True)
            return ae.run_sync(task, out=place, progress=False, **options)

    def require(self, run: Run, *requirements: str) -> None:
        """Fails the test where a requirement, as of `agent-env compare --require`, is not met, or
        not known yet: more samples decide that."""
        from agent_env.analysis.requirements import judge

        judged = judge(requirements, run._run.comparison(lambda text: None))
        if missed := [str(each) for each in judged if each.answer != "met"]:
            pytest.fail("\n".join(missed), pytrace=False)

    @contextmanager
    def _locked(self, place: Path) -> Iterator[None]:
        """One process records a run; others, such as workers of pytest-xdist, wait for it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f".{place.name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


@pytest.fixture(scope="session")
def agent_env(pytestconfig: pytest.Config) -> Recordings:
    """Runs that are recorded once and decided on many times."""
    folder = pytestconfig.rootpath / pytestconfig.getini("agent_env_recordings")
    return Recordings(folder, pytestconfig.getoption(HOW))
