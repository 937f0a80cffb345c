"""agent-env's servers and OpenEnv's, as processes of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AGENT_ENV = os.environ.get("AGENT_ENV") or shutil.which("agent-env") or ""
CONDITIONS = ("--condition", "base", "--condition", "web+python")


@contextmanager
def process(command: list[str], **environment: str) -> Iterator[str]:
    """The address that the command tells, while it runs."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, **environment},
    ) as server:  # fmt: skip
        assert server.stdout is not None
        try:
            lines = []
            for line in server.stdout:
                lines.append(line)
                if found := re.search(r"http://[\d.:]+", line):
                    break
            else:
                raise AssertionError("".join(lines))
            threading.Thread(target=server.stdout.read, daemon=True).start()
            yield found[0]
        finally:
            server.terminate()
            server.wait(timeout=30)


@contextmanager
def openenv(task: str, run: Path, limit: int = 3) -> Iterator[str]:
    """The address of OpenEnv's server before `agent-env serve http TASK`."""
    words = [
        AGENT_ENV,
        "serve",
        "http",
        task,
        *CONDITIONS,
        "--limit",
        str(limit),
        "--out",
        str(run),
    ]
    with (
        process(
            [*words, "--port", "0", "--token-env", "AGENT_ENV_TOKEN", "--show-metrics"],
            AGENT_ENV_TOKEN="of-the-tests",
        ) as inner,
        process(
            [sys.executable, "-m", "agent_env_openenv.server.app", "--port", "0"],
            AGENT_ENV_URL=inner,
            AGENT_ENV_TOKEN="of-the-tests",
        ) as url,
    ):
        yield url


def scores_of(run: Path) -> dict[str, float]:
    """The main metric by condition/sample."""
    subprocess.run([AGENT_ENV, "show", str(run)], check=True, capture_output=True)
    lines = [json.loads(line) for line in (run / "scores.jsonl").read_text().splitlines()]
    return {f"{s['condition']}/{s['sample']}": next(iter(s["metrics"].values())) for s in lines}
