"""The line to a worker in a container: Docker's attach stream, taken apart."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

FRAME_HEADER = 8
STDOUT = 1


@dataclass(slots=True)
class DockerLine:
    """Lines from frames; what comes on stderr is kept for a complaint, its end only."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    finish: Callable[[], Awaitable[str | None]]
    """Takes the container away."""
    cap: int
    """Longest line."""
    _held: bytearray = field(default_factory=bytearray)
    _complaint: bytes = b""

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self) -> bytes:
        while b"\n" not in self._held:
            if len(self._held) > self.cap or not await self._receive_frame():
                return b""
        line, _, rest = bytes(self._held).partition(b"\n")
        self._held = bytearray(rest)
        return line

    async def _receive_frame(self) -> bool:
        """Take in one frame; false where the stream has ended."""
        try:
            header = await self.reader.readexactly(FRAME_HEADER)
            kind, size = struct.unpack(">BxxxL", header)
            if size > self.cap:
                return False
            body = await self.reader.readexactly(size)
        except asyncio.IncompleteReadError:
            return False
        if kind == STDOUT:
            self._held += body
        else:
            self._complaint = (self._complaint + body)[-500:]
        return True

    async def end(self) -> str | None:
        self.writer.close()  # first: a container whose output nobody takes cannot be killed
        reason = await self.finish()
        words = self._complaint.decode(errors="replace").strip().rpartition("\n")[2]
        return reason or words or None
