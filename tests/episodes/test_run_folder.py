"""A run's folder: datasets with defects, disks without room."""

import os
import subprocess

import pytest

from agent_env.episodes.calls.options import retries_of, run_limits
from agent_env.episodes.rerun.resume import limits_of
from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError, DatasetError
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.records.manifest import Manifest
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.sample_files import read_samples
from agent_env.testing import puzzle
from tests.episodes.runs import make_run


def manifest():
    return Manifest(
        task="time-puzzles", model="reference", conditions=(parse_condition("web"),), repeats=1,
        limits={}, prompt="default", seed=1, samples=1, samples_digest="0", concurrency=1,
        versions={}, created_at="2026-01-01T00:00:00+00:00",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", r"samples\.jsonl:2: Invalid JSON"),
        ("[]", r"samples\.jsonl:2: Input should be an object"),
        ('{"id": "b"}', r"samples\.jsonl:2: gold: Field required"),
        (puzzle("a").model_dump_json(), r"samples\.jsonl:2: id 'a' is also on line 1"),
        (
            puzzle("b").model_dump_json().replace('"b"', '"../b"'),
            r"samples\.jsonl:2: id: String should match pattern",
        ),
        (
            puzzle("b").model_dump_json()[:-1] + ', "colour": 1}',
            r"samples\.jsonl:2: unknown field 'colour'",
        ),
    ],
)
def test_a_bad_line_is_named_by_file_line_and_reason(tmp_path, line, reason):
    file = tmp_path / "samples.jsonl"
    file.write_text(f"{puzzle('a').model_dump_json()}\n{line}\n")
    with pytest.raises(DatasetError, match=reason):
        read_samples(file, TimePuzzle)


def test_a_file_without_samples_is_an_error(tmp_path):
    (tmp_path / "samples.jsonl").write_text("\n")
    with pytest.raises(DatasetError, match="holds no sample"):
        read_samples(tmp_path / "samples.jsonl", TimePuzzle)


@pytest.fixture
def full_disk(tmp_path):
    yield from disk_of(tmp_path, "1m")


def disk_of(tmp_path, size):
    """A small disk of its own."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_said_before_the_first_episode(full_disk):
    with pytest.raises(ConfigError, match=r"cannot write to .*: No space left on device"):
        RunFolder(full_disk / "run").create(manifest(), b"")


def test_the_index_that_served_a_run_is_noted_and_another_one_refused(tmp_path):
    folder = make_run(tmp_path / "run", ["a"], web="sealed")
    folder.check_pages("0" * 64, "fts5")
    folder.check_pages("0" * 64, "fts5")
    assert folder.manifest.web_settings.index == "fts5"
    with pytest.raises(ConfigError, match="searched by fts5, and here tantivy would"):
        folder.check_pages("0" * 64, "tantivy")
    with pytest.raises(ConfigError, match="began with other pages"):
        folder.check_pages("1" * 64, "fts5")


def test_a_run_of_before_indexes_were_noted_goes_on(tmp_path):
    folder = make_run(tmp_path / "run", ["a"], web="sealed")
    folder.note_pages("0" * 64)
    folder.check_pages("0" * 64, "tantivy")
    assert folder.manifest.web_settings.index is None


@pytest.mark.parametrize(
    ("field", "read"),
    [("retries", retries_of), ("run_limits", run_limits), ("limits", limits_of)],
)
def test_a_name_that_no_version_of_ours_knows_is_one_line(field, read):
    with pytest.raises(ConfigError, match=rf"^run\.json: {field} has 'patience'; known: .*$"):
        read(manifest().model_copy(update={field: {"patience": 1}}))
