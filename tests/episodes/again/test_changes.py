"""What changed since a run began is named, refused, and accepted when asked."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError
from agent_env.runs.options import ResumeOptions
from agent_env.runs.resume import resume
from agent_env.runs.run import Run
from agent_env.runs.start import Listener
from agent_env.wiring.components import versions
from tests import TESTS

RUN = TESTS / "data/runs/version-1"
QUIET = Listener(note=lambda text: None, begin=lambda *a: None, end=lambda *a: None)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """An unfinished run of this very code."""
    shutil.copytree(RUN, tmp_path / "run")
    folder = Run(tmp_path / "run")
    folder.change(versions=versions(), sandbox=None)
    trace = folder.path / "episodes/web/tp-3-00001.1.jsonl"
    trace.write_bytes(b"".join(trace.read_bytes().splitlines(keepends=True)[:4]))
    return folder


def go_on(folder: RunFolder, **options: object) -> None:
    asyncio.run(resume(folder, ResumeOptions(**options), QUIET))  # type: ignore[arg-type]


def test_an_unchanged_run_goes_on(folder: RunFolder) -> None:
    go_on(folder)
    last = (folder.path / "episodes/web/tp-3-00001.1.jsonl").read_text().splitlines()[-1]
    assert '"kind":"episode_finished"' in last


def test_a_run_of_an_older_version_can_be_resumed_again(folder: RunFolder) -> None:
    """The first resume writes limits into its traces that run.json does not know."""
    trace = folder.path / "episodes/web/tp-3-00001.1.jsonl"
    trace.unlink()
    go_on(folder)
    whole = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join(whole[:4]))
    go_on(folder)
    assert trace.read_bytes().splitlines()[:1] == whole[0].splitlines()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"model": "reference-static"}, "model: reference → reference-static"),
        ({"changes": {"limits.steps": 3}}, "limit steps: 30 → 3"),
    ],
)
def test_another_model_or_limit_is_refused_by_name(
    folder: RunFolder, options: dict[str, object], line: str
) -> None:
    before = (folder.path / "run.json").read_bytes()
    with pytest.raises(ConfigError, match=f"began: .*{line}.*--accept-changes"):
        go_on(folder, **options)
    assert (folder.path / "run.json").read_bytes() == before
    go_on(folder, accept_changes=True, **options)
    assert line in folder.manifest.changes[0]


def test_a_server_that_is_elsewhere_now_is_noted_and_needs_no_more_words(folder: RunFolder) -> None:
    go_on(folder, base_url="http://other/v1")
    assert "model base_url: none → http://other/v1" in folder.manifest.changes[0]


def test_other_code_is_refused_by_name(folder: RunFolder) -> None:
    manifest = folder.manifest
    old = manifest.versions | {"code": "0" * 12}
    folder.change(versions=old)
    with pytest.raises(ConfigError, match=r"code: 000000000000 → [0-9a-f]{12}"):
        go_on(folder)


def test_a_manifest_edited_by_hand_does_not_fit_its_traces(folder: RunFolder) -> None:
    file = folder.path / "run.json"
    told = json.loads(file.read_text())
    file.write_text(json.dumps(told | {"model": "reference-static"}))
    with pytest.raises(ConfigError, match="model: reference → reference-static"):
        go_on(Run(folder.path))
