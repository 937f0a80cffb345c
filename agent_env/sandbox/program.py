"""Inside: becomes a program of somebody else's, shut in as a session's code is."""

from __future__ import annotations

import json
import os
import signal
import sys

from agent_env.sandbox import kernel
from agent_env.sandbox.isolate import leave_host, shut_in
from agent_env.sandbox.rlimits import Bounds, forbid_cores


def main() -> None:
    """As a program: descriptors of /proc and of the environment as JSON, which no list of processes
    shows; uid or 0, work directory, bounds, then the command. Ends as the command does."""
    proc, variables, uid, work, bounds, *command = sys.argv[1:]
    with open(int(variables)) as file:
        environment = json.load(file)
    forbid_cores()
    if int(uid):
        kernel.take_uid(int(uid))
    leave_host(int(proc))
    os.close(int(proc))
    first = os.fork()
    if first == 0:
        try:
            kernel.prctl(1, signal.SIGKILL)  # dies with the one that waits
            shut_in(Bounds(**json.loads(bounds)), work)
            os.execvpe(command[0], command, environment)
        except OSError as exc:
            os.write(2, f"cannot start {command[0]} in the sandbox: {exc}\n".encode())
        os._exit(127)
    code = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    os._exit(code if code >= 0 else 128 - code)
