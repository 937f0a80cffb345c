"""The backend that needs nothing installed: Linux namespaces, from the standard library alone.

See docs/sandbox.md for what it covers. One fork server per backend; each session is a fork of it
that isolates itself. Where the harness is root, each session runs as a spare uid of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from agent_env.sandbox.forked import ForkedBackend, lent_uids
from agent_env.sandbox.layout import GUEST, WORK, Bind, SandboxFiles
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.packages import module_names
from agent_env.sandbox.process_finder import numbers_here


def namespaces(limits: SandboxLimits, use_cgroups: bool = True) -> ForkedBackend:
    """The backend; `use_cgroups=False` leaves total memory to the watchdog."""

    def make_command(layout: SandboxFiles, control: int, proc: int) -> list[str]:
        bounds = json.dumps({**asdict(limits), "numbers": numbers_here()})
        uids = str(len(lent_uids() or ()))
        arguments = (str(control), str(proc), uids, WORK, bounds, *module_names())
        return staged(layout, proc, layout.command("forkserver", *arguments))

    return ForkedBackend("namespaces", limits, make_command, use_cgroups, has_clock=True)


def staged(
    layout: SandboxFiles,
    proc: int,
    command: list[str],
    more: tuple[Bind, ...] = (),
    see_proc: bool = False,
    covered: Sequence[str] = (),
) -> list[str]:
    """The command, to be run where nothing but the layout and `more` is to be seen, without the
    content of the `covered` folders in them."""
    pairs = [(bind.source, bind.target) for bind in (*layout.binds, *more)]
    uids = lent_uids()
    plan = {
        "uids": uids and (uids[0], len(uids)),
        "proc": proc,
        "see_proc": see_proc,
        "folders": ["/dev", "/proc", "/tmp", WORK],
        "empty_files": layout.empty_files,
        "copies": [pair for pair in pairs if pair[1].startswith(GUEST)],
        "binds": [pair for pair in pairs if not pair[1].startswith(GUEST)],
        "programs": [bind.target for bind in layout.binds if bind.target.startswith(GUEST)],
        "covered": [*layout.covered, *covered],
        "command": command,
        "environment": layout.environment,
    }
    above = str(Path(__file__).parents[2])
    start = (
        f"import sys; sys.path.insert(0, {above!r}); "
        "from agent_env.sandbox.stage import main; main()"
    )
    return [layout.python, "-I", "-S", "-B", "-c", start, json.dumps(plan)]
