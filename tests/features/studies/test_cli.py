"""Every command that takes a run takes a study, too."""

import json
import re

import pytest

from tests.commands import agent_env

STUDY = """\
conditions = ["base", "explicit"]
contrasts = ["explicit:base"]

[tasks.few]
task = "time-puzzles"
limit = 3

[tasks.other]
task = "time-puzzles"
limit = 2
seed = 2

[models.a]
model = "reference"

[models.b]
model = "reference-static"
"""
RUNS = ["few/a", "few/b", "other/a", "other/b"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    (folder / "s").mkdir()
    (folder / "s/study.toml").write_text(STUDY)
    done = agent_env("study", "run", "s", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("show", "s"), ("show", "s", "--why"), ("episodes", "list", "s"), ("replay", "s"),
        ("episodes", "export", "s", "--to", "jsonl", "--out", "exports"),
    ],
)  # fmt: skip
def test_a_command_on_runs_gives_one_object_with_those_of_all_runs(study, command):
    done = agent_env(*command, "--json", cwd=study)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert value["folder"] == "s"
    assert [each["run"] for each in value["runs"]] == [f"s/{run}" for run in RUNS]


def test_an_error_of_one_run_does_not_keep_the_next_and_compare_tells_each_task(study):
    done = agent_env("show", "s", "--prices", "none.toml", cwd=study)
    assert done.returncode == 2
    lines = [line.partition(":")[0] for line in done.stderr.splitlines()]
    assert lines == RUNS
    done = agent_env("compare", "s", "--json", cwd=study)
    assert done.returncode == 0, done.stderr
    tasks = json.loads(done.stdout)["tasks"]
    names = [
        [row["difference"] for row in tasks[name]["differences"]["rows"]]
        for name in ("few", "other")
    ]
    assert names == [["a explicit − a base", "b explicit − b base"]] * 2
    late = agent_env("compare", "s/few", "--contrast", "base:explicit", "--contrast",
                     "base@a:base@b", cwd=study)  # fmt: skip
    assert late.stdout.count("Exploratory: ") > 0


def test_the_report_is_one_page_with_a_chapter_for_each_task(study, monkeypatch):
    """Without the figures behind the first page: to draw them takes seconds."""
    pytest.importorskip("matplotlib.figure")
    monkeypatch.setattr("agent_env.analysis.report._figures", lambda *_: {})
    done = agent_env("compare", "s", "--html", "s/report.html", cwd=study)
    assert done.returncode == 0, done.stderr
    text = (study / "s/report.html").read_text()
    assert [
        f'id="{task}-first"><p class="kicker">{task}: ' in text for task in ("few", "other")
    ] == [True] * 2
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
