"""A model's server as a process of ours: started, waited for, started again after a crash, ended.

Guarantees: it ends with `close`, and with this program however that goes (`lifeline`); what it
prints is in its log; while it starts again, `is_up` is False, and once it is given up, `is_up`
raises RunStopped with the reason. Not covered: a server that hangs without ending.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import copyfile
from subprocess import DEVNULL
from tempfile import mkstemp
from urllib.parse import urlsplit

from agent_env.sdk.errors import ConfigError, RunStopped
from agent_env.sdk.inside import with_lifeline
from agent_env.sdk.records import Reach, visible
from agent_env.sdk.run import Permit

_MEMORY = "take a smaller model or quantisation, a shorter context, or free some memory"
_ADVICE = (
    (r"unknown model architecture|architecture.*not supported",
     "this server does not know it; install a newer one, or serve the model by another"),
    (r"corrupted or incomplete|invalid magic|failed to read (?:key-value|tensor)|file bounds",
     "the model's file is damaged or cut off; fetch it again"),
    (r"bad_alloc|out of memory|OutOfMemory|unable to allocate|failed to allocate|Cannot allocate"
     r"|insufficient memory|No available memory", _MEMORY),
    (r"[Aa]ddress already in use|couldn't bind", "its port is taken; write {port} in its command"),
    (r"(?:command )?not found|No such file or directory", "check the command of --serve"),
    (r"unrecognized arguments?|invalid argument|unknown argument", "check its options"),
)  # fmt: skip
"""What to do, by a pattern of the line that tells the reason."""
_TROUBLE = re.compile(r"\berror\b|exception|failed|fatal| E ", re.IGNORECASE)
_STAMP = re.compile(r"^[\d.:\-T\s]++(?<=\s)(?=[A-Z] )")


def reason_of_end(code: int, log: str) -> str:
    """What ended it and what to do."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for pattern, advice in _ADVICE:
        if line := next((line for line in lines if re.search(pattern, line)), None):
            return f"{_short(line)}; {advice}"
    number = -code if code < 0 else code - 128
    if number == signal.SIGKILL:
        return f"killed by signal 9, usually for want of memory: {_MEMORY}"
    trouble = [line for line in lines if _TROUBLE.search(line)] or lines
    last = f", its last words: {_short(trouble[-1])}" if trouble else " without a word"
    names = {each.value: each.name for each in signal.Signals}
    if number in names:
        return f"ended by {names[number]}{last}"
    return f"exit code {code}{last}"


def _short(line: str) -> str:
    text = visible(_STAMP.sub("", line))
    return text if len(text) <= 200 else f"{text[:199]}…"


READY_S = 1_800.0
"""How long a server may load; a large model takes minutes."""
TELL_S = 5.0
MOST_CRASHES = 5
"""So many without LONG_LIFE_S between them, and the server is given up."""
LONG_LIFE_S = 600.0
LOG_TAIL = 20_000


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of loopback."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def served_permit(permit: Permit, command: str, base_url: str) -> Permit:
    """What covers a server and its address: a command that is allowed may be asked on loopback."""
    if urlsplit(base_url).hostname in ("127.0.0.1", "localhost", "::1"):
        return permit.implying((Reach.COMMAND, command), Reach.ADDRESS, base_url)
    permit.check(Reach.COMMAND, command)
    permit.check(Reach.ADDRESS, base_url)
    return permit


def filled(command: str, words: Mapping[str, str]) -> str:
    """The command with these words in their places."""
    for place, word in words.items():
        command = command.replace(place, word)
    return command


