"""The worker of bubblewrap and Docker: does what those cannot, then serves."""

from __future__ import annotations

import json
import os
import sys

from agent_env.sandbox.process_finder import numbers_here
from agent_env.sandbox.rlimits import Bounds, limit_resources
from agent_env.sandbox.worker import serve


def main() -> None:
    """As a program: work directory, bounds, `landlock` where that is wanted.

    The harness is at descriptors 0 and 1.
    """
    os.chdir(sys.argv[1])
    os.umask(0o077)
    bounds = Bounds(**json.loads(sys.argv[2]))
    limit_resources(bounds)
    os.nice(5)
    if "landlock" in sys.argv[3:]:
        from agent_env.sandbox import landlock

        landlock.install(sys.argv[1])
    serve(0, 1, bounds.output_bytes, bounds.numbers or numbers_here())
