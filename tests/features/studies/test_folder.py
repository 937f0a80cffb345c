"""A study in its folder: begun once, gone on with, changed only where that is allowed."""

import asyncio
import json

import pytest

from agent_env.errors import ConfigError, DatasetErrors
from agent_env.features.studies.folder import StudyFolder
from agent_env.features.studies.status import status_of
from agent_env.runs.many import ManyOptions
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins
from tests.commands import agent_env, serving
from tests.fake_server import FakeServer, model_policy
from tests.plans import QUIET

STUDY = """\
conditions = ["base"]
contrasts = []

[tasks.few]
task = "time-puzzles"
limit = 2

[tasks.one]
task = "time-puzzles"
limit = 1
seed = 2

[models.a]
model = "reference"

[models.b]
model = "reference-static"
"""


def study(folder, text=STUDY):
    (folder / "study.toml").write_text(text)
    return StudyFolder(folder)


def start(folder):
    return asyncio.run(folder.start(lambda name: QUIET, lambda text: None, ManyOptions()))


def resume(folder):
    return asyncio.run(folder.resume(lambda name: QUIET, lambda text: None, ManyOptions()))


def counts(folder):
    return {row.run: row.finished for row in status_of(StudyFolder(folder))}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    assert start(study(folder)) == {}
    return folder


def test_each_task_and_model_is_a_run_that_bears_the_digest_and_begins_once(done):
    assert counts(done) == {"few/a": 2, "one/a": 1, "few/b": 2, "one/b": 1}
    record = json.loads((done / "study.json").read_text())
    uses = [json.loads(f.read_text())["study"] for f in sorted(done.glob("*/*/run.json"))]
    assert uses == [{"name": done.name, "digest": record["digest"]}] * 4
    assert record["text"] == STUDY
    with pytest.raises(ConfigError, match=r"was begun at .*; continue with: agent-env resume"):
        start(StudyFolder(done))


def test_changes_of_what_is_asked_are_refused_by_line(done):
    text = STUDY.replace("limit = 2", "limit = 3").replace("[models.a]", "[models.c]")
    text = text.replace('"reference"', '"reference-static"\nconcurrency = 9')
    text = text.replace(
        '[models.a]\nmodel = "reference"', '[models.c]\nmodel = "reference"\nstream = true'
    )
    (done / "study.toml").write_text(text)
    try:
        with pytest.raises(DatasetErrors) as caught:
            resume(StudyFolder(done))
    finally:
        (done / "study.toml").write_text(STUDY)
    lines = [line.partition("study.toml")[2] for line in caught.value.lines]
    assert lines == [
        ":13: models.a was there at the start and is absent now",
        ":6: tasks.few.limit was 2 at the start and is 3 now",
        ": only api_key_env, base_url, budget, concurrency, contrasts, prices, run_cost_usd, "
        "run_time_s, run_tokens, and new tasks and models may change; start another study in "
        "another folder",
    ]


def test_resume_takes_allowed_changes_and_runs_what_is_new(tmp_path):
    folder = study(tmp_path, STUDY.partition("[models.b]")[0])
    assert start(folder) == {}
    (tmp_path / "few/a/episodes/base/tp-1-00002.1.jsonl").unlink()
    assert (
        resume(study(tmp_path, STUDY.replace("[tasks.few]", "concurrency = 2\n[tasks.few]"))) == {}
    )
    assert counts(tmp_path) == {"few/a": 2, "one/a": 1, "few/b": 2, "one/b": 1}
    record = json.loads((tmp_path / "study.json").read_text())
    assert [change["fields"] for change in record["changes"]] == [["models.b", "concurrency"]]
    assert json.loads((tmp_path / "one/a/run.json").read_text())["concurrency"] == 2
    digests = [
        json.loads((tmp_path / f"few/{m}/run.json").read_text())["study"]["digest"] for m in "ab"
    ]
    assert digests[0] == record["digest"]
    assert digests[1] == record["changes"][0]["digest"]