class ServerProcess:
    """One server and its restarts."""

    def __init__(
        self,
        command: str,
        words: Mapping[str, str],
        base_url: str,
        log: Path,
        note: Callable[[str], None],
        *,
        permit: Permit,
    ) -> None:
        """`words` stand for places in the command, such as `{port}`."""
        permit = served_permit(permit, command, base_url)
        self._command, self._log, self._note = filled(command, words), log, note
        from agent_env.sdk.inside import Health  # which loads the client of models

        self._health = Health(base_url, permit=permit)
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._given_up: str | None = None
        self._log_start = 0
        self._line: int | None = None
        """Our end of the pipe for whose sake the process lives."""

    async def start(self) -> None:
        """Returns when it is ready; ConfigError where something else listens there, or where it
        ends before."""
        if await self._health.is_up():
            raise ConfigError(
                f"something answers at {self._health.address} already, so the server of --serve "
                "cannot be started there; end it, write {port} in the command, or leave --serve off"
            )
        try:
            await self._begin()
        except _Ended as exc:
            await self.close()
            # A copy outside the run's folder, which may be taken away
            handle, name = mkstemp(prefix="agent-env-server-", suffix=".log")
            os.close(handle)
            raise ConfigError(
                f"the model's server did not start: {exc}; its log: {copyfile(self._log, name)}"
            ) from None
        except BaseException:
            await self.close()
            raise
        self._keeper = asyncio.create_task(self._keep_up())

    async def is_up(self) -> bool:
        """Whether calls are worth a try; RunStopped where they never will be again."""
        if self._given_up is not None:
            raise RunStopped(self._given_up, reason="failures")
        return await self._health.is_up()

    async def until_given_up(self) -> None:
        """Raises RunStopped when it does not run any more."""
        assert self._keeper is not None
        await self._keeper
        await self.is_up()

    async def close(self) -> None:
        """Ends it, with everything that it started."""
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        process, self._process = self._process, None
        if process is not None:
            self._release()
            await asyncio.shield(process.wait())

    async def _begin(self) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        theirs, self._line = os.pipe()
        try:
            with self._log.open("ab") as log:
                self._log_start = log.tell()
                self._process = await asyncio.create_subprocess_exec(
                    *with_lifeline(theirs, "/bin/sh", "-c", self._command),
                    stdin=DEVNULL, stdout=log, stderr=log, pass_fds=(theirs,),
                    start_new_session=True,
                )  # fmt: skip
        finally:
            os.close(theirs)
        begun = last_note = time.monotonic()
        while not await self._health.is_up():
            if self._process.returncode is not None:
                raise _Ended(self._reason())
            now = time.monotonic()
            if now - last_note >= TELL_S:
                last_note = now
                self._note(f"the model's server is loading: {now - begun:.0f} s")
            if now - begun > READY_S:
                self._release()
                raise _Ended(f"not ready after {READY_S:.0f} s")
            await asyncio.sleep(min(0.5, 0.05 + (now - begun) / 10))
        if self._process.returncode is not None:  # then it was another that answered
            raise _Ended(self._reason())

    def _release(self) -> None:
        """Ends the process, or closes our end of a dead one's pipe."""
        line, self._line = self._line, None
        if line is not None:
            os.close(line)

    def _reason(self) -> str:
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            text = log.read()[-LOG_TAIL:].decode("utf-8", "replace")
        assert self._process is not None
        return reason_of_end(self._process.returncode or 0, text)

    async def _keep_up(self) -> None:
        """Starts it again whenever it ended, with longer and longer pauses, up to MOST_CRASHES."""
        crashes, begun = 0, time.monotonic()
        while True:
            assert self._process is not None
            await self._process.wait()
            self._release()
            crashes = crashes + 1 if time.monotonic() - begun < LONG_LIFE_S else 1
            reason = self._reason()
            if crashes >= MOST_CRASHES:
                self._given_up = (
                    f"the model's server ended {crashes} times, the last time: {reason}; its log: "
                    f"{self._log}"
                )
                return
            self._note(f"the model's server ended and is started again: {reason}")
            await asyncio.sleep(2.0 ** (crashes - 1) - 1.0)
            begun = time.monotonic()
            with suppress(_Ended):  # counted and told above
                await self._begin()


class _Ended(Exception):
    """The server's process is gone, or does not get ready."""
