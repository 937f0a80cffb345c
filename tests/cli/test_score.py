"""`view` and `compare --html` as a user runs them."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.cli.test_compare import agent_env_without
from tests.commands import agent_env, running
from tests.extensions.viewer.stage import RIGHT, WRONG, make_run, score, write


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("runs")
    for name, answer in (("one", RIGHT), ("two", WRONG)):
        folder = make_run(found / name, ["s1", "s2", "s3"], ("base", "web"), model=name)
        for sample in ("s1", "s2", "s3"):
            write(folder, sample, answer)
            write(folder, sample, WRONG, condition="base")
        score(folder)
    return found


def test_view_prints_its_address_serves_there_and_ends_with_ctrl_c(root: Path) -> None:
    with running("view", str(root), "--port", "0", stderr=subprocess.PIPE) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert "two" in httpx.get(address, timeout=300.0).text
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=300)
    assert "Traceback" not in errors


def test_what_cannot_be_viewed_is_told_in_a_line(root: Path, tmp_path: Path) -> None:
    missing = agent_env("view", str(tmp_path / "none"))
    assert missing.returncode == 2
    assert "is no folder" in missing.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = agent_env("view", str(root), "--port", port)
    assert refused.returncode == 2
    assert f"cannot listen on port {port}" in refused.stderr


def test_a_missing_extra_is_named(root: Path) -> None:
    done = agent_env_without("starlette", "view", str(root))
    assert done.returncode == 2
    assert "agent-env[viewer]" in done.stderr


def test_compare_writes_one_html_file_with_method_tables_and_figures(
    root: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep/report.html"
    done = agent_env("compare", str(root), "--html", str(out), "--resamples", "1000")
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    for part in (
        "3 samples that all runs share", "12 episodes asked for, 12 finished", "seed 20261121",
        "Why answers are wrong", "samples&#39; digest", "sealed", "<svg", "one web − one base",
    ):  # fmt: skip
        assert part in text
    for outside in (' src="', "@import", "<link", "url(http"):
        assert outside not in text


def test_a_report_that_cannot_be_written_is_told(root: Path) -> None:
    done = agent_env("compare", str(root), "--html", "/proc/none/x.html", "--resamples", "1000")
    assert done.returncode == 2
    assert "cannot write to /proc/none/x.html" in done.stderr
