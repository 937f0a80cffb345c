"""`agent-env episodes export` as a user meets it: folders, filters, mistakes."""

import json
import sys

import pytest

from tests.commands import agent_env
from tests.features.interop.export.runs import a_run


@pytest.fixture
def run(tmp_path):
    return a_run(tmp_path / "run").path


def _export(run, *arguments):
    return agent_env("episodes", "export", str(run), "--to", *arguments)


def test_an_export_goes_into_the_run_is_told_to_machines_and_needs_its_extra(run, monkeypatch):
    for where, said in (
        ((), "exports/jsonl: 4 episodes, 4 steps, 1 tool_calls\n"),
        (
            ("--where", "sample=right,wrong"),
            "2 episodes, 4 steps, 1 tool_calls; 2 episodes left out\n",
        ),
    ):
        done = _export(run, "jsonl", *where)
        assert (done.returncode, done.stdout.endswith(said)) == (0, True)
    assert len((run / "exports/jsonl/episodes.jsonl").read_text().splitlines()) == 2
    done = _export(run, "sft", "--out", str(run.parent / "out"), "--min-score", "1", "--json")
    told = json.loads(done.stdout)
    assert (told["counts"], told["left_out"], told["broken"]) == ({"sft": 1}, 3, 0)
    assert done.returncode == 0
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = _export(run, "parquet")
    assert (done.returncode, "pip install 'agent-env[parquet]'" in done.stderr) == (2, True)
    assert not (run / "exports/parquet").exists()


def test_a_folder_of_the_user_s_is_not_overwritten(run, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    done = _export(run, "jsonl", "--out", str(out))
    assert (done.returncode, "is there already" in done.stderr) == (2, True)
    assert [file.name for file in out.iterdir()] == ["mine.txt"]
