"""robots.txt as RFC 9309 has it: which paths a site lets us open.

Guaranteed: the rules of the groups that name us, else those of `*`; the longest pattern that fits
decides and Allow wins a tie. Not covered: Crawl-delay.
"""

from __future__ import annotations

import re

from protego import Protego

_READ_CHARACTERS = 512 * 1024
_NAME = re.compile(r"^([ \t]*user-agent)[ \t]*:([^/\r\n]*)(/[^\r\n]*)?", re.I | re.M)
"""A line that names a program; a version behind the name says nothing."""


class Robots:
    """What one site asks of us."""

    def __init__(self, text: str = "", product: str = "*") -> None:
        """From the file's text; whatever cannot be read is passed over."""
        text = text[:_READ_CHARACTERS].removeprefix("\ufeff")
        self._rules = Protego.parse(_NAME.sub(r"\1:\2", text))
        self._product = product

    def allows(self, path: str) -> bool:
        """Whether the path with its query may be opened."""
        return bool(self._rules.can_fetch(path, self._product))
