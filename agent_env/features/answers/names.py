"""Answers that are lists of names: parser and metrics.

Names are equal if they agree after normalisation: letter case, accents and articles (a, an, the)
do not count, `&` is `and`, dots and apostrophes vanish (`A.J. Auxerre` is `AJ Auxerre`), all other
punctuation is a space.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agent_env.features.answers.answer_parts import user_text
from agent_env.features.answers.hedges import QUESTION_MARKS, hedge, takes_back

ARTICLES = frozenset({"a", "an", "the"})
_VANISH = re.compile(r"[.'’`´]")
_OTHER = re.compile(r"[^\w]+|_")
_MARK = re.compile(
    r"^(?:[^\S\n]|[>*_`#-])*+(?:(?:my|the|final)\s{1,20}+){0,9}+answers?(?:\s+is)?[*_`]*+\s*+[:：=]"
    r"[*_`]*+|^[ \t#*_>]*(?:(?:my|the|final)\s{1,20}+){0,9}+answers?[ \t*_]*$"
    r"|^(?:(?:so|thus|hence|therefore),? )?(?:the|my) (?:(?:final|correct|right) )?answers?"
    r" (?:is|are)\b(?!\s*[:：])(?=[ *_`]+\w)",
    re.I | re.M,
)
_END = re.compile(
    r"(?<![>*_`#-])[>*_`#-]*+\b(?:reason(?:ing|s)?|explanation|sources?|notes?|evidence|solver|matched)[*_`]*+\s*+:",
    re.I,
)
_NONE = re.compile(
    r"(?:none|null|nobody|no one|nothing)"
    r"(?: (?:of|as|because|since|found|was|were|is|are|held)\b.*)?"
    r"|unanswerable|nil|na|nan|n a|not applicable|not in any \w+|no (?!data|information)\w+"
    r"|(?:there (?:is|was) )?no such \w+|there (?:is|was|were|are) (?:none|no \w+)"
)
"""An answer that says that there is none, as `_words` leaves it."""
_UNSURE = re.compile(
    r"|unknown(?: (?:not|as|because|from)\b.*)?|unclear|tbd|to be determined"
    r"|no (?:data|information).*"
    r"|(?:the )?(?:information|data|text|page|answer|context) .*\b(?:not|no)\b.*"
    r"|(?:it is )?not (?:known|sure|certain|available|stated|given|specified)"
    r"|(?:i )?(?:do not|dont|cannot|cant|can not) (?:know|say|tell|determine|answer|be determined)"
    r"|(?:i am |im )?(?:not sure|unsure)|(?:insufficient|not enough) (?:information|data)"
)
_KEYS = ("final_answer", "answers", "answer", "names", "name", "result")
_OBJECT = re.compile(r"\{[^{}]{0,2000}\}\s{0,20}$")
"""At the end of a text."""
_LEAD = re.compile(
    r"\A(?:(?:so|thus|hence|therefore),? )?(?:the|my) (?:(?:final|correct|right) )?answers?"
    r" (?:is|are)\b[*_`]{0,3}:? ?",
    re.I,
)
_SEPARATOR = re.compile(r"[,;\n]")
_ENTRY = re.compile(r"(?:[-*•]|\d+[.)]|\(\d+\)|\(?[a-z]\))\s+")
"""The mark of a list's entry."""
_ANDS = (" and ", " & ", " + ", " / ")
_AND = re.compile(r"(?<!\s)\s++(?:and|&|\+|/)\s+")
_DRESS = re.compile(
    r" ?[(\[–—:](?! ?(?:or|and|also|not|nor)\b)|\s-\s|\s(?:who|from|since|until|between|for|in)\b"
)
"""What may be behind a name and adds nothing: brackets, a span, a remark."""
_MARKS = 8
"""Maximum pieces of a name without a word, and characters of it for one that counts."""
LONGEST = 20_000
"""Maximum characters of an answer that are parsed."""
LONGEST_ENTRY = 120
"""Maximum characters of an entry in a list without an answer line; longer ones are reasoning."""
_FENCE = re.compile(r"^[ \t]{0,8}```[\w-]{0,20}[ \t]{0,8}$\n?|</?answer>", re.M | re.I)
_BOX = re.compile(r"\$?\\(?:boxed|fbox)\{(?:\\text\{)?([^{}]{0,300})\}{1,2}\$?")
SHORT = 300
"""Maximum characters of a text without an answer line that may be the answer itself."""


@lru_cache(maxsize=1024)  # one score asks for the same few names some 20 times
def normalise(name: str) -> str:
    """The name in the form that is compared; see the module for the rules."""
    words = _words(name)
    return " ".join([word for word in words if word not in ARTICLES] or words)


def _words(text: str) -> list[str]:
    text = text.casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if not unicodedata.combining(c))
    return _OTHER.sub(" ", _VANISH.sub("", text.replace("&", " and "))).split()


