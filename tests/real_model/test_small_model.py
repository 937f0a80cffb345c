"""The packaged 135M model behind our llama.cpp server: not what it answers, but that a real server
and a real model are asked, streamed, cut, recorded and resumed as the fake ones are.

Run by .ci/real_model, within two CPU-minutes; replies are cut after a few tokens.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_env.errors import ConfigError
from agent_env.features.local_models.files import find_local
from agent_env.features.local_models.records import ModelServer
from agent_env.runs.run import Run
from tests.commands import agent_env, running

pytestmark = pytest.mark.real_model
NAME = "SmolLM2-135M-Instruct.Q4_1"


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    try:
        find_local("local")
    except ConfigError as exc:
        pytest.skip(str(exc))


@pytest.fixture(scope="module")
def url(packages: None) -> Iterator[str]:
    """The address of a model that is kept running."""
    with running("serve", "model", "--slots", "1", "--threads", "1") as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()
        process.wait(30)


@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=["whole", "streamed"])
@pytest.mark.parametrize("protocol", ["native", "text"])
@pytest.mark.parametrize("api", ["compatible", "openai"])
def test_a_real_server_is_asked_by_both_apis_and_protocols(
    tmp_path: Path, url: str, api: str, protocol: str, stream: tuple[str, ...]
) -> None:
    address = ("--base-url", url) if api == "compatible" else ()
    done = agent_env(
        "run", "time-puzzles", "--model", f"{api}/{NAME}", *address, "--limit", "1",
        "--condition", "web", "--tool-protocol", protocol, "--max-output-tokens", "8",
        "--no-preflight", *stream, "--out", str(tmp_path / "run"),
        env={"OPENAI_BASE_URL": url, "OPENAI_" + "API_KEY": "none-needed"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (trace,) = Run.open(tmp_path / "run").traces()
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    call = next(event for event in events if event["kind"] == "model_called")
    assert call["reply"]["model"] == NAME
    assert call["reply"]["usage"]["source"] == "provider"
    assert 1 <= call["reply"]["usage"]["output_tokens"] <= 8
    assert events[-1]["kind"] == "episode_finished"


def test_a_killed_run_leaves_no_server_and_is_resumed_without_asking_twice(tmp_path: Path) -> None:
    folder, others = tmp_path / "run", _processes()
    words = ("run", "time-puzzles", "--model", "local", "--condition", "base", "--limit", "2",
             "--concurrency", "1", "--max-output-tokens", "24", "--out", str(folder))  # fmt: skip
    with running(*words) as process:
        until = time.monotonic() + 200
        while len(_calls(folder)) < 1 and time.monotonic() < until:
            time.sleep(0.1)
        process.kill()
        process.wait()
    (first,) = _calls(folder)
    server = ModelServer.model_validate(Run.open(folder).manifest.features["local_models"])
    assert server.file is not None
    assert (server.file.quantisation, server.file.licence) == ("Q4_1", "apache-2.0")
    assert (server.models, server.context_tokens) == ((NAME,), 8192)
    until = time.monotonic() + 120  # a niced process on a busy machine frees its memory slowly
    while (left := _processes() - others) and time.monotonic() < until:
        time.sleep(0.1)
    assert left == set()
    done = agent_env("resume", str(folder))
    assert done.returncode == 0, done.stderr
    calls = _calls(folder)
    assert len(calls) == 2
    assert first in calls
    assert "base~schema" in done.stdout


def _calls(folder: Path) -> list[str]:
    traces = sorted(folder.glob("episodes/*/*.jsonl"))
    lines = [line for trace in traces for line in trace.read_text().splitlines()]
    return [line for line in lines if '"kind":"model_called"' in line]


def _processes() -> set[str]:
    """Of servers of packaged models, started from this environment: their folders in /proc."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = place.read_text()
        except OSError:
            continue
        if "llama.py" in command and sys.prefix in command:
            found.add(str(place.parent))
    return found
