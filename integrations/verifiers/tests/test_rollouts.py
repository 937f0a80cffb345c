"""Rollouts of `vf-eval` earn what `agent-env run` scores, for the same scripted replies."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

AGENT_ENV = os.environ.get("AGENT_ENV") or shutil.which("agent-env") or ""
ROOT = Path(__file__).parents[3]
CONDITIONS = ("--condition", "base", "--condition", "web+python")
TOKEN = {"AGENT_ENV_TOKEN": "of-the-tests"}

pytestmark = pytest.mark.skipif(not AGENT_ENV, reason="AGENT_ENV names no agent-env command")


@contextmanager
def server(*words: str) -> Iterator[str]:
    """The address that the command prints, while it runs."""
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env={**os.environ, **TOKEN}, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"http://[\d.:]+", process.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            process.terminate()
            process.wait(timeout=30)


def scores_of(run: Path) -> dict[str, float]:
    """The main metric by condition/sample."""
    subprocess.run([AGENT_ENV, "show", str(run)], check=True, capture_output=True)
    lines = [json.loads(line) for line in (run / "scores.jsonl").read_text().splitlines()]
    return {f"{s['condition']}/{s['sample']}": next(iter(s["metrics"].values())) for s in lines}


def evaluate(address: str, model: str, folder: Path) -> list[dict]:
    """The traces of an evaluation."""
    command = [
        str(Path(sys.executable).with_name("vf-eval")), "agent-env-verifiers",
        "--model", "reference-static", "--client.base-url", f"{model}/v1",
        "--env.agent.runtime.type", "subprocess", "--no-push", "--no-rich",
        "-o", str(folder), "--run.name", "rollouts",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=280,
                   env={**os.environ, **TOKEN, "AGENT_ENV_URL": address})  # fmt: skip
    lines = (folder / "rollouts" / "traces.jsonl").read_text().splitlines()
    return [trace for line in lines for trace in json.loads(line)["traces"]]


def test_rewards_are_the_scores_of_a_run(tmp_path: Path) -> None:
    ours, served = tmp_path / "ours", tmp_path / "served"
    python = str(Path(AGENT_ENV).with_name("python"))
    with server(python, "-m", "tests.fake_server", "--policy", "reference-static") as model:
        subprocess.run(
            [AGENT_ENV, "run", "time-puzzles", *CONDITIONS, "--limit", "3", "--out", str(ours),
             "--model", "compatible/reference-static", "--base-url", f"{model}/v1"],
            check=True, capture_output=True, env={**os.environ, "COMPATIBLE_API_KEY": "none"},
        )  # fmt: skip
        words = (AGENT_ENV, "serve", "http", "time-puzzles", *CONDITIONS, "--limit", "3",
                 "--out", str(served), "--port", "0", "--token-env", "AGENT_ENV_TOKEN")  # fmt: skip
        with server(*words) as address:
            traces = evaluate(address, model, tmp_path / "outputs")
    rewards = {t["task"]["data"]["name"]: t["rewards"]["reward"]["score"] for t in traces}
    expected = scores_of(ours)
    assert len(rewards) == len(expected) == 6
    for condition in ("base/", "web+python/"):  # the served names are not those of the samples
        assert sorted(s for name, s in rewards.items() if name.startswith(condition)) == sorted(
            s for name, s in expected.items() if name.startswith(condition)
        )
    assert scores_of(served) == expected