@dataclass(frozen=True, slots=True)
class NameList:
    """The names of an answer, and the rule that found them."""

    names: tuple[str, ...] | None
    """As written; () for "there is none"; None for an answer that cannot be parsed."""
    rule: str
    text: str = ""
    """The text of the answer, before it was split."""


def parse_name_list(text: str | None, known: Iterable[str] = ()) -> NameList:
    """The names after the last `Answer:`; a short text without one is the answer itself. `known`:
    names that are never split at a comma, `and` or a semicolon, the gold ones among them."""
    text = _BOX.sub(r"\1", _FENCE.sub("", user_text(text or "")))
    if not text.strip():
        return NameList(None, "no text")
    marks = list(_MARK.finditer(text))
    if marks:
        answer, rule = text[marks[-1].end() :], "answer line"
    elif tail := _OBJECT.search(text):
        answer, rule = tail[0], "object"
    elif len(text) <= SHORT and text.strip().count("\n") <= 2:
        answer, rule = text, "whole text"
    elif listed := _list_of_lines(text, known):
        return NameList(tuple(name for name in listed if not _says_none(name)), "list")
    else:
        return NameList(None, "no line that begins with Answer:")
    end = _END.search(answer)
    answer = answer[: end.start()] if end else answer
    answer = answer.strip().strip("`*").strip()
    if rule == "answer line" and not answer.startswith(("[", "{")):
        answer, _, behind = answer.partition("\n\n")
        answer = answer.strip()
        if why := takes_back(behind):
            return NameList(None, why, answer)
    return names_in(answer, rule, known)


def names_in(answer: str, rule: str, known: Iterable[str] = ()) -> NameList:
    """The names of the text of an answer: JSON, a list with an entry on each line, or names that
    commas, semicolons or `and` separate; `rule` says where the text was found."""
    if re.fullmatch(r"\W{0,3}(?:∅|\{\s?\}|set\(\))\W{0,3}", answer):
        return NameList((), rule, answer)
    if answer.startswith(("[", "{")):
        names = _json_names(answer, known)
        if names is None:
            return NameList(None, "a list that is not JSON", answer)
        if len(names) == 1 and _UNSURE.fullmatch(" ".join(_words(names[0]))):
            return NameList(None, "says that it does not know", answer)
        return NameList(tuple(n for n in names if not _says_none(n)), f"{rule}, JSON")
    answer = _LEAD.sub("", answer, count=1)
    if asks(answer, known):
        return NameList(None, "asks", answer)
    if len(answer) > LONGEST:
        answer, rule = answer[:LONGEST], f"{rule}, cut to {LONGEST:,} characters"
    if not _KnownNames.of(known).has(answer):
        words = " ".join(_words(answer))
        if _NONE.fullmatch(words):
            return NameList((), rule, answer)
        if _UNSURE.fullmatch(words):
            reason = "says that it does not know" if answer else "nothing follows the mark"
            return NameList(None, reason, answer)
    lines = [line for line in answer.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].rstrip(" *_").endswith(":") and _ENTRY.match(lines[1].strip()):
        lines = lines[1:]
        answer = "\n".join(lines)
    if len(lines) > 1 and all(map(_ENTRY.match, map(str.strip, lines))):
        entries = [name for line in lines for name in _of_entry(_cleaned(line), known)]
        return NameList(tuple(dict.fromkeys(filter(normalise, entries))), rule, answer)
    return NameList(split_names(answer, known), rule, answer)


