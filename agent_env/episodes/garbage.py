"""Python's search for garbage in cycles, made rarer while episodes run.

With 1,000 episodes in flight it looks at a million living objects again and again: a third of all
CPU time. What is not in a cycle is freed at once all the same.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 20_000
"""Between two searches; Python's own is 700."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Search at most once for so many new objects; afterwards as before. Who searches more rarely
    still, or not at all, is left alone."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], NEW_OBJECTS) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
