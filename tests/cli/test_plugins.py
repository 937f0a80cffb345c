"""`agent-env episodes trust` shows what a folder would do, and does nothing."""

import json

from tests.commands import agent_env, run_puzzles


def _run(folder, **entries):
    run = run_puzzles(folder / "run", env={"XDG_STATE_HOME": str(folder / "theirs")})
    file = run / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | entries))
    return run


def test_a_foreign_run_is_shown_and_left_alone(tmp_path):
    canary, state = tmp_path / "canary", {"XDG_STATE_HOME": str(tmp_path / "mine")}
    run = _run(
        tmp_path,
        features={"local_models": {"command": f"touch {canary}"}},
        model_parameters={"base_url": "http://127.0.0.1:9/v1"},
        reply_cache=str(canary),
    )
    done = agent_env("episodes", "trust", str(run), env=state)
    assert (done.returncode, done.stderr) == (0, "")
    server, cache, plan = done.stdout.splitlines()
    assert server == f"run.json: server touch {canary} (runs on this machine) [command] asks"
    assert cache == f"run.json: reply cache {canary} [file] asks"
    assert plan.startswith("run.json: plan 1 episodes, without limits of the run (these, and all")
    assert not canary.exists()
    assert not (tmp_path / "mine").exists()
    assert "--trust-run" in agent_env("resume", str(run), env=state).stderr


def test_what_was_allowed_is_said(tmp_path):
    state = {"XDG_STATE_HOME": str(tmp_path / "mine")}
    run = _run(tmp_path, reply_cache=str(tmp_path / "cache"))
    assert agent_env("resume", str(run), "--trust-run", env=state).returncode == 0
    row, plan = json.loads(agent_env("episodes", "trust", str(run), "--json", env=state).stdout)
    assert (plan["trusted"], row["trusted"]) == (True, True)
    assert (row["what"], row["reach"]) == (f"reply cache {tmp_path / 'cache'}", "file")


def test_a_folder_without_anything_to_ask_for_is_one_line(small_run, tmp_path):
    done = agent_env("episodes", "trust", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"agent-env: {tmp_path} is neither a run nor a study and holds none\n"
    done = agent_env("episodes", "trust", str(small_run))
    assert (done.returncode, done.stdout) == (0, "")
    assert "asks for nothing outside" in done.stderr
