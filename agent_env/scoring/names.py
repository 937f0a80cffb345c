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
    r"^(?:[^\S\n]|[>*_`#-])*+(?:(?:my|the|final)\s{1,20}+){0,9}+answers?(?:\s+is)?[*_`]*+\s*+[:：]"
    r"[*_`]*+",
    re.I | re.M,
)
_END = re.compile(
    r"(?<![>*_`#-])[>*_`#-]*+\b(?:reason(?:ing|s)?|explanation|solver|matched)[*_`]*+\s*+:", re.I
)
_NONE = frozenset({"none", "unanswerable", "no answer", "nobody", "unknown", "nothing", "n a", ""})
_SEPARATOR = re.compile(r"[,;\n]")
_AND = re.compile(r"(?<!\s)\s++and\s+")
_MARKS = 8
"""Pieces of a name that hold no word, and characters of it to one that count, at the most."""
LONGEST = 20_000
"""Characters of an answer that are read as names."""
SHORT = 300
"""Characters up to which a text without an answer line may be the answer itself."""


@lru_cache(maxsize=1024)  # one score asks for the same few names some 20 times
def normalise(name: str) -> str:
    """What is compared; see the module for the rules."""
    words = _words(name)
    return " ".join([word for word in words if word not in ARTICLES] or words)


def _words(text: str) -> list[str]:
    text = text.casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if not unicodedata.combining(c))
    return _OTHER.sub(" ", _VANISH.sub("", text.replace("&", " and "))).split()


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
    if len(said) > LONGEST:
        said, rule = said[:LONGEST], f"{rule}, cut to {LONGEST:,} characters"
    if normalise(said) in _NONE:
        return NamesRead((), rule, said)
    return NamesRead(split_names(said, known), rule, said)


def _json_list(said: str) -> list[str] | None:
    try:
        found, _ = json.JSONDecoder().raw_decode(said)
        return [str(name) for name in found] if isinstance(found, list) else None
    except (ValueError, RecursionError):
        return None


def split_names(said: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    """The names in a text, separated by commas, semicolons, new lines, and `and` where a known
    name stands on a side of it; the longest stretch that is a known name is one name."""
    if not _SEPARATOR.search(said.strip()) and " and " not in said:
        return (_cleaned(said),)
    names = _Known.of(known)
    if names.has(said):
        return (_cleaned(said),)
    pieces = [piece.strip() for piece in _SEPARATOR.split(said) if piece.strip()]
    words = [_words(piece) for piece in pieces]
    found: list[str] = []
    at = 0
    while at < len(pieces):
        taken = names.longest(words, at)
        name = ", ".join(pieces[at : at + taken])
        found += [name] if taken > 1 else _at_and(name, names)
        at += taken
    return tuple(dict.fromkeys(filter(normalise, map(_cleaned, found))))


@dataclass(frozen=True, slots=True)
class _Known:
    """Normalised names, and how long the longest are: longer texts are none of them."""

    names: Set[str]
    words: int
    letters: int

    @classmethod
    def of(cls, known: Iterable[str]) -> _Known:
        names = frozenset(map(normalise, known))
        words = max((name.count(" ") + 1 for name in names), default=0)
        return cls(names, words, max(map(len, names), default=0) * _MARKS + 100)

    def has(self, text: str) -> bool:
        """Whether the text is one of the names."""
        return len(text) <= self.letters and normalise(text) in self.names

    def longest(self, words: Sequence[Sequence[str]], at: int) -> int:
        """How many pieces from `at` on are one of the names; 1 where none are."""
        taken, said = 1, list(words[at])
        for many, own in enumerate(words[at + 1 : at + self.words + _MARKS], start=2):
            said += own
            content = [word for word in said if word not in ARTICLES] or said
            if len(content) > self.words + 1:
                break
            joined = " ".join(content)
            if joined in self.names or joined.removeprefix("and ") in self.names:
                taken = many
        return taken


def _cleaned(name: str) -> str:
    """Without the marks of a list, quotes and emphasis."""
    return re.sub(r"^(?:[-*•]|\d+[.)])\s+", "", name.strip()).strip(" \"'*`").strip()


def _at_and(piece: str, names: _Known) -> list[str]:
    parts: list[str] = []
    while True:
        piece = re.sub(r"^and\s+", "", piece) if not names.has(piece) else piece
        if names.has(piece):
            return [*parts, piece]
        for match in _AND.finditer(piece):
            left, right = match.start(), len(piece) - match.end()
            if (left <= names.letters and names.has(piece[:left])) or (
                right <= names.letters and names.has(piece[match.end() :])
            ):
                parts.append(piece[:left])
                piece = piece[match.end() :]
                break
        else:
            return [*parts, piece]


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
