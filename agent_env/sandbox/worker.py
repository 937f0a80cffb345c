"""The program inside every sandbox: JSON lines in, JSON lines out, variables kept between calls.

It needs the standard library and the guest files beside it (see layout.py). Two processes: the
supervisor holds the line to the harness, the executor runs the code. The supervisor keeps the time,
collects and cuts what is written to descriptors 1 and 2, notices when the executor dies, and after
each call stops it and ends all that it started, so that an idle session uses no CPU.

Guaranteed: one reply line per request line, no longer than `line_cap`. Not guaranteed: that the
reply is true. The code shares its process with the executor and can say whatever it likes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator

from agent_env.sandbox.executor import Executor
from agent_env.sandbox.kernel import hide_process

CHUNK = 1 << 16
PROTOCOL = 2
"""Said when ready; a harness and an image of different ages must not misunderstand each other."""
LONGEST_REQUEST = 1 << 23
"""A megabyte of code whose every character is escaped to six bytes, and some."""


def serve(wire_in: int, wire_out: int, output_bytes: int, numbers: int | None) -> None:
    """Answer request lines until the harness hangs up or the executor is lost.

    `numbers` says that every other process in sight belongs to this session, so that all may be
    ended after a call, and how many numbers its pid namespace has for them; None that it does not.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if numbers is not None:
        hide_process()  # the executor too, which inherits it
    executor = Executor(wire_in, output_bytes, numbers)
    send_line(wire_out, {"ready": True, "protocol": PROTOCOL})
    for request in request_lines(wire_in):
        reply = executor.call(json.loads(request))
        send_line(wire_out, reply)
        if reply["status"] in ("timeout", "crashed"):
            break
    executor.kill()


def request_lines(wire: int) -> Iterator[bytes]:
    """Lines as they come; ends when the harness hangs up."""
    buffer = b""
    while chunk := os.read(wire, CHUNK):
        buffer += chunk
        while b"\n" in buffer:
            line, _, buffer = buffer.partition(b"\n")
            yield line
        if len(buffer) > LONGEST_REQUEST:
            return


def send_line(wire: int, message: dict[str, object]) -> None:
    """Write one message, all of it."""
    rest = json.dumps(message).encode() + b"\n"
    while rest:
        rest = rest[os.write(wire, rest) :]


def main() -> None:
    """As a program without any isolation: serve on descriptors 0 and 1."""
    serve(0, 1, int(sys.argv[1]), numbers=None)
