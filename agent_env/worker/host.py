"""Calls functions in worker processes, from threads and from the event loop.

A process is started when a call finds none idle, at most AT_ONCE for each job; further calls wait,
and their time begins when they are sent. Processes stay until this one ends: they belong to it and
to no run, so that whoever needs one does not have to be handed it.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from agent_env.errors import AgentEnvError, DatasetError
from agent_env.worker import child
from agent_env.worker.wire import JOBS, Job, NoMessage, receive, send

AT_ONCE = 4
"""Processes of one job."""
START = "from agent_env.worker.child import main; main()"
"""The program of a process."""
KEPT = ("PATH", "HOME", "TZ", "LD_LIBRARY_PATH")
"""Variables that a process gets."""


class WorkerFailed(AgentEnvError):
    """The call gave no result. The text begins with a verb: `took more than 256 MB of memory`."""


def each_of(name: str, files: Sequence[Path], **arguments: Any) -> Iterator[Any]:
    """What a job yields of files of strangers, with limits in proportion to their size.
    DatasetError where they take more."""
    job, size_mb = JOBS[name], sum(map(_size, files)) / 1e6
    limits = {"memory_mb": job.memory_mb + 12 * size_mb, "cpu_s": job.cpu_s + 20 * size_mb}
    try:
        yield from worker(name).each(arguments, **limits)
    except WorkerFailed as exc:
        raise DatasetError(", ".join(map(str, files)), None, f"cannot be read: that {exc}") from exc


def _size(file: Path) -> int:
    if not file.is_dir():
        return file.stat().st_size if file.exists() else 0
    return sum(each.lstat().st_size for each in file.rglob("*"))


class Worker:
    """The processes of one job."""

    def __init__(self, name: str, start: str = START) -> None:
        self._name, self._job, self._start = name, JOBS[name], start
        self._idle: list[_Process] = []
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self._threads = ThreadPoolExecutor(AT_ONCE, f"agent-env {name}")
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._idle.clear)

    def call(self, arguments: dict[str, Any], **limits: float | None) -> Any:
        """What the function returns; the error that it raises for who asked, WorkerFailed where it
        ended otherwise. `limits`: `cpu_s`, `memory_mb` in place of the job's, and `timeout_s`."""
        return self._call(arguments, _Canceller(), **limits)

    async def ask(self, arguments: dict[str, Any], **limits: float | None) -> Any:
        """The same without blocking the event loop; the process of a cancelled call is killed."""
        canceller = _Canceller()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(
                self._threads, lambda: self._call(arguments, canceller, **limits)
            )
        except asyncio.CancelledError:
            canceller.cancel()
            raise

    def each(self, arguments: dict[str, Any], **limits: float | None) -> Iterator[Any]:
        """What the function yields, an item at a time."""
        return self._each(arguments, _Canceller(), **limits)

    def close(self) -> None:
        """Ends what is idle."""
        while self._idle:
            self._idle.pop().kill()

    def _call(
        self, arguments: dict[str, Any], canceller: _Canceller, **limits: float | None
    ) -> Any:
        (value,) = self._each(arguments, canceller, **limits)
        return value

    def _each(
        self,
        arguments: dict[str, Any],
        canceller: _Canceller,
        *,
        cpu_s: float | None = None,
        memory_mb: float | None = None,
        timeout_s: float | None = None,
    ) -> Iterator[Any]:
        job = self._job._replace(
            cpu_s=cpu_s or self._job.cpu_s, memory_mb=int(memory_mb or self._job.memory_mb)
        )
        if child.is_worker:
            result = child.function_of(job)(**arguments)
            yield from result if isinstance(result, Iterator) else (result,)
            return
        with self._process(canceller) as process:
            yield from process.each(job, arguments, timeout_s)

    def _taken(self) -> _Process:
        while self._idle:
            process = self._idle.pop()
            if process.is_alive:
                return process
            process.kill()
        return _Process(self._name, self._start)

    @contextmanager
    def _process(self, canceller: _Canceller) -> Iterator[_Process]:
        """One for one call: an idle one, or a new one; it is idle again if the call ended well."""
        with self._free:
            process = self._taken()
            canceller.take(process)
            try:
                yield process
            finally:
                canceller.take(None)
                if process.is_idle:
                    self._idle.append(process)
                else:
                    process.kill()


@cache
def worker(name: str) -> Worker:
    """The worker of this job, one in a process."""
    return Worker(name)


class _Canceller:
    """Kills the process that carries out a call, from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._is_cancelled = False

    def take(self, process: _Process | None) -> None:
        with self._lock:
            self._process = process
            if process is not None and self._is_cancelled:
                process.kill()

    def cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            if self._process is not None:
                self._process.kill()


class _Process:
    """One running child."""

    def __init__(self, name: str, start: str) -> None:
        self._wire, theirs = socket.socketpair()
        house = str(Path(__file__).parents[2])
        paths = dict.fromkeys([*(path for path in sys.path if path), house])
        program = f"import sys; sys.path.append({house!r}); {start}"
        environment = {key: os.environ[key] for key in KEPT if key in os.environ}
        with theirs:
            line = theirs.fileno()
            self._inner = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", program, str(line), name, *paths],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(line,),
                env={
                    "LANG": "C.UTF-8",
                    "MALLOC_ARENA_MAX": "1",
                    "ARROW_DEFAULT_MEMORY_POOL": "system",
                    **environment,
                },
            )
        self.is_idle = True

    @property
    def is_alive(self) -> bool:
        return self._inner.poll() is None

    def each(self, job: Job, arguments: dict[str, Any], timeout_s: float | None) -> Iterator[Any]:
        """Sends the call and gives its items; not idle any more where it did not end well."""
        self.is_idle = False
        wait_s = timeout_s or 10.0 + 4 * job.cpu_s
        memory = job.memory_mb << 20
        try:
            self._wire.settimeout(wait_s)
            send(self._wire, {"arguments": arguments, "memory": memory, "cpu_s": job.cpu_s})
            end = None
            while end is None:
                message = receive(self._wire, job.reply_mb << 20, time.monotonic() + wait_s)
                end = message.get("end")
                if "item" in message:
                    yield message["item"]
        except NoMessage as exc:
            raise WorkerFailed(f"was answered with {exc}") from exc
        except TimeoutError as exc:
            raise WorkerFailed(f"took more than {wait_s:g} s") from exc
        except (EOFError, ConnectionError) as exc:
            raise WorkerFailed(self._ending(job)) from exc
        self.is_idle = not message.get("is_last", True)
        for kind in child.KINDS:
            if end == kind.__name__:
                text = str(message.get("text"))
                raise kind.__new__(kind, text)  # whole as it is, not made anew of its parts
        if end == "memory":
            raise WorkerFailed(f"took more than {job.memory_mb:,} MB of memory")
        if end != "result":
            raise WorkerFailed(f"failed with {message.get('text', 'no reason')}")

    def _ending(self, job: Job) -> str:
        try:
            code = self._inner.wait(1.0)
        except subprocess.TimeoutExpired:
            return "ended without an answer"
        if code == -signal.SIGPROF:
            return f"took more than {job.cpu_s:g} s of CPU time"
        return f"ended the process ({f'signal {-code}' if code < 0 else f'code {code}'})"

    def kill(self) -> None:
        self._inner.kill()
        self._inner.wait()
        self._wire.close()
