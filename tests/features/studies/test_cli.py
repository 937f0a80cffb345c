"""Every command that takes a run takes a study, too."""

import json
import re
from pathlib import Path

import pytest

from tests.commands import agent_env, typed

RUNS = ["few/a", "few/b", "other/a", "other/b"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    (folder / "s").mkdir()
    plan = Path(__file__).with_name("data") / "contrasts.toml"
    (folder / "s/study.toml").write_text(plan.read_text())
    done = agent_env("study", "run", "s", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    "command",
    ["show s", "show s --why", "episodes list s", "replay s",
     "episodes export s --to jsonl --out exports"],
)  # fmt: skip
def test_a_command_on_runs_gives_one_object_with_those_of_all_runs(study, command):
    done = typed(f"{command} --json", cwd=study)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert value["folder"] == "s"
    assert [each["run"] for each in value["runs"]] == [f"s/{run}" for run in RUNS]


def test_an_error_of_one_run_does_not_keep_the_next_and_compare_tells_each_task(study):
    done = typed("show s --prices none.toml", cwd=study)
    assert done.returncode == 2
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == RUNS
    done = typed("compare s --json", cwd=study)
    assert done.returncode == 0, done.stderr
    tasks = json.loads(done.stdout)["tasks"]
    for name in ("few", "other"):
        names = [row["difference"] for row in tasks[name]["differences"]["rows"]]
        assert names == ["a explicit − a base", "b explicit − b base"]
    late = typed("compare s/few --contrast base:explicit --contrast base@a:base@b", cwd=study)
    assert late.stdout.count("Exploratory: ") > 0


def test_the_report_is_one_page_with_a_chapter_for_each_task(study, monkeypatch):
    """Without the figures behind the first page: to draw them takes seconds."""
    pytest.importorskip("matplotlib.figure")
    monkeypatch.setattr("agent_env.analysis.report._figures", lambda *_: {})
    done = agent_env("compare", "s", "--html", "s/report.html", cwd=study)
    assert done.returncode == 0, done.stderr
    text = (study / "s/report.html").read_text()
    for task in ("few", "other"):
        assert f'id="{task}-first"><p class="kicker">{task}: ' in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
