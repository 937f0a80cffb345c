"""A stranger's package brings a command, an exporter, a reader of logs and a statistic."""

import json

import pytest

from tests.commands import agent_env, typed
from tests.features.interop.export.runs import a_run
from tests.plugged_in import install


@pytest.fixture(autouse=True)
def _pack(tmp_path, monkeypatch):
    install(tmp_path / "site", monkeypatch, "seams", "seams_pack")


def test_its_command_and_exporter_are_ours(tmp_path):
    assert agent_env("greet", "Ada").stdout == "Hello, Ada.\n"
    assert "\nOf other packages:\n  greet  Greet somebody.\n" in agent_env("--help").stdout
    run = a_run(tmp_path / "run").path
    done = agent_env("episodes", "export", str(run), "--to", "ids")
    assert done.stdout.endswith("exports/ids: 4 names\n")
    assert (run / "exports/ids/names.txt").read_text().splitlines()[0] == "web/cut"


def test_its_logs_and_statistic_are_compared(tmp_path):
    (tmp_path / "first.lines").write_text("a 1\nb 0\n")
    (tmp_path / "second.lines").write_text("a 1\nb 1\n")
    compare = "compare first.lines second.lines"
    done = typed(f"{compare} --json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = json.loads(done.stdout)["by-kind"]["rows"]
    assert (row["kind"], row["first"]["value"], row["second"]["value"]) == ("line", 0.5, 1.0)
    done = typed("episodes import first.lines --out run", cwd=tmp_path)
    assert done.stdout == (
        "run: 2 episodes of first.lines (lines 1), 0 with their conversation; scores: right\n"
    )
    done = typed(f"{compare} --table episodes-in-all --to csv --out tables", cwd=tmp_path)
    assert done.returncode == 0
    table = (tmp_path / "tables/episodes-in-all.csv").read_text()
    assert table == "condition,episodes\nfirst,2\nsecond,2\n"


def test_each_is_listed_with_its_package():
    names = {"exporters": "ids", "log-readers": "lines", "statistics": "episodes-in-all"}
    for kind, name in names.items():
        listed = json.loads(agent_env("list", kind, "--json").stdout)
        assert [row["origin"] for row in listed if row["name"] == name] == ["seams-pack 0.1"]
