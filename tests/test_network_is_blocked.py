"""The suite itself cannot reach the network."""

import socket

import pytest


def test_a_connection_to_another_host_is_refused():
    with (
        socket.socket() as plain,
        pytest.raises(RuntimeError, match=r"tried to reach 192\.0\.2\.1"),
    ):
        plain.connect(("192.0.2.1", 80))


def test_a_lookup_of_a_name_is_refused():
    with pytest.raises(RuntimeError, match=r"tried to look up example\.com"):
        socket.getaddrinfo("example.com", 80)
