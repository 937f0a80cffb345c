"""Runs against the fake server on loopback: with errors of every class, and with limits."""

import asyncio
import json
import os
import signal
import subprocess
import time
from dataclasses import replace

import pytest

from agent_env.episodes.calls.budget import RunLimits
from agent_env.episodes.calls.options import CallOptions
from agent_env.episodes.calls.retries import Retries
from agent_env.features.reference.policy import Reference
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.start import run_episodes, start_run
from agent_env.wiring import models as model_wiring
from tests.commands import agent_env, running, serving
from tests.fake_server import serve
from tests.plans import QUIET, finished

EVERY_CLASS = {
    "429": 0.1, "500": 0.1, "cut": 0.1, "html": 0.1, "empty": 0.1, "no-reply": 0.1,
    "error-body": 0.1, "hang": 0.1,
}  # fmt: skip
TOKENS = ("input_tokens", "output_tokens")


def in_the_traces(run, where="episodes"):
    """All events, as plain JSON."""
    files = sorted((run / where).glob("*/*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def added_up(events):
    """The tokens in events, added up without any code of the package."""
    calls = [event for event in events if event["kind"] == "model_called"]
    usages = [call.get("reply", call).get("usage", {}) for call in calls]
    return {name: sum(usage.get(name, 0) for usage in usages) for name in TOKENS}


def told(spent):
    return {name: sum(row[name] for row in spent.values()) for name in TOKENS}


async def test_with_errors_of_every_class_no_episode_is_lost_or_run_twice(
    hurried, tmp_path, monkeypatch
):
    """Four of five requests fail. What the server saw, the traces tell, no more and no less; what
    still fails at the end of its tries is failed and resumed, not lost."""
    monkeypatch.setattr(model_wiring, "MODEL_TIMEOUT_S", 1.0)
    out = tmp_path / "run"
    retries = Retries(attempts=12, first_wait_s=0.001, longest_wait_s=0.01)
    asked = RunOptions(
        task="time-puzzles", model="compatible/x", conditions=("base", "web"), limit=3, out=out,
        concurrency=12, calls=CallOptions(retries=retries, breaker=None),
    )  # fmt: skip
    async with serve(Reference(), errors=EVERY_CLASS, seed=3) as server:
        await start_run(replace(asked, base_url=server.url), QUIET)
        for _ in range(9):
            if all(e["kind"] != "episode_failed" for e in in_the_traces(out)):
                break
            await run_episodes(Run(out), None, QUIET)
        counts = dict(server.counts)
    events = in_the_traces(out)
    ends = [event["episode"] for event in events if event["kind"] == "episode_finished"]
    assert len(ends) == len(set(ends)) == 6
    starts = [event["episode"] for event in events if event["kind"] == "episode_started"]
    assert sorted(starts) == sorted(ends)
    calls = [event for event in events if event["kind"] == "model_called"]
    assert len(calls) == counts["/v1/chat/completions"]
    late = sum("no reply within" in call.get("error", "") for call in calls) - counts["hang"]
    unread = counts["answered"] - sum("reply" in call for call in calls)
    assert 0 <= unread <= late  # answered after we had given up on it, as on a busy machine
    assert {kind for kind in EVERY_CLASS if counts.get(kind)} == set(EVERY_CLASS)

    scored = json.loads(agent_env("show", str(out), "--json").stdout)
    compared = json.loads(agent_env("compare", str(out), "--json").stdout)
    spent = {name: row["spent"] for name, row in scored["conditions"].items()}
    assert told(spent) == told(compared["spent"]) == added_up(events)
    assert spent == {name: compared["spent"][name] for name in spent}


@pytest.fixture(scope="module")
def server():
    """The address of a fake server."""
    with serving(serve(Reference(), latency_s=0.05)) as url:
        yield url


ASK = ("run", "time-puzzles", "--no-preflight", "--model", "compatible/x", "--condition", "base",
       "--limit", "12")  # fmt: skip


def test_a_killed_run_keeps_its_account_and_a_spent_one_says_how_to_go_on(server, tmp_path):
    """What was spent before a kill counts after it, and against the limit."""
    out = tmp_path / "run"
    command = (*ASK, "--base-url", server, "--out", str(out), "--concurrency", "1")
    with running(*command, stdout=subprocess.DEVNULL) as process:
        while not added_up(in_the_traces(out) if out.exists() else []).get("input_tokens"):
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    before = added_up(in_the_traces(out))

    stopped = agent_env("resume", str(out), "--run-tokens", "1500")
    assert stopped.returncode == 1
    last = stopped.stderr.splitlines()[-1]
    assert last.startswith("agent-env: stopped: the run has used ")
    assert last.endswith(f"continue with: agent-env resume {out} --run-tokens 3000")
    after = added_up(in_the_traces(out))
    assert before["input_tokens"] <= after["input_tokens"]
    assert sum(after.values()) < 1500 + 300  # less than one call too much

    asyncio.run(run_episodes(Run(out), None, QUIET, RunLimits(tokens=60_000)))
    ends = [e["episode"] for e in in_the_traces(out) if e["kind"] == "episode_finished"]
    assert len(ends) == len(set(ends)) == 12
    assert json.loads((out / "run.json").read_text())["run_limits"]["tokens"] == 60_000


def test_a_limit_is_advised_under_which_the_next_call_can_be_made(server, tmp_path):
    out = tmp_path / "run"
    words = ("--base-url", server, "--out", str(out), "--run-tokens", "100", "--concurrency", "1")
    stopped = agent_env(*ASK, *words, "--json")
    assert json.loads(stopped.stdout)["never_began"] == {"base": 11}
    advised = int(stopped.stderr.split()[-1])
    needed = int(stopped.stderr.split("may need ")[1].split(";")[0])
    assert (stopped.returncode, needed <= advised < needed + 10) == (1, True)
    again = agent_env("resume", str(out), "--run-tokens", str(advised))
    assert " never begun. They are in no mean." in " ".join(again.stdout.split())
    assert added_up(in_the_traces(out))["input_tokens"] > 0
    assert f"of its {advised} tokens" in again.stderr


def test_costs_and_late_samples_are_told(server, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text(
        '[models."compatible/x"]\ninput_per_million = 1.0\noutput_per_million = 10.0\n'
        'date = 2026-01-01\nsource = "made up"\nknowledge_cutoff = "1700"\n'
    )
    asked = {"limit": 2, "seed": 2}  # both ask for an event with a date
    run = finished(
        tmp_path / "run", model="compatible/x", conditions=("base",), base_url=server,
        calls=CallOptions(prices=prices), **asked,
    )  # fmt: skip
    done = agent_env("show", str(run.path), "--json")
    scored = json.loads(done.stdout)
    base = scored["conditions"]["base"]
    spent = base["spent"]
    cost = (spent["input_tokens"] + 10 * spent["output_tokens"]) / 1_000_000
    assert (spent["cost_usd"], base["cost_usd"]) == pytest.approx((cost, cost / 2))
    assert scored["after_cutoff"]["count"] == 2
    assert "2 of 2 samples ask for an event after the model's knowledge cutoff" in done.stderr
    facts = run.manifest.model_facts
    assert (facts.source, facts.knowledge_cutoff) == ("made up", "1700")
