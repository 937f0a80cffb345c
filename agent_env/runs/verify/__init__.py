"""Runs that somebody else can check: claims about a run judged again, and the pack that holds what
that takes.
"""

from collections.abc import Sequence
from typing import Literal

Verdict = Literal["holds", "fails", "unchecked"]
Judgement = tuple[Verdict, str, Sequence[str]]
"""The verdict, what was checked, and where each contradiction is."""
