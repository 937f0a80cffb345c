"""A study that somebody sent: its files are read, and obeyed for nobody who did not say so."""

import os
import shutil

import pytest

from tests.commands import agent_env

PLAN = """
conditions = ["base", "explicit"]
limit = 2
[tasks.few]
task = "time-puzzles"
[models.a]
model = "reference"
"""
HOSTILE = """
conditions = ["base", "{code}:TOOL"]
limit = 2
base_url = "http://127.0.0.1:9/v1"
mcp = ["srv=touch {canary}"]
mcp_env = ["srv=MY_SECRET"]
reply_cache = "{canary}"
[tasks.few]
task = "{code}:FAMILY"
[models.a]
model = "compatible/x"
api_key_env = "MY_SECRET"
serve = "touch {canary}; sleep 60 # {{port}}"
[models.b]
model = "{code}:answer"
"""


@pytest.fixture
def sent(tmp_path):
    """A study that another user began, with a hostile study.toml since."""
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "study.toml").write_text(PLAN)
    assert _as("them", folder, "study", "run", str(folder)).returncode == 0
    code = folder / "code.py"
    code.write_text(f"open({str(tmp_path / 'canary')!r}, 'w')\n")
    (folder / "study.toml").write_text(HOSTILE.format(code=code, canary=tmp_path / "canary"))
    return folder


def _as(user, folder, *words):
    state = folder.parent / f"state of {user}"
    return agent_env(*words, env={"XDG_STATE_HOME": str(state), "MY_SECRET": "sk-canary-0123"})


@pytest.mark.parametrize("command", ["study run", "study check", "resume"])
def test_no_command_obeys_it_and_each_lists_what_it_asks_for(sent, command):
    done = _as("me", sent, *command.split(), str(sent))
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "is not a study that you began here" in done.stderr
    for asked in (
        "base_url http://127.0.0.1:9/v1 (address)", "(command); mcp_env", "MY_SECRET (key)",
        f"tasks.few.task {sent}/code.py:FAMILY (code)", f"reply_cache {sent.parent}/canary (file)",
        "models.a.serve touch", f"models.b.model {sent}/code.py:answer (code)", "--trust-run",
    ):  # fmt: skip
        assert asked in done.stderr
    assert not (sent.parent / "canary").exists()


def test_status_and_report_read_it_only(sent):
    status = _as("me", sent, "study", "status", str(sent))
    assert (status.returncode, "few/a" in status.stdout) == (0, True)
    assert (
        _as("me", sent, "compare", str(sent), "--html", str(sent / "report.html")).returncode == 0
    )
    assert not (sent.parent / "canary").exists()


def test_a_study_above_a_run_says_nothing_of_it_to_whom_it_is_foreign(sent):
    shutil.rmtree(sent / "few" / "a" / "episodes")
    done = _as("me", sent, "resume", str(sent / "few" / "a"))
    assert (done.returncode, "4 of 4" in done.stderr) == (0, True), done.stderr
    assert not (sent.parent / "canary").exists()


def test_who_began_a_study_goes_on_with_it_without_a_word_also_after_a_move(sent):
    (sent / "study.toml").write_text(PLAN + "[models.b]\nmodel = 'reference-static'\n")
    moved = sent.rename(sent.with_name("elsewhere"))
    done = _as("them", moved, "resume", str(moved))
    assert (done.returncode, "trust" in done.stderr) == (0, False)
    assert (moved / "few" / "b" / "run.json").exists()


def test_only_who_began_or_confirmed_it_goes_on_with_it(sent):
    (sent / "study.toml").write_text(PLAN)
    assert _as("me", sent, "resume", str(sent)).returncode == 2
    assert _as("me", sent, "resume", str(sent), "--trust-run").returncode == 0
    assert _as("me", sent, "resume", str(sent)).returncode == 0
    copy = shutil.copytree(sent, sent.with_name("copy"))
    done = _as("them", copy, "resume", str(copy))
    assert "is not a study that you began here" in done.stderr


@pytest.mark.parametrize("content", [b"{", b'{"v": 2}', b"\xff" * 9])
def test_a_record_that_is_broken_or_of_another_version_allows_nothing(sent, content):
    for file in (sent.parent / "state of them" / "agent-env" / "studies").iterdir():
        file.write_bytes(content)
    done = _as("them", sent, "resume", str(sent))
    assert "is not a study that you began here" in done.stderr


def test_run_folders_without_study_json_are_foreign_too(sent):
    (sent / "study.json").unlink()
    done = _as("me", sent, "study", "run", str(sent))
    assert (done.returncode, "take its study.toml to a folder of its own" in done.stderr) == (
        2, True,
    )  # fmt: skip
    assert not (sent.parent / "canary").exists()


@pytest.mark.parametrize("command", ["resume", "study status", "episodes trust"])
def test_a_study_that_was_never_begun_is_obeyed_by_run_and_check_alone(sent, command):
    shutil.rmtree(sent / "few")
    (sent / "study.json").unlink()
    done = _as("me", sent, *command.split(), str(sent))
    assert not (sent.parent / "canary").exists()
    assert ("trusted" in done.stdout, "Traceback" in done.stderr) == (False, False)


def test_code_without_a_sandbox_is_listed(sent):
    (sent / "study.toml").write_text(PLAN.replace("limit = 2", 'sandbox = "unsafe-subprocess"'))
    done = _as("me", sent, "resume", str(sent))
    assert "it asks for: sandbox unsafe-subprocess (code). To allow it" in done.stderr
    (sent / "study.toml").write_text(PLAN.replace("limit = 2", 'sandbox = "docker"'))
    done = _as("me", sent, "resume", str(sent))
    assert "it asks for: nothing outside." in done.stderr


@pytest.mark.parametrize("kind", ["a fifo", "a link out of the folder"])
def test_a_plan_that_is_no_plain_file_of_the_folder_is_not_opened(sent, kind):
    (sent / "study.toml").unlink()
    if kind == "a fifo":
        os.mkfifo(sent / "study.toml")
    else:
        (sent.parent / "elsewhere.toml").write_text(PLAN)
        (sent / "study.toml").symlink_to(sent.parent / "elsewhere.toml")
    for words in (["study", "status"], ["resume"], ["episodes", "trust"], ["compare"]):
        done = _as("me", sent, *words, str(sent))
        assert (done.returncode, "cannot read" in done.stderr) == (2, True), words
