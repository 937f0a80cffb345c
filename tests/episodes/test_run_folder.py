"""A run's folder: datasets with defects, disks without room."""

import pytest

from agent_env.episodes.calls.options import retries_of, run_limits
from agent_env.episodes.rerun.resume import limits_of
from agent_env.errors import ConfigError, DatasetError
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.tasks.sample_files import read_samples
from agent_env.testing import puzzle
from tests.episodes.runs import make_run

OTHER = puzzle("b").model_dump_json()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", r"samples\.jsonl:2: Invalid JSON"),
        ("[]", r"samples\.jsonl:2: Input should be an object"),
        ('{"id": "b"}', r"samples\.jsonl:2: field 'gold' is missing"),
        (puzzle("a").model_dump_json(), r"samples\.jsonl:2: id 'a' is also on line 1"),
        (OTHER.replace('"b"', '"../b"'), r"samples\.jsonl:2: id: String should match pattern"),
        (OTHER[:-1] + ', "colour": 1}', r"samples\.jsonl:2: unknown field 'colour'"),
    ],
)
def test_a_bad_line_and_a_file_without_samples_are_named(tmp_path, line, reason):
    file = tmp_path / "samples.jsonl"
    file.write_text(f"{puzzle('a').model_dump_json()}\n{line}\n")
    with pytest.raises(DatasetError, match=reason):
        read_samples(file, TimePuzzle)
    file.write_text("\n")
    with pytest.raises(DatasetError, match="holds no sample"):
        read_samples(file, TimePuzzle)


def test_the_index_that_served_a_run_is_noted_and_another_one_refused(tmp_path):
    before = make_run(tmp_path / "before", ["a"], web="sealed")  # indexes were noted
    before.note_pages("0" * 64)
    before.check_pages("0" * 64, "tantivy")
    assert before.manifest.web_settings.index is None
    folder = make_run(tmp_path / "run", ["a"], web="sealed")
    folder.check_pages("0" * 64, "fts5")
    folder.check_pages("0" * 64, "fts5")
    assert folder.manifest.web_settings.index == "fts5"
    with pytest.raises(ConfigError, match="searched by fts5, and here tantivy would"):
        folder.check_pages("0" * 64, "tantivy")
    with pytest.raises(ConfigError, match="began with other pages"):
        folder.check_pages("1" * 64, "fts5")


@pytest.mark.parametrize(
    ("field", "read"),
    [("retries", retries_of), ("run_limits", run_limits), ("limits", limits_of)],
)
def test_a_name_that_no_version_of_ours_knows_is_one_line(tmp_path, field, read):
    manifest = make_run(tmp_path / "run", ["a"]).manifest
    with pytest.raises(ConfigError, match=rf"^run\.json: {field} has 'patience'; known: .*$"):
        read(manifest.model_copy(update={field: {"patience": 1}}))