def _list_of_lines(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """The entries of a text that is nothing but a list, a line each, perhaps under a heading; lines
    without a list mark are known names. () for any other text."""
    lines = [line.strip() for line in text[:LONGEST].strip().splitlines() if line.strip()]
    if lines and lines[0].rstrip("*_").endswith(":") and not _ENTRY.match(lines[0]):
        lines = lines[1:]
    names = _KnownNames.of(known)
    is_list = all(
        (_ENTRY.match(line) and len(line) <= LONGEST_ENTRY) or names.has(line) for line in lines
    )
    return tuple(dict.fromkeys(filter(normalise, map(_cleaned, lines)))) if is_list else ()


def _says_none(text: str) -> bool:
    return _NONE.fullmatch(" ".join(_words(text))) is not None


def _of_entry(entry: str, known: Iterable[str]) -> tuple[str, ...]:
    """The names of a list's entry: one, which may hold commas, or several that are all known."""
    names, parts = _KnownNames.of(known), split_names(entry, known)
    return parts if all(map(names.has, parts)) else (entry,)


def asks(answer: str, known: Iterable[str]) -> bool:
    """Whether the answer is a question, and not a known name that ends like one."""
    mark = answer.rstrip(" \t\n*_`\"'")[-1:]
    return mark != "" and mark in QUESTION_MARKS and not any(name.endswith(mark) for name in known)


def _json_names(text: str, known: Iterable[str]) -> list[str] | None:
    """The names of a list, or of an object's answer; None for what is not JSON of that form."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
        if re.search(r"\w", text[end:].partition("\n")[0]):
            return None
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            if not re.search(r"[\"':]", text) and text[-1] in "]}":  # {Bob, Alice}
                text = text.strip("[]{}")
                return [] if _says_none(text) else list(split_names(text, known))
            return [] if _says_none(text) else None
    values = [names_of_json(each) for each in (value if isinstance(value, list) else [value])]
    return None if None in values else [name for each in values if each for name in each]


def names_of_json(value: Any) -> list[str] | None:
    """The names of one value; None for an object without an answer."""
    if isinstance(value, dict):
        fields = {str(key).casefold(): each for key, each in value.items()}
        key = next((key for key in _KEYS if key in fields), None)
        if key is None and len(fields) != 1:
            return None
        return names_of_json(fields[key or next(iter(fields))])
    if isinstance(value, list):
        return [str(each) for each in value]
    return [] if value is None else [str(value)]


def split_names(text: str, known_names: Iterable[str] = ()) -> tuple[str, ...]:
    """The names in a text, separated by commas, semicolons, line breaks, and by `and` beside a
    known name; the longest part that is a known name is one name."""
    known = _KnownNames.of(known_names)
    if not _SEPARATOR.search(text.strip()) and not any(map(text.__contains__, _ANDS)):
        return (_undressed(_cleaned(text), known),)
    if known.has(text):
        return (_cleaned(text),)
    pieces = [piece.strip() for piece in _SEPARATOR.split(text) if piece.strip()]
    words = [_words(piece) for piece in pieces]
    names: list[str] = []
    at = 0
    while at < len(pieces):
        count = known.longest(words, at)
        name = ", ".join(pieces[at : at + count])
        names += [name] if count > 1 else _at_and(name, known)
        at += count
    cleaned = (_undressed(_cleaned(name), known) for name in names)
    return tuple(dict.fromkeys(filter(normalise, cleaned)))


def _undressed(name: str, known: _KnownNames) -> str:
    """The known name that the text begins with, where only a remark is behind it; else all of
    the text."""
    if known.has(name):
        return name
    name = re.sub(r"^both\s", "", name, flags=re.I)
    heads = (name[: match.start()] for match in _DRESS.finditer(name[:LONGEST_ENTRY]))
    head = next(filter(known.has, heads), None)
    return name if head is None or hedge(name, [(0, len(head))]) else head


@dataclass(frozen=True, slots=True)
class _KnownNames:
    """Normalised names and the greatest length among them, past which no text is looked up."""

    names: Set[str]
    words: int
    letters: int

    @classmethod
    def of(cls, known: Iterable[str]) -> _KnownNames:
        return cls._of(tuple(known))

    @classmethod
    @lru_cache(maxsize=1024)  # as above
    def _of(cls, known: tuple[str, ...]) -> _KnownNames:
        names = frozenset(map(normalise, known))
        words = max((name.count(" ") + 1 for name in names), default=0)
        return cls(names, words, max(map(len, names), default=0) * _MARKS + 100)

    def has(self, text: str) -> bool:
        return len(text) <= self.letters and normalise(text) in self.names

    def longest(self, words: Sequence[Sequence[str]], at: int) -> int:
        """How many pieces from `at` on form one of the names; 1 if none do."""
        count, words_so_far = 1, list(words[at])
        for number, piece in enumerate(words[at + 1 : at + self.words + _MARKS], start=2):
            words_so_far += piece
            content = [word for word in words_so_far if word not in ARTICLES] or words_so_far
            if len(content) > self.words + 1:
                break
            joined = " ".join(content)
            if joined in self.names or joined.removeprefix("and ") in self.names:
                count = number
        return count


def _cleaned(name: str) -> str:
    """The name without list marks, quotes and emphasis."""
    plain = name.strip()
    mark = _ENTRY.match(plain)
    return plain[mark.end() if mark else 0 :].strip(" \"'*`").strip()


def _at_and(piece: str, names: _KnownNames) -> list[str]:
    parts: list[str] = []
    while True:
        piece = re.sub(r"^and\s+", "", piece) if not names.has(piece) else piece
        if names.has(piece):
            return [*parts, piece]
        for match in _AND.finditer(piece):
            left_length, right_length = match.start(), len(piece) - match.end()
            if (left_length <= names.letters and names.has(piece[:left_length])) or (
                right_length <= names.letters and names.has(piece[match.end() :])
            ):
                parts.append(piece[:left_length])
                piece = piece[match.end() :]
                break
        else:
            return [*parts, piece]


def squad_match(gold: Iterable[str], answer: str) -> float:
    """SQuAD's exact match of the whole text with the best of the gold answers."""
    return float(answer in set(gold) if gold else not answer)


def token_f1(gold: Sequence[str], answer: str) -> float:
    """SQuAD's token F1 with the best of the gold answers; without gold, 1 for an empty text."""
    if not gold:
        return float(not answer)
    words = Counter(answer.split())
    return max(_overlap(Counter(name.split()), words) for name in gold)


def _overlap(gold: Counter[str], answer: Counter[str]) -> float:
    both = sum((gold & answer).values())
    total = sum(gold.values()) + sum(answer.values())
    return 2 * both / total if total else 1.0
