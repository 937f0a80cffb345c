"""Answers that are names: how they are read, compared and measured.

Two names are one if they agree after normalisation: letter case, accents and articles (a, an, the)
do not count, `&` is `and`, dots and apostrophes vanish (`A.J. Auxerre` is `AJ Auxerre`), all other
punctuation is a space. Pure functions; nothing is guessed beyond that.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

ARTICLES = frozenset({"a", "an", "the"})
_VANISH = re.compile(r"[.'’`´]")
_OTHER = re.compile(r"[^\w]+|_")
_MARK = re.compile(
    r"^[\s>*_`#-]*(?:my\s+|the\s+|final\s+)*answers?(?:\s+is)?[*_`]*\s*[:：][*_`]*", re.I | re.M
)
_END = re.compile(r"[>*_`#-]*\b(?:reason(?:ing|s)?|explanation|solver|matched)[*_`]*\s*:", re.I)
_NONE = frozenset({"none", "unanswerable", "no answer", "nobody", "unknown", "nothing", "n a", ""})
_SEPARATOR = re.compile(r"\s*[,;\n]\s*")
SHORT = 300
"""Characters up to which a text without an answer line may be the answer itself."""


@lru_cache(maxsize=1024)  # one score asks for the same few names some 20 times
def normalise(name: str) -> str:
    """What is compared; see the module for the rules."""
    text = name.casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if not unicodedata.combining(c))
    text = _OTHER.sub(" ", _VANISH.sub("", text.replace("&", " and ")))
    words = text.split()
    return " ".join([word for word in words if word not in ARTICLES] or words)


@dataclass(frozen=True, slots=True)
class NamesRead:
    """What an answer names, and how that was found out."""

    names: tuple[str, ...] | None
    """As written; () for "there is none"; None where no answer can be read."""
    rule: str
    said: str = ""
    """The text of the answer, before it was split."""


def read_names(text: str | None, known: Iterable[str] = ()) -> NamesRead:
    """The names behind the last `Answer:`; a short text without one is the answer itself.

    `known` are names that may hold a comma, `and` or a semicolon, the gold ones among them: a
    stretch that is one of them is not split.
    """
    if text is None or not text.strip():
        return NamesRead(None, "no text")
    marks = list(_MARK.finditer(text))
    if marks:
        said, rule = text[marks[-1].end() :], "answer line"
    elif len(text) <= SHORT and text.strip().count("\n") <= 2:
        said, rule = text, "whole text"
    else:
        return NamesRead(None, "no line that begins with Answer:")
    end = _END.search(said)
    return _read(said[: end.start()] if end else said, rule, known)


def _read(said: str, rule: str, known: Iterable[str]) -> NamesRead:
    said = said.strip().strip("`*").strip()
    if said.startswith("["):
        names = _json_list(said)
        if names is None:
            return NamesRead(None, "a list that is not JSON", said)
        return NamesRead(tuple(n for n in names if normalise(n) not in _NONE), f"{rule}, JSON")
    said = said.split("\n\n", 1)[0].strip() if rule == "answer line" else said
    if normalise(said) in _NONE:
        return NamesRead((), rule, said)
    return NamesRead(split_names(said, known), rule, said)


def _json_list(said: str) -> list[str] | None:
    try:
        found, _ = json.JSONDecoder().raw_decode(said)
    except ValueError:
        return None
    return [str(name) for name in found] if isinstance(found, list) else None


def split_names(said: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    """The names in a text, separated by commas, semicolons, new lines, and `and` where a known
    name stands on a side of it; the longest stretch that is a known name is one name."""
    if not _SEPARATOR.search(said.strip()) and " and " not in said:
        return (_cleaned(said),)
    names = {normalise(name) for name in known}
    if normalise(said) in names:
        return (_cleaned(said),)
    pieces = [piece for piece in _SEPARATOR.split(said) if piece.strip()]
    found: list[str] = []
    at = 0
    while at < len(pieces):
        taken = _longest(pieces, at, names)
        name = ", ".join(pieces[at : at + taken])
        found += [name] if taken > 1 else _at_and(name, names)
        at += taken
    return tuple(dict.fromkeys(filter(normalise, map(_cleaned, found))))


def _cleaned(name: str) -> str:
    """Without the marks of a list, quotes and emphasis."""
    return re.sub(r"^(?:[-*•]|\d+[.)])\s+", "", name.strip()).strip(" \"'*`").strip()


def _longest(pieces: Sequence[str], at: int, names: Set[str]) -> int:
    """How many pieces from `at` on are one known name; 1 where none are."""
    for many in range(len(pieces) - at, 1, -1):
        joined = normalise(" ".join(pieces[at : at + many]))
        if joined in names or joined.removeprefix("and ") in names:
            return many
    return 1


def _at_and(piece: str, names: Set[str]) -> list[str]:
    piece = re.sub(r"^and\s+", "", piece) if normalise(piece) not in names else piece
    if normalise(piece) in names:
        return [piece]
    for match in re.finditer(r"\s+and\s+", piece):
        left, right = piece[: match.start()], piece[match.end() :]
        if normalise(left) in names or normalise(right) in names:
            return [left, *_at_and(right, names)]
    return [piece]


def strict_match(gold: Set[str], said: Set[str]) -> float:
    """1 if all gold answers are named and nothing else; of normalised names."""
    return float(gold == said)


def set_f1(gold: Set[str], said: Set[str]) -> float:
    """Harmonic mean of precision and recall over normalised names; 1 where both are empty."""
    if not gold or not said:
        return float(gold == said)
    return 2 * len(gold & said) / (len(gold) + len(said))


def squad_match(gold: Iterable[str], said: str) -> float:
    """SQuAD's exact match of the whole text with the best of the gold answers."""
    return float(said in set(gold)) if gold else float(not said)


def token_f1(gold: Sequence[str], said: str) -> float:
    """SQuAD's token F1 with the best of the gold answers; without gold, 1 for an empty text."""
    if not gold:
        return float(not said)
    words = Counter(said.split())
    return max(_overlap(Counter(name.split()), words) for name in gold)


def _overlap(gold: Counter[str], said: Counter[str]) -> float:
    both = sum((gold & said).values())
    total = sum(gold.values()) + sum(said.values())
    return 2 * both / total if total else 1.0
