"""A study that somebody sent: its files are read, and obeyed for nobody who did not say so."""

import os
import shutil
from pathlib import Path

import pytest

from tests.commands import agent_env

PLAN, HOSTILE = (
    (Path(__file__).with_name("data") / name).read_text() for name in ("plan.toml", "hostile.toml")
)


@pytest.fixture
def sent(tmp_path):
    """A study that another user began, with a hostile study.toml since."""
    folder, canary = tmp_path / "study", tmp_path / "canary"
    folder.mkdir()
    (folder / "study.toml").write_text(PLAN)
    assert _as("them", "study run", folder).returncode == 0
    (folder / "code.py").write_text(f"open({str(canary)!r}, 'w')\n")
    (folder / "study.toml").write_text(HOSTILE.format(code=folder / "code.py", canary=canary))
    return folder


def _as(user, command, folder, *words, state_of=None):
    state = (state_of or folder).parent / f"state of {user}"
    env = {"XDG_STATE_HOME": str(state), "MY_SECRET": "sk-canary-0123"}
    return agent_env(*command.split(), str(folder), *words, env=env)


@pytest.mark.parametrize("command", ["study run", "study check", "resume"])
def test_no_command_obeys_it_and_each_lists_what_it_asks_for(sent, command):
    done = _as("me", command, sent)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    for asked in (
        "is not a study that you began here", "base_url http://127.0.0.1:9/v1 (address)",
        "(command); mcp_env", "MY_SECRET (key)", f"tasks.few.task {sent}/code.py:FAMILY (code)",
        f"reply_cache {sent.parent}/canary (file)", "models.a.serve touch",
        f"models.b.model {sent}/code.py:answer (code)", "--trust-run",
    ):  # fmt: skip
        assert asked in done.stderr
    assert not (sent.parent / "canary").exists()


def test_status_and_report_read_it_only(sent):
    status = _as("me", "study status", sent)
    assert (status.returncode, "few/a" in status.stdout) == (0, True)
    assert _as("me", "compare", sent, "--html", str(sent / "report.html")).returncode == 0
    assert not (sent.parent / "canary").exists()


def test_a_study_above_a_run_says_nothing_of_it_to_whom_it_is_foreign(sent):
    shutil.rmtree(sent / "few" / "a" / "episodes")
    done = _as("me", "resume", sent / "few" / "a", state_of=sent)
    assert (done.returncode, "4 of 4" in done.stderr) == (0, True), done.stderr
    assert not (sent.parent / "canary").exists()


def test_who_began_a_study_goes_on_with_it_without_a_word_also_after_a_move(sent):
    (sent / "study.toml").write_text(PLAN + "[models.b]\nmodel = 'reference-static'\n")
    moved = sent.rename(sent.with_name("elsewhere"))
    done = _as("them", "resume", moved)
    assert (done.returncode, "trust" in done.stderr) == (0, False)
    assert (moved / "few" / "b" / "run.json").exists()


def test_only_who_began_or_confirmed_it_goes_on_with_it(sent):
    (sent / "study.toml").write_text(PLAN)
    codes = [_as("me", "resume", sent, *more).returncode for more in ([], ["--trust-run"], [])]
    assert codes == [2, 0, 0]
    copy = shutil.copytree(sent, sent.with_name("copy"))
    assert "is not a study that you began here" in _as("them", "resume", copy).stderr


@pytest.mark.parametrize("content", [b"{", b'{"v": 2}', b"\xff" * 9])
def test_a_record_that_is_broken_or_of_another_version_allows_nothing(sent, content):
    for file in (sent.parent / "state of them" / "agent-env" / "studies").iterdir():
        file.write_bytes(content)
    assert "is not a study that you began here" in _as("them", "resume", sent).stderr


def test_run_folders_without_study_json_are_foreign_too(sent):
    (sent / "study.json").unlink()
    done = _as("me", "study run", sent)
    own = "take its study.toml to a folder of its own"
    assert (done.returncode, own in done.stderr) == (2, True)
    assert not (sent.parent / "canary").exists()


@pytest.mark.parametrize("command", ["resume", "study status", "episodes trust"])
def test_a_study_that_was_never_begun_is_obeyed_by_run_and_check_alone(sent, command):
    shutil.rmtree(sent / "few")
    (sent / "study.json").unlink()
    done = _as("me", command, sent)
    assert not (sent.parent / "canary").exists()
    assert ("trusted" in done.stdout, "Traceback" in done.stderr) == (False, False)


@pytest.mark.parametrize(
    ("sandbox", "asked"),
    [
        ("unsafe-subprocess", "sandbox unsafe-subprocess (code). To allow it"),
        ("docker", "nothing outside."),
    ],
)
def test_code_without_a_sandbox_is_listed(sent, sandbox, asked):
    (sent / "study.toml").write_text(PLAN.replace("limit = 2", f'sandbox = "{sandbox}"'))
    assert f"it asks for: {asked}" in _as("me", "resume", sent).stderr


@pytest.mark.parametrize("kind", ["a fifo", "a link out of the folder"])
def test_a_plan_that_is_no_plain_file_of_the_folder_is_not_opened(sent, kind):
    (sent / "study.toml").unlink()
    if kind == "a fifo":
        os.mkfifo(sent / "study.toml")
    else:
        (sent.parent / "elsewhere.toml").write_text(PLAN)
        (sent / "study.toml").symlink_to(sent.parent / "elsewhere.toml")
    for command in ("study status", "resume", "episodes trust", "compare"):
        done = _as("me", command, sent)
        assert (done.returncode, "cannot read" in done.stderr) == (2, True), command
