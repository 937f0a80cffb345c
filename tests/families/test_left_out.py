"""Without the folder of a family, or of an extension that is no base of others, the rest runs."""

import subprocess
import sys
from pathlib import Path

import pytest

import agent_env

PACKAGE = Path(agent_env.__file__).parent
LEFT_OUT = [
    *sorted(f"families/{each.parent.name}" for each in PACKAGE.glob("families/*/__init__.py")),
    "extensions/evidence", "extensions/interop",
]  # fmt: skip


def package_without(left_out, place):
    """A copy of links, but for one folder."""
    folder, name = left_out.split("/")
    copy = place / "agent_env"
    (copy / folder).mkdir(parents=True)
    for each in PACKAGE.iterdir():
        if each.name != folder:
            (copy / each.name).symlink_to(each)
    for each in (PACKAGE / folder).iterdir():
        if each.name != name:
            (copy / folder / each.name).symlink_to(each)
    return place


def said_without(left_out, place, *words):
    ended = subprocess.run(
        [sys.executable, "-m", "agent_env", *words],
        cwd=package_without(left_out, place),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_what_is_left_runs_and_is_scored(left_out, tmp_path):
    task = "traveler" if left_out == "families/time_puzzles" else "time-puzzles"
    said = said_without(
        left_out, tmp_path / "package", "run", task, "--limit", "1", "--condition", "base",
        "--model", "reference", "--out", str(tmp_path / "run"),
    )  # fmt: skip
    assert "base" in said


def test_a_family_that_was_left_out_is_not_listed(tmp_path):
    listed = said_without("families/tdbench", tmp_path, "list", "families")
    assert "tdbench" not in listed
    assert "time-puzzles" in listed
