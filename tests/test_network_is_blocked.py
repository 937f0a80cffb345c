"""The suite itself cannot reach the network."""

import socket

import pytest


def test_another_host_is_neither_reached_nor_looked_up():
    with (
        socket.socket() as plain,
        pytest.raises(RuntimeError, match=r"tried to reach 192\.0\.2\.1"),
    ):
        plain.connect(("192.0.2.1", 80))
    with pytest.raises(RuntimeError, match=r"tried to look up example\.com"):
        socket.getaddrinfo("example.com", 80)
