"""The audit hook of the suite, which Python calls for everything that it does: it refuses the
network, and lets tests watch. There is one, since it cannot be taken out and costs all tests."""

import ipaddress
import sys
from contextlib import contextmanager

watchers = []
"""Functions of an event and its arguments, called while a test looks."""


@contextmanager
def watching(watch):
    """Calls the function for all that is done in the block."""
    watchers.append(watch)
    try:
        yield
    finally:
        watchers.remove(watch)


def _hook(event, arguments):
    if event == "socket.connect" or event == "socket.getaddrinfo":  # quicker
        _refuse_network(event, arguments)
    for watch in watchers:
        watch(event, arguments)


def _refuse_network(event, arguments):
    if event == "socket.connect":
        _, address = arguments
        if isinstance(address, tuple) and not _is_local(str(address[0])):
            raise RuntimeError(f"a test tried to reach {address[0]}")
    if event == "socket.getaddrinfo" and not _is_local(str(arguments[0])):
        raise RuntimeError(f"a test tried to look up {arguments[0]}")


def _is_local(host):
    if host in ("localhost", "", "None"):
        return True
    try:
        return ipaddress.ip_address(host.split("%")[0]).is_loopback
    except ValueError:
        return False


sys.addaudithook(_hook)
