"""`agent-env trust` shows what a folder would do, and does nothing."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands import agent_env


def _run(folder: Path, **entries: object) -> Path:
    run = folder / "run"
    done = agent_env(
        "run", "time-puzzles", "--limit", "1", "--condition", "base", "--out", str(run),
        env={"XDG_STATE_HOME": str(folder / "theirs")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    file = run / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | entries))
    return run


def test_a_foreign_run_is_shown_and_left_alone(tmp_path: Path) -> None:
    canary, state = tmp_path / "canary", {"XDG_STATE_HOME": str(tmp_path / "mine")}
    run = _run(
        tmp_path,
        server={"command": f"touch {canary}"},
        model_parameters={"base_url": "http://127.0.0.1:9/v1"},
        reply_cache=str(canary),
    )
    done = agent_env("trust", str(run), env=state)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"run.json: server touch {canary} (runs on this machine) [command] asks",
        f"run.json: reply cache {canary} [file] asks",
    ]
    assert not canary.exists()
    assert not (tmp_path / "mine").exists()
    assert "--trust-run" in agent_env("resume", str(run), env=state).stderr


def test_what_was_allowed_is_said(tmp_path: Path) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path / "mine")}
    run = _run(tmp_path, reply_cache=str(tmp_path / "cache"))
    assert agent_env("resume", str(run), "--trust-run", env=state).returncode == 0
    (row,) = json.loads(agent_env("trust", str(run), "--json", env=state).stdout)
    assert (row["what"], row["reach"], row["trusted"]) == (
        f"reply cache {tmp_path / 'cache'}", "file", True,
    )  # fmt: skip


def test_a_folder_without_either_is_one_line(tmp_path: Path) -> None:
    done = agent_env("trust", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"agent-env: {tmp_path} is no run and no study, and holds none\n"


def test_a_harmless_run_asks_for_nothing(tmp_path: Path) -> None:
    done = agent_env("trust", str(_run(tmp_path)))
    assert (done.returncode, done.stdout) == (0, "")
    assert "asks for nothing outside" in done.stderr