def test_a_mistake_that_only_the_samples_show_leaves_nothing_behind(tmp_path):
    folder = study(tmp_path, STUDY.replace("limit = 1", 'limit = 1\nwhere = ["nothing"]'))
    with pytest.raises(ConfigError):
        start(folder)
    assert [file.name for file in tmp_path.iterdir() if file.name != ".lock"] == ["study.toml"]


def test_a_model_that_fails_does_not_hold_up_the_others(tmp_path):
    """Its reason is told, and a resume after the server is back finishes it."""
    nobody = '[models.x]\nmodel = "compatible/x"\nbase_url = "http://127.0.0.1:9/v1"\n'
    text = f"retry_time_s = 0.2\n{STUDY.partition('[models.b]')[0]}{nobody}"
    failures = start(study(tmp_path, text))
    assert sorted(failures) == ["few/x", "one/x"]
    assert failures["few/x"].startswith("stopped: the model's server was away")
    assert counts(tmp_path) == {"few/a": 2, "one/a": 1, "few/x": 0, "one/x": 0}
    with serving(FakeServer(model_policy(make_model("reference", None, {}, own_plugins())))) as url:
        assert resume(study(tmp_path, text.replace("http://127.0.0.1:9/v1", url))) == {}
    assert counts(tmp_path) == {"few/a": 2, "one/a": 1, "few/x": 2, "one/x": 1}


def test_the_budget_of_a_study_holds_over_all_models_and_starts(tmp_path):
    with serving(FakeServer(model_policy(make_model("reference", None, {}, own_plugins())))) as url:
        models = "".join(
            f'\n[models.{name}]\nmodel = "compatible/{name}"\nbase_url = "{url}"\n' for name in "xy"
        )
        text = STUDY.partition("[models.a]")[0] + models
        budget = "[budget]\ntokens = 900\n\n[tasks.few]"
        failures = start(study(tmp_path, text.replace("[tasks.few]", budget)))
        assert "the study has used" in "".join(failures.values())
        assert _tokens(tmp_path) <= 900
        failures = resume(StudyFolder(tmp_path))
        assert "the study has used" in "".join(failures.values())
        assert _tokens(tmp_path) <= 900
        wider = budget.replace("900", "90_000")
        assert resume(study(tmp_path, text.replace("[tasks.few]", wider))) == {}
    assert sum(counts(tmp_path).values()) == 6


def _tokens(folder):
    spent = [row.spent for row in status_of(StudyFolder(folder))]
    return sum(each.tokens for each in spent if each is not None)


def test_the_commands_new_check_run_status(tmp_path):
    assert agent_env("study", "new", "s", cwd=tmp_path).returncode == 0
    conditions = 'conditions = ["base", "web", "python", "web+python"]'
    assert conditions in (tmp_path / "s/study.toml").read_text()
    again = agent_env("study", "new", "s", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (
        2, "agent-env: s/study.toml is there already; name another folder, or edit it\n",
    )  # fmt: skip
    checked = agent_env("study", "check", "s", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    ran = agent_env("study", "run", "s/study.toml", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.splitlines()[-3:-1] == ["puzzles/reference: done", "puzzles/static: done"]
    status = agent_env("study", "status", "s", "--json", cwd=tmp_path)
    rows = json.loads(status.stdout)["runs"]
    assert [(row["run"], row["state"], row["finished"]) for row in rows] == [
        ("puzzles/reference", "done", 24), ("puzzles/static", "done", 24),
    ]  # fmt: skip
    one = agent_env("resume", "s/puzzles/static", cwd=tmp_path)
    assert one.returncode == 0, one.stderr
    refused = agent_env("resume", "s/puzzles/static", "--concurrency", "2", cwd=tmp_path)
    assert refused.returncode == 2
    assert "belongs to the study s; write the change into s/study.toml" in refused.stderr
