"""What a check gives back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Verdict = Literal["holds", "fails", "unchecked"]
Judgement = tuple[Verdict, str, Sequence[str]]
"""The verdict, what was checked, and where each contradiction is."""
