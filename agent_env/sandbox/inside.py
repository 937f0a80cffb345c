"""The worker of bubblewrap and Docker: sets the limits that those cannot, then serves."""

from __future__ import annotations

import json
import os
import sys

from agent_env.sandbox.isolate import Bounds, limit_resources
from agent_env.sandbox.worker import serve


def main() -> None:
    """As a program: work directory and bounds; the harness is at descriptors 0 and 1."""
    os.chdir(sys.argv[1])
    os.umask(0o077)
    bounds = Bounds(**json.loads(sys.argv[2]))
    limit_resources(bounds)
    os.nice(5)
    serve(0, 1, bounds.output_bytes, True)
