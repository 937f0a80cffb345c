"""What is kept of a stream that may be longer than anyone wants to read."""

from __future__ import annotations

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
        """Whether something fell out."""
        return self._size > 2 * self._half

    def text(self) -> str:
        """What was kept, with a note where the middle is missing."""
        if not self.is_cut:
            return bytes(self._head + self._tail).decode(errors="replace")
        head, tail = bytes(self._head), bytes(self._tail[-self._half :])
        note = f"\n... {self._size - 2 * self._half} bytes left out ...\n"
        return head.decode(errors="replace") + note + tail.decode(errors="replace")
