"""OpenEnv's own validator passes: on the package, on a running server, and its runtime checks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from openenv.cli._validation import validate_running_environment
from openenv.validation.providers import ExecResult
from openenv.validation.runner import run_validation
from openenv.validation.types import CheckStatus, Level, ProviderCapability
from servers import AGENT_ENV, openenv

PACKAGE = Path(__file__).parents[1]
WITHOUT_DOCKER = {"runtime.network_policy"}
"""Measured by OpenEnv's Docker provider only."""


@dataclass
class Running:
    """A server of this machine."""

    base_url: str

    def inspect(self) -> dict:
        return {}

    def logs(self, max_bytes: int = 65536) -> str:
        return ""

    def exec(self, argv: list[str], timeout_s: float) -> ExecResult:
        raise NotImplementedError

    def stop(self) -> None:
        """The test ends it."""


@dataclass
class Local:
    """In place of Docker: the server runs already."""

    url: str
    name = "local"
    capabilities = frozenset({ProviderCapability.IMAGE_BUILD})
    supported_network_modes = frozenset({"public"})

    def build(self, root: Path, execution: object) -> str:
        return "sha256:" + "0" * 64

    def start(self, spec: object) -> Running:
        return Running(self.url)


def test_the_manifest_passes() -> None:
    report = run_validation(PACKAGE, max_level=Level.STATIC)
    assert [(r.check_id, r.status) for r in report.results] == [
        ("static.manifest", CheckStatus.PASS)
    ]


@pytest.mark.skipif(not AGENT_ENV, reason="AGENT_ENV names no agent-env command")
def test_a_running_server_passes_and_so_do_the_runtime_checks(tmp_path: Path) -> None:
    with openenv("time-puzzles", tmp_path / "run") as url:
        running = validate_running_environment(url)
        report = run_validation(PACKAGE, max_level=Level.RUNTIME, provider=Local(url))
    assert running["passed"], running["summary"]
    graded = {
        result.check_id: result
        for result in report.results
        if "not implemented" not in str(result.evidence) and result.check_id not in WITHOUT_DOCKER
    }
    assert {name: result.status for name, result in graded.items()} == dict.fromkeys(
        ["static.manifest", "runtime.startup", "runtime.reward_well_formed",
         "runtime.observation_schema", "runtime.state_contract"], CheckStatus.PASS,
    ), [(r.check_id, r.evidence) for r in report.results]  # fmt: skip
