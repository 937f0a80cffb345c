"""The process that runs the code, seen from the supervisor: asked, listened to, stopped, killed."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from contextlib import suppress

from agent_env.sandbox.notebook import OUT_OF_MEMORY, become_executor
from agent_env.sandbox.pause import NotPaused, SessionPause

SLACK = 1 << 16


class CappedStream:
    """The first and the last bytes of a stream, and how many fell out between them."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def add(self, chunk: bytes) -> None:
        """Take more of the stream."""
        self._size += len(chunk)
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * self._half + SLACK:
            del self._tail[: -self._half]

    @property
    def is_cut(self) -> bool:
        return self._size > 2 * self._half

    def text(self) -> str:
        """What was kept, with a note where the middle is missing."""
        if not self.is_cut:
            return bytes(self._head + self._tail).decode(errors="replace")
        head, tail = bytes(self._head), bytes(self._tail[-self._half :])
        note = f"\n... {self._size - 2 * self._half} bytes left out ...\n"
        return head.decode(errors="replace") + note + tail.decode(errors="replace")


CHUNK = 1 << 16
LOOK_EVERY_MS = 30
"""How long a wait for the executor may last until what it starts is looked after."""


class Lost(Exception):
    """The executor is gone or speaks nonsense; the text says which."""


def line_cap(output_bytes: int) -> int:
    """Longest line either side may send: four texts, each character escaped to six bytes."""
    return 32 * output_bytes + 65536


