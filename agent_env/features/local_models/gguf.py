"""What the header of a GGUF file says of its model.

Guarantees: a file that is no GGUF, or whose header is cut off or makes no sense, is a DatasetError
that says so; at most the header is read. Not covered: the weights behind it, which the server
checks when it loads them.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_env.sdk.errors import DatasetError

_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MOST_ENTRIES, _LONGEST_LIST = 10_000, 10_000_000
QUANTISATIONS = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M",
    30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE",
}  # fmt: skip
"""By `general.file_type`, llama.cpp's list."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Facts of a model file; None where it does not say."""

    architecture: str
    name: str | None
    quantisation: str | None
    licence: str | None
    context_tokens: int | None
    has_template: bool
    """Whether it brings a chat template, as an instruct model does."""


def read_header(file: Path) -> GgufHeader:
    """The facts in the file's header; DatasetError where it has none."""
    try:
        with file.open("rb") as opened:
            if opened.read(4) != b"GGUF":
                raise DatasetError(file, None, "is not a GGUF file; name the weights in GGUF form")
            with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
                entries = _Reader(data).entries()
    except OSError as exc:
        raise DatasetError(file, None, f"cannot be read: {exc.strerror}") from exc
    except (struct.error, ValueError, KeyError, IndexError) as exc:
        raise DatasetError(
            file, None, "is damaged or cut off: its header cannot be read; fetch the file again"
        ) from exc
    architecture = _text(entries.get("general.architecture"))
    if architecture is None:
        raise DatasetError(file, None, "is damaged: its header names no architecture")
    context, kind = entries.get(f"{architecture}.context_length"), entries.get("general.file_type")
    return GgufHeader(
        architecture,
        _text(entries.get("general.name")),
        QUANTISATIONS.get(kind, f"type {kind}") if isinstance(kind, int) else None,
        _text(entries.get("general.license")),
        context if isinstance(context, int) else None,
        "tokenizer.chat_template" in entries,
    )


HEADER = 64 * 1024 * 1024
"""Bytes within which a vocabulary lies."""


def has_token(file: Path, token: str) -> bool:
    """Whether the vocabulary has this token; the file was read before."""
    wanted = token.encode()
    with (
        file.open("rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return data.find(struct.pack("<Q", len(wanted)) + wanted, 0, HEADER) >= 0


def _text(value: object) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


class _Reader:
    """Reads the key-value pairs, numbers and texts as values, lists as None."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at = data, 4

    def entries(self) -> dict[str, object]:
        version = self._number("I")
        if version not in (2, 3):
            raise ValueError(version)
        self._number("Q")  # tensors
        count = self._number("Q")
        if count > _MOST_ENTRIES:
            raise ValueError(count)
        return {self._string(): self._value(self._number("I")) for _ in range(count)}

    def _number(self, form: str) -> Any:
        (value,) = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return value

    def _string(self) -> str:
        start = self._at + 8
        self._skip(self._number("Q"))
        return bytes(self._data[start : self._at]).decode("utf-8", "replace")

    def _skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._data):
            raise ValueError("beyond the end")

    def _value(self, kind: int) -> object:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._number(_SCALARS[kind])
        inner, length = self._number("I"), self._number("Q")
        if length > _LONGEST_LIST:
            raise ValueError(length)
        if inner == _STRING:
            for _ in range(length):
                self._skip(self._number("Q"))
        else:
            self._skip(length * struct.calcsize(f"<{_SCALARS[inner]}"))
        return None
