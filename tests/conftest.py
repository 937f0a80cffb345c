"""Blocks the network for the whole suite: only Unix sockets and loopback get through; keeps records
of runs to itself; and lets hypothesis take as long as a busy machine needs."""

from __future__ import annotations

import atexit
import ipaddress
import os
import sys
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, settings


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        _, address = arguments
        if isinstance(address, tuple) and not _is_local(str(address[0])):
            raise RuntimeError(f"a test tried to reach {address[0]}")
    if event == "socket.getaddrinfo" and not _is_local(str(arguments[0])):
        raise RuntimeError(f"a test tried to look up {arguments[0]}")


def _is_local(host: str) -> bool:
    if host in ("localhost", "", "None"):
        return True
    try:
        return ipaddress.ip_address(host.split("%")[0]).is_loopback
    except ValueError:
        return False


sys.addaudithook(_refuse_network)

_STATE = TemporaryDirectory(prefix="agent-env-state-")
atexit.register(_STATE.cleanup)
os.environ["XDG_STATE_HOME"] = _STATE.name  # the user's own records are left alone
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = _STATE.name  # reading all certificates takes longer than most tests


def pytest_collection_finish() -> None:
    """From here on no bytecode is written: a plug-in that a test imports would leave some beside
    it. The tests and the package have theirs by now."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