class Executor:
    def __init__(self, wire: int, output_bytes: int, numbers: int | None) -> None:
        self._wire = wire
        self._limit = output_bytes
        self._died: str | None = None
        self._wake, wake = os.pipe()
        for fd in (self._wake, wake):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        requests, self._asking = os.pipe()
        self._answers, answering = os.pipe()
        self._out, out = os.pipe()
        self._err, err = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            become_executor((requests, answering, out, err), output_bytes)
        for fd in (requests, answering, out, err):
            os.close(fd)
        for fd in (self._asking, self._answers, self._out, self._err):
            os.set_blocking(fd, False)
        self._pause = None
        if numbers is not None:
            self._pause = SessionPause(self._pid, numbers, self._wake, self._has_died)

    def call(self, request: dict[str, object]) -> dict[str, object]:
        """The reply to one request; the executor is killed when the time is over."""
        timeout_s = float(str(request["timeout_s"]))
        out, err = CappedStream(self._limit), CappedStream(self._limit)
        started = time.monotonic()
        try:
            if self._has_died():
                raise Lost(self._died)
            if self._pause is not None:
                self._pause.wake()
            line = self._exchange(json.dumps(request).encode(), started + timeout_s, out, err)
            reply = read_reply(line, request["id"])
            self._settle()
        except TimeoutError:
            reply = {"status": "timeout", "error": f"stopped after {timeout_s:g} s"}
        except Lost as lost:
            reply = {"status": "crashed", "error": str(lost)}
        if reply["status"] in ("timeout", "crashed"):
            self.kill()
        self._take_rest(out, err)
        return {
            "value": None,
            **reply,
            "id": request["id"],
            "stdout": out.text(),
            "stderr": err.text(),
            "truncated": bool(reply.get("truncated")) or out.is_cut or err.is_cut,
        }

    def _exchange(
        self, request: bytes, deadline: float, out: CappedStream, err: CappedStream
    ) -> bytes:
        """Send the request and wait for one line, keeping what is printed meanwhile.

        A pipe that ends (the code closed it everywhere) is watched no more.
        """
        unsent, reply = request + b"\n", b""
        poll = select.poll()
        poll.register(self._wire, 0)  # 0: tell only that the harness hung up
        for fd in (self._out, self._err, self._wake, self._answers):
            poll.register(fd, select.POLLIN)
        poll.register(self._asking, select.POLLOUT)
        while b"\n" not in reply:
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                raise TimeoutError
            ready = dict(poll.poll(min(remaining_s * 1000 + 1, LOOK_EVERY_MS)))
            if self._pause is not None:
                self._pause.watch()
            for fd, capture in ((self._out, out), (self._err, err)):
                if fd in ready and not self._take(fd, capture):
                    poll.unregister(fd)
            if self._wire in ready:
                raise Lost("the harness hung up")
            if self._wake in ready:
                os.read(self._wake, CHUNK)
            if unsent and self._asking in ready:
                unsent = unsent[self._send(unsent) :]
                if not unsent:
                    poll.unregister(self._asking)
            if self._answers in ready:
                reply += self._receive()
            elif self._has_died():
                raise Lost(self._died)
            if len(reply) > line_cap(self._limit):
                raise Lost("the reply was too long")
        return reply.partition(b"\n")[0]

    def _send(self, data: bytes) -> int:
        try:
            return os.write(self._asking, data)
        except BlockingIOError:
            return 0
        except OSError as exc:
            raise Lost(self._reason()) from exc

    def _receive(self) -> bytes:
        try:
            chunk = os.read(self._answers, CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            chunk = b""
        if not chunk:
            raise Lost(self._reason())
        return chunk

    def _reason(self) -> str:
        """Why the executor hung up; gives its death a moment to be seen."""
        for _ in range(50):
            if self._has_died():
                break
            time.sleep(0.002)
        return self._died or "the code closed the line to the harness"

    def _has_died(self) -> bool:
        """Collects dead children, so that none stays as a zombie, and looks for the executor."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == self._pid:
                    self._died = describe_exit(os.waitstatus_to_exitcode(status))
        return self._died is not None

    def _take(self, fd: int, capture: CappedStream) -> bool:
        """Move one chunk of what was printed; false where there is none."""
        try:
            chunk = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        capture.add(chunk)
        return bool(chunk)

    def _take_rest(self, out: CappedStream, err: CappedStream) -> None:
        """What is left in the pipes; bounded, for a writer that cannot be stopped."""
        for fd, capture in ((self._out, out), (self._err, err)):
            for _ in range(64):
                if not self._take(fd, capture):
                    break

    def _settle(self) -> None:
        """Until the next call nothing runs; without a namespace of our own we leave it all be."""
        try:
            if self._pause is not None:
                self._pause.settle()
        except NotPaused as exc:
            raise Lost(self._reason() if self._has_died() else str(exc)) from exc

    def kill(self) -> None:
        """End the executor, and all that it started where that can be known."""
        if self._pause is not None:  # everything in sight belongs to this session
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        if self._died is None:
            with suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)


def read_reply(line: bytes, request_id: object) -> dict[str, object]:
    """The executor's reply, looked at as what it is: something that the code may have written."""
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise Lost("the reply was not JSON") from exc
    if not isinstance(reply, dict) or reply.get("id") != request_id:
        raise Lost("the reply answered another call")
    texts = (reply.get("value"), reply.get("error"))
    if reply.get("status") not in ("ok", "error") or not all(
        text is None or isinstance(text, str) for text in texts
    ):
        raise Lost("the reply did not have the form of one")
    return {
        "status": reply["status"],
        "value": writable(reply.get("value")),
        "error": writable(reply.get("error")),
        "truncated": reply.get("truncated"),
    }


def writable(text: str | None) -> str | None:
    """The text with lone surrogates, which no file or line can hold, spelled out."""
    return text if text is None else text.encode("utf-8", "backslashreplace").decode()


def describe_exit(code: int) -> str:
    """How a process ended, in words."""
    if code == OUT_OF_MEMORY:
        return "the process had no memory left to take the call"
    if code >= 0:
        return f"the process ended itself with status {code}"
    with suppress(ValueError):
        return f"the process was killed by {signal.Signals(-code).name}"
    return f"the process was killed by signal {-code}"
