"""Parses numbers as people and models write them: `1,095`, `−5`, `2.5`, `twenty-five`."""

from __future__ import annotations

import re

from agent_env.families.temp_answers.scoring.time_units import Amount, whole

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {word: n for n, word in enumerate(_SMALL)} | {
    word: 10 * n for n, word in enumerate(_TENS, start=2)
}
_SCALES = {"thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
_ANY = "|".join(sorted([*_VALUES, "hundred", *_SCALES], key=len, reverse=True))
WORDS = rf"\b(?:{_ANY})(?:(?:[\s-]+(?:and\s+)?)(?:{_ANY})){{0,12}}\b"
"""A number in words; `one hundred and five` is one number."""
DIGITS = (
    r"(?<![\w.])[-+−]?\s?(?:\d{1,3}(?:[,\u202f' _]\d{3}){1,14}|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?"
)
"""A number in digits, with its sign and with separators between groups of three."""
NUMBER = rf"(?:{DIGITS}|{WORDS})"
_NUMBER = re.compile(NUMBER, re.I)
_SEPARATORS = re.compile(r"[,\u202f' _\s+]")
MOST_DIGITS = 40
"""Longer runs of digits are no amount of time."""


def read_number(text: str) -> Amount | None:
    """The whole text as a number; None where it is not one."""
    match = _NUMBER.fullmatch(text.strip())
    return None if match is None else value_of(match[0])


def value_of(text: str) -> Amount | None:
    """The value of a text that matches NUMBER; None for another text and for 1e30 and more."""
    plain = _SEPARATORS.sub("", text.replace("−", "-"))
    if not any(character.isdigit() for character in plain):
        return in_words(text)
    if len(plain) > MOST_DIGITS:
        return None
    if re.fullmatch(r"-?\d+", plain):
        return int(plain)
    try:
        number = float(plain)
    except ValueError:
        return None
    return whole(number) if abs(number) < 1e30 else None


def in_words(text: str) -> int | None:
    """The value of a number in words; None where the words are not a number (`five six`)."""
    total = group = 0
    last = 10_000
    words = re.findall(r"[a-z]+", text.lower())
    if not words:
        return None
    for word in words:
        if word == "and":
            continue
        if word in _SCALES:
            total, group, last = total + max(group, 1) * _SCALES[word], 0, 10_000
        elif word == "hundred":
            if group >= 10:
                return None
            group, last = max(group, 1) * 100, 100
        else:
            value = _VALUES.get(word)
            if value is None or not _may_follow(last, value):
                return None
            group, last = group + value, value
    return total + group


def _may_follow(last: int, value: int) -> bool:
    """Tens follow hundreds, ones follow tens; nothing follows a one or a teen."""
    if last >= 100:
        return True
    return 20 <= last <= 90 and 1 <= value <= 9
