"""The one way of text to the terminal: control characters of foreign text are shown, not sent.

Against names, answers, pages and tool outputs that would steer the terminal or change the direction
of text. `main` puts the two standard streams behind it, whatever they lead to; styles and the
progress bar are ours and go to the stream itself (`raw`), their text by `visible`. Also what is
known of the terminal: its width, and whether plain text is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from shutil import get_terminal_size
from typing import Any, TextIO, cast

from agent_env.records.escaping import visible


class VisibleStream:
    """A text stream that writes control characters as `\\u001b`; all else is the stream's."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard_streams() -> None:
    """Put standard output and standard error behind a VisibleStream, once."""
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


def _guarded(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, VisibleStream) else cast("TextIO", VisibleStream(stream))


def raw(stream: TextIO) -> TextIO:
    return stream.stream if isinstance(stream, VisibleStream) else stream


PLAIN = "AGENT_ENV_PLAIN"
"""The variable that `--plain` sets: rows of tables as sentences, for a screen reader."""


def is_plain() -> bool:
    return bool(os.environ.get(PLAIN))


def ask_plain() -> None:
    """From here on plain text is asked for, in processes that this one starts too."""
    os.environ[PLAIN] = "1"


def can_redraw(stream: TextIO) -> bool:
    """Whether lines that are written there can be written over."""
    return stream.isatty() and not is_plain() and os.environ.get("TERM") != "dumb"


def room() -> int | None:
    """Characters of a line of standard output: COLUMNS, else the terminal's; None for a pipe."""
    return get_terminal_size((0, 0)).columns or None


def say(text: str) -> None:
    """A line for the user, apart from the output."""
    print(visible(text), file=sys.stderr, flush=True)
