"""`agent-env episodes export` as a user meets it: folders, filters, mistakes."""

import json
import sys

import pytest

from agent_env.cli.app import main
from tests.features.interop.export.runs import a_run


def _export(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["agent-env", "episodes", "export", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.fixture
def run(tmp_path):
    return str(a_run(tmp_path / "run").path)


def test_an_export_goes_into_the_run_is_told_to_machines_and_needs_its_extra(
    run, tmp_path, monkeypatch, capsys
):
    for extra in ((), ("--where", "sample=right,wrong")):
        assert _export(monkeypatch, run, "--to", "jsonl", *extra) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("exports/jsonl: 4 episodes, 4 steps, 1 tool_calls")
    assert said[1].endswith("2 episodes, 4 steps, 1 tool_calls; 2 episodes left out")
    lines = (tmp_path / "run/exports/jsonl/episodes.jsonl").read_text().splitlines()
    assert len(lines) == 2
    out = tmp_path / "out"
    arguments = (run, "--to", "sft", "--out", str(out), "--min-score", "1", "--json")
    assert _export(monkeypatch, *arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["counts"], told["left_out"], told["broken"]) == ({"sft": 1}, 3, 0)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert _export(monkeypatch, run, "--to", "parquet") == 2
    assert "pip install 'agent-env[parquet]'" in capsys.readouterr().err
    assert not (tmp_path / "run/exports/parquet").exists()


def test_a_folder_of_the_user_s_is_not_overwritten(run, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    assert _export(monkeypatch, run, "--to", "jsonl", "--out", str(out)) == 2
    assert "is there already" in capsys.readouterr().err
    assert [file.name for file in out.iterdir()] == ["mine.txt"]
