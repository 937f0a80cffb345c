"""`view` as a user runs it."""

import signal
import socket
import subprocess

import httpx

from tests.commands import agent_env, running


def test_view_prints_the_address_of_the_run_serves_there_and_ends_with_ctrl_c(small_run):
    with running("view", str(small_run), "--port", "0", stderr=subprocess.PIPE) as server:
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith(f"/run/{small_run.name}/")
        assert "reference" in httpx.get(address, timeout=300.0).text
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=300)
    assert "Traceback" not in errors


def test_a_port_that_is_taken_is_told_in_a_line(small_run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = agent_env("view", str(small_run), "--port", port)
    assert refused.returncode == 2
    assert f"cannot listen on port {port}" in refused.stderr
