"""The command line as a user types it: in a process of its own, without key or network."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_env.episodes.trace import read_trace
from agent_env.testing import puzzle


def agent_env(
    *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    return subprocess.run(
        [sys.executable, "-m", "agent_env", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean | (env or {}),
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, float]]]:
    """A small run, as its JSON tells it."""
    out = tmp_path_factory.mktemp("runs") / "first"
    conditions = ["--condition", "base", "--condition", "web", "--condition", "explicit"]
    done = agent_env(
        "run", "time-puzzles", "--limit", "4", "--out", str(out), *conditions, "--json"
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["run"] == str(out)
    return out, told["conditions"]


def test_reference_gets_all_right_with_the_web(
    run: tuple[Path, dict[str, dict[str, float]]],
) -> None:
    _, conditions = run
    assert list(conditions) == ["base", "web", "explicit"]
    assert conditions["web"]["exact_match"] == 1.0
    assert conditions["explicit"]["exact_match"] == 1.0
    wanted = {"episodes", "failed", "unreadable", "exact_match", "f1", "jaccard", "input_tokens",
              "output_tokens", "steps", "tool_calls"}  # fmt: skip
    assert wanted <= conditions["web"].keys()


def test_scores_are_made_again_from_the_traces_alone(
    run: tuple[Path, dict[str, dict[str, float]]],
) -> None:
    out, conditions = run
    before = (out / "scores.jsonl").read_bytes()
    (out / "scores.jsonl").unlink()
    done = agent_env("score", str(out), "--json")
    assert json.loads(done.stdout)["conditions"] == conditions
    assert (out / "scores.jsonl").read_bytes() == before


def test_the_same_seed_gives_the_same_samples_and_scores(
    run: tuple[Path, dict[str, dict[str, float]]], tmp_path: Path
) -> None:
    out, _ = run
    again = tmp_path / "again"
    agent_env(
        "run", "time-puzzles", "--limit", "4", "--out", str(again), "--condition", "base",
        "--condition", "web", "--condition", "explicit",
    )  # fmt: skip
    for name in ("samples.jsonl", "scores.jsonl"):
        assert (again / name).read_bytes() == (out / name).read_bytes()


def test_show_prints_the_episode(run: tuple[Path, dict[str, dict[str, float]]]) -> None:
    out, _ = run
    done = agent_env("show", str(out / "episodes/web/tp-1-00001.1.jsonl"))
    assert done.returncode == 0
    for part in ("[user] Below is a list", "calls web_search", "MY ANSWER:", "== ended: answered"):
        assert part in done.stdout


def test_compare_pairs_conditions_by_sample(
    run: tuple[Path, dict[str, dict[str, float]]],
) -> None:
    out, _ = run
    told = json.loads(agent_env("compare", str(out), "--json").stdout)
    assert list(told) == ["web", "explicit"]
    assert told["web"]["pairs"] == 4


def test_a_dataset_is_asked_instead_and_filtered(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    samples = [puzzle("one"), puzzle("two", [])]
    file.write_text("".join(sample.model_dump_json() + "\n" for sample in samples))
    done = agent_env(
        "run", "time-puzzles", "--dataset", str(file), "--where", "solution_count=0",
        "--condition", "base", "--out", str(tmp_path / "run"), "--json",
    )  # fmt: skip
    assert json.loads(done.stdout)["conditions"]["base"]["episodes"] == 1
    manifest = json.loads((tmp_path / "run/run.json").read_text())
    assert (manifest["dataset"], manifest["where"]) == ("own.jsonl", ["solution_count=0"])


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run", "puzzles"], "unknown task 'puzzles'; known: time-puzzles"),
        (
            ["run", "time-puzzles", "--model", "gpt"],
            "unknown model 'gpt'; known: reference, reference-static, openai/NAME, compatible/NAME",
        ),
        (["run", "time-puzzles", "--condition", "net"], "unknown condition 'net': no part 'net';"),
        (
            ["run", "time-puzzles", "--model", "openai/gpt-5"],
            "model openai/gpt-5 needs a key: set OPENAI_API_KEY",
        ),
        (["run", "time-puzzles", "--model", "compatible/x"], "model compatible/x needs --base-url"),
        (["run", "time-puzzles", "--dataset", "none.jsonl"], "cannot read none.jsonl"),
        (["run", "time-puzzles", "--where", "size=1"], "--where: no field 'size'"),
        (["run", "time-puzzles", "--out", "/proc/run"], "cannot write to /proc/run"),
        (["run", "time-puzzles", "--prompt", "x"], "unknown prompt 'x'"),
        (["score", "nowhere"], "nowhere is no run"),
        (["resume", "nowhere"], "nowhere is no run"),
    ],
)
def test_a_mistake_of_the_user_is_one_line_and_exit_2(
    arguments: list[str], line: str, tmp_path: Path
) -> None:
    done = agent_env(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"agent-env: {line}")


def test_a_run_is_not_written_over(run: tuple[Path, dict[str, dict[str, float]]]) -> None:
    out, _ = run
    done = agent_env("run", "time-puzzles", "--out", str(out))
    assert (done.returncode, "holds a run already" in done.stderr) == (2, True)


def test_a_key_is_not_written_anywhere(tmp_path: Path) -> None:
    key = "sk-planted-0123456789"
    done = agent_env(
        "run", "time-puzzles", "--model", "openai/gpt-5", "--base-url", "http://127.0.0.1:9/v1",
        "--limit", "1", "--condition", "base", "--out", str(tmp_path / "run"),
        env={"OPENAI_API_KEY": key},
    )  # fmt: skip
    assert "1 failed" in done.stderr
    written = [p for p in (tmp_path / "run").rglob("*") if p.is_file()]
    assert len(written) >= 3
    assert not [p for p in written if key.encode() in p.read_bytes()]
    assert key not in done.stdout + done.stderr


def test_ctrl_c_leaves_valid_traces_and_says_how_to_go_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-m", "agent_env", "run", "time-puzzles", "--limit", "200",
         "--condition", "explicit", "--condition", "web", "--out", str(out)],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 100
    while len(list(out.glob("episodes/*/*.jsonl"))) < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"Go on with: agent-env resume {out}" in said
    for trace in out.glob("episodes/*/*.jsonl"):
        read_trace(trace)


def test_resume_finishes_what_is_missing(tmp_path: Path) -> None:
    out = tmp_path / "run"
    agent_env("run", "time-puzzles", "--limit", "3", "--condition", "explicit", "--out", str(out))
    (out / "episodes/explicit/tp-1-00002.1.jsonl").unlink()
    done = agent_env("resume", str(out), "--json")
    assert "1 of 3 episodes ran" in done.stderr
    assert json.loads(done.stdout)["conditions"]["explicit"]["exact_match"] == 1.0


def test_doctor_names_sandboxes_keys_and_tokenizers() -> None:
    told = json.loads(agent_env("doctor", "--json").stdout)
    assert "sandbox namespaces" in told
    assert told["key OPENAI_API_KEY"]["ok"] is False
    assert told["tokenizer estimate"]["ok"] is True
