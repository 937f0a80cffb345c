"""Inside: becomes a program of somebody else's, shut in as a session's code is.

An agent gets more: a network of its own in which there is one address, ours, /proc of its own
processes, and files in its home; its first process reads its answer when it has ended.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import sys
from contextlib import suppress
from typing import Any

from agent_env.sandbox import kernel
from agent_env.sandbox.isolate import leave_host, shut_in
from agent_env.sandbox.rlimits import Bounds, forbid_cores

SIOCGIFFLAGS, SIOCSIFFLAGS, UP = 0x8913, 0x8914, 1
"""Requests about a network interface (linux/sockios.h)."""
MOST_ANSWER = 1 << 20
"""Bytes that are read of an agent's answer."""


def main() -> None:
    """As a program: descriptors of /proc and of the plan, then the command."""
    proc, plan_file, *command = sys.argv[1:]
    with open(int(plan_file)) as file:
        plan = json.load(file)
    forbid_cores()
    for door in plan["doors"]:
        os.write(door, b"0")
        os.close(door)
    if plan["uid"]:
        kernel.take_uid(plan["uid"])
    leave_host(int(proc))
    os.close(int(proc))
    first = os.fork()
    if first == 0:
        try:
            kernel.prctl(1, signal.SIGKILL)  # dies with the one that waits
            become(command, plan)
        except OSError as exc:
            os.write(2, f"cannot start {command[0]} in the sandbox: {exc}\n".encode())
        os._exit(127)
    if plan["agent"] is not None:
        os.close(plan["agent"]["wire"])  # so that it closes when the agent's first process ends
    code = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


def become(command: list[str], plan: dict[str, Any]) -> None:
    """The program, in this process; an agent in a child of it."""
    agent, bounds = plan["agent"], Bounds(**plan["bounds"])
    if agent is None:
        shut_in(bounds, plan["work"])
        os.execvpe(command[0], command, plan["environment"])
    wire = socket.socket(fileno=agent["wire"])
    os.set_inheritable(wire.fileno(), False)
    hide_host_processes()
    with listening(agent["port"]) as listener:
        socket.send_fds(wire, [b"."], [listener.fileno()])
    shut_in(bounds, plan["work"], for_agents=True)
    for folder in ("home", "task", "tmp"):
        os.mkdir(folder)
    home = os.path.join(plan["work"], "home")
    for name, text in agent["files"].items():
        place = os.path.join(home, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
    os.chdir("task")
    child = os.fork()
    if child == 0:
        os.execvpe(command[0], command, plan["environment"])
    code = wait_for(child)
    with suppress(BrokenPipeError):  # nobody waits any more
        wire.sendall(json.dumps({"code": code, "answer": read(home, agent["answer"])}).encode())
    os._exit(code if code >= 0 else 128 - code)


def hide_host_processes() -> None:
    """A /proc of this pid namespace over the host's, which the layout shows for it."""
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", flags)


def listening(port: int) -> socket.socket:
    """A socket on the loopback of this network namespace, which is up from now on."""
    from fcntl import ioctl

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    name = b"lo".ljust(16, b"\0")
    flags = int.from_bytes(ioctl(listener, SIOCGIFFLAGS, name + bytes(24))[16:18], sys.byteorder)
    ioctl(listener, SIOCSIFFLAGS, name + (flags | UP).to_bytes(2, sys.byteorder) + bytes(22))
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


def wait_for(child: int) -> int:
    """The child's exit code, negative for a signal; orphans of the namespace are taken off."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def read(home: str, name: str | None) -> str | None:
    """The text of a file that the agent wrote; None where there is none, or something else, which
    is said on stderr. No link is followed."""
    if name is None:
        return None
    try:
        file = os.open(os.path.join(home, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.write(2, f"the answer {name} is not a file\n".encode())
        return None
    with open(file, "rb") as opened:
        return opened.read(MOST_ANSWER).decode(errors="replace")
