"""The one grammar of constraint texts: a sentence, ours or foreign, becomes a `Meaning`.

Each form matches a whole sentence, so that a text is either understood to its last word or unread
(None). The forms are those of our own wordings, of the published puzzles (implicit and explicit),
and common rephrasings of both.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pydantic import ValidationError

from agent_env.families.time_puzzles.texts.day_forms import DATE_FORMS, DAY_FORMS, MONTH_FORMS
from agent_env.families.time_puzzles.texts.lookup_forms import LOOKUP_FORMS
from agent_env.families.time_puzzles.texts.meanings import Form, Meaning
from agent_env.families.time_puzzles.texts.year_forms import YEAR_FORMS

LONGEST = 1000
"""Characters of the longest text that is read."""
_FORMS: tuple[Form, ...] = (*YEAR_FORMS, *MONTH_FORMS, *DAY_FORMS, *DATE_FORMS, *LOOKUP_FORMS)


@lru_cache(maxsize=8192)
def compile_text(text: str) -> Meaning | None:
    """The meaning of a constraint's sentence; None if any part of it is not understood."""
    if len(text) > LONGEST:
        return None
    sentence = _normal(text)
    for pattern, build in _FORMS:
        if (match := re.fullmatch(pattern, sentence, re.I)) is None:
            continue
        try:
            meaning = build(match)
        except ValidationError:  # a number out of range, such as the 32nd of a month
            return None
        if meaning is not None:
            return meaning
    return None


def _normal(text: str) -> str:
    """The sentence with plain spaces, quotes and dashes, without its full stop."""
    for marks, plain in (("’‘`", "'"), ("–—−‐‑", "-"), ("“”", '"')):
        text = re.sub(f"[{marks}]", plain, text)
    return " ".join(text.split()).removesuffix(".").rstrip()
