"""A study in its folder: begun once, gone on with, changed only where that is allowed."""

import asyncio
import json
from pathlib import Path

import pytest

from agent_env.errors import ConfigError, DatasetErrors
from agent_env.features.studies.folder import StudyFolder
from agent_env.features.studies.status import status_of
from agent_env.runs.many import ManyOptions
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins
from tests.commands import serving, typed
from tests.fake_server import FakeServer, model_policy
from tests.plans import QUIET

STUDY = (Path(__file__).with_name("data") / "two_tasks.toml").read_text()


def study(folder, text=STUDY):
    (folder / "study.toml").write_text(text)
    return StudyFolder(folder)


def start(folder):
    return asyncio.run(folder.start(lambda name: QUIET, print, ManyOptions()))


def resume(folder):
    return asyncio.run(folder.resume(lambda name: QUIET, print, ManyOptions()))


def loaded(file):
    return json.loads(file.read_text())


def serving_reference():
    return serving(FakeServer(model_policy(make_model("reference", None, {}, own_plugins()))))


def counts(folder):
    return {row.run: row.finished for row in status_of(StudyFolder(folder))}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    assert start(study(folder)) == {}
    return folder


def test_each_task_and_model_is_a_run_that_bears_the_digest_and_begins_once(done):
    assert counts(done) == {"few/a": 2, "one/a": 1, "few/b": 2, "one/b": 1}
    record = loaded(done / "study.json")
    uses = [loaded(file)["study"] for file in sorted(done.glob("*/*/run.json"))]
    assert uses == [{"name": done.name, "digest": record["digest"]}] * 4
    assert record["text"] == STUDY
    with pytest.raises(ConfigError, match=r"was begun at .*; continue with: agent-env resume"):
        start(StudyFolder(done))


def test_changes_of_what_is_asked_are_refused_by_line(done):
    text = STUDY.replace("limit = 2", "limit = 3").replace("[models.a]", "[models.c]")
    text = text.replace('"reference"', '"reference-static"\nconcurrency = 9')
    (done / "study.toml").write_text(text)
    try:
        with pytest.raises(DatasetErrors) as caught:
            resume(StudyFolder(done))
    finally:
        (done / "study.toml").write_text(STUDY)
    assert [line.partition("study.toml")[2] for line in caught.value.lines] == [
        ":13: models.a was there at the start and is absent now",
        ":6: tasks.few.limit was 2 at the start and is 3 now",
        ": only api_key_env, base_url, budget, concurrency, contrasts, prices, run_cost_usd, "
        "run_time_s, run_tokens, and new tasks and models may change; start another study in "
        "another folder",
    ]


def test_resume_takes_allowed_changes_and_runs_what_is_new(tmp_path):
    assert start(study(tmp_path, STUDY.partition("[models.b]")[0])) == {}
    (tmp_path / "few/a/episodes/base/tp-1-00002.1.jsonl").unlink()
    text = STUDY.replace("[tasks.few]", "concurrency = 2\n[tasks.few]")
    assert resume(study(tmp_path, text)) == {}
    assert counts(tmp_path) == {"few/a": 2, "one/a": 1, "few/b": 2, "one/b": 1}
    record = loaded(tmp_path / "study.json")
    (change,) = record["changes"]
    assert change["fields"] == ["models.b", "concurrency"]
    assert loaded(tmp_path / "one/a/run.json")["concurrency"] == 2
    digests = [loaded(tmp_path / f"few/{m}/run.json")["study"]["digest"] for m in "ab"]
    assert digests == [record["digest"], change["digest"]]


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
    with serving_reference() as url:
        assert resume(study(tmp_path, text.replace("http://127.0.0.1:9/v1", url))) == {}
    assert counts(tmp_path) == {"few/a": 2, "one/a": 1, "few/x": 2, "one/x": 1}


def test_the_budget_of_a_study_holds_over_all_models_and_starts(tmp_path):
    with serving_reference() as url:
        text = STUDY.partition("[models.a]")[0]
        for name in "xy":
            text += f'\n[models.{name}]\nmodel = "compatible/{name}"\nbase_url = "{url}"\n'
        budget = "[budget]\ntokens = 900\n\n[tasks.few]"
        folder = study(tmp_path, text.replace("[tasks.few]", budget))
        for go in (start, resume):
            assert "the study has used" in "".join(go(folder).values())
            spent = [row.spent for row in status_of(StudyFolder(tmp_path))]
            assert sum(each.tokens for each in spent if each is not None) <= 900
            folder = StudyFolder(tmp_path)
        wider = budget.replace("900", "90_000")
        assert resume(study(tmp_path, text.replace("[tasks.few]", wider))) == {}
    assert sum(counts(tmp_path).values()) == 6


def test_the_commands_new_check_run_status(tmp_path):
    def command(line, code=0):
        done = typed(line, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        return done

    command("study new s")
    conditions = 'conditions = ["base", "web", "python", "web+python"]'
    assert conditions in (tmp_path / "s/study.toml").read_text()
    there = "agent-env: s/study.toml is there already; name another folder, or edit it\n"
    assert command("study new s", 2).stderr == there
    command("study check s")
    ran = command("study run s/study.toml").stderr.splitlines()
    assert ran[-3:-1] == ["puzzles/reference: done", "puzzles/static: done"]
    rows = json.loads(command("study status s --json").stdout)["runs"]
    states = {row["run"]: (row["state"], row["finished"]) for row in rows}
    assert states == dict.fromkeys(("puzzles/reference", "puzzles/static"), ("done", 24))
    command("resume s/puzzles/static")
    refused = command("resume s/puzzles/static --concurrency 2", 2)
    assert "belongs to the study s; write the change into s/study.toml" in refused.stderr
