"""Parses answers: names, yes or no, numbers, days; unreadable answers are distinct from wrong ones.

The last line that begins with `MY ANSWER:` counts; if nothing is behind the mark, the next line
does. Without a mark, a reply of a single short line is taken as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from agent_env.features.answers.answer_parts import user_text
from agent_env.features.answers.date_answers import parse_date_text
from agent_env.features.answers.hedges import MOST, hedge, takes_back
from agent_env.features.answers.notations import qualifier
from agent_env.temporal.written import NUMBERS, TIMES, in_words

_MARKER = re.compile(
    r"^(?:[^\S\n]|[>*_`#-])*+my\s+answers?\s*+(?:is)?[*_`]*+\s*+[:：][*_`]*+", re.I | re.M
)
_HEDGE = re.compile(
    r"\b(?:or|maybe|perhaps|possibly|probably|either|except|unknown|unsure|unclear|cannot|can't"
    r"|not sure|don't know|i doubt|refuse)\b",
    re.I,
)
_NOBODY = re.compile(r"(?:nobody|no[ -]?one|none|no subjects?|\[\s*\]|∅)(?:\b.*)?", re.I)
_NEVER = re.compile(
    r"never|none|n/a|(?:(?:it|this|that|they|he|she) )?(?:(?:(?:did|has|have)(?: not|n['’]t)|never)"
    r" (?:ever )?(?:happen(?:ed)?|occur(?:red)?|take place|taken place|took place))(?: at all)?",
    re.I,
)
_AROUND = frozenset(
    "a all alone also and are both by did do does done had has have is it just no of on one only "
    "other people persons subjects that the them there these they this those three four five six "
    "too two was were who".split()
)
"""Words that add nothing to the names of an answer."""
_BULLET = re.compile(r"\A[ \t>]{0,20}(?:[-*•+]|\(?\d{1,2}[.)])[ \t]{1,20}")
_NEGATED = re.compile(r"\b(?:not|nobody|no one|neither|nor|but|only if)\b|n't\b", re.I)
_NUMBER = re.compile(r"(?<![\w.,])[-−+]?\d+(?:,\d{3})*(?:[.,/]\d+)?(?![\w/])")
_WORDS = {"never": 0, "none": 0, **TIMES, **NUMBERS}
_YES_OR_NO = re.compile(r"\b(?:yes|no|true|false)\b", re.I)
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.I)
_SHORT = 120
"""Characters of a reply that is taken as a whole."""


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer in normal form, and the rule that read it."""

    answer: tuple[str, ...] | None
    """Names in order, `yes` or `no`, a number, a day; () for nobody and never; None where the
    answer cannot be read."""
    rule: str


def read_answer(template: str, text: str | None, subjects: Sequence[str]) -> ParsedAnswer:
    """The answer of a reply to a question of this template; `subjects` are all possible names."""
    line, where, behind = _line(user_text(text or ""), subjects)
    if line is None:
        return ParsedAnswer(None, where)
    if why := takes_back(behind):
        return ParsedAnswer(None, why)
    plain = re.sub(r"[*_`\"“”]|\\boxed", "", line).strip(" \t.!()[]{}")
    if not plain:
        return ParsedAnswer(None, "nothing follows the mark")
    if (word := _HEDGE.search(plain)) is not None:
        return ParsedAnswer(None, f"hedges ('{word.group().lower()}')")
    numbers = _NUMBER if _NUMBER.search(plain) else _NUMBER_WORD
    given = {"who": _any_of(subjects), "did": _YES_OR_NO, "how-often": numbers}.get(template)
    if given is not None and (why := hedge(plain, [m.span() for m in given.finditer(plain)])):
        return ParsedAnswer(None, why)
    if template == "how-often":
        for match in islice(numbers.finditer(plain), MOST):
            if why := qualifier(plain[: match.start()], plain[match.end() :], "number"):
                return ParsedAnswer(None, why)
    if template == "who":
        by_name = {subject.lower(): subject for subject in subjects}
        parts = [
            part
            for part in re.split(r"(?:(?<!\s)\s++)?[,;&/+]\s*+|(?<!\s)\s++and\s+|^and\s+", plain)
            if part
        ]
        bare = [
            re.sub(r"^(?:and|the)\s+| ?\([^()]{0,99}\)?$", "", part, flags=re.I) for part in parts
        ]
        bare = [part.strip(" '") for part in bare]
        if all(part.lower() in by_name for part in bare):
            names = {by_name[part.lower()] for part in bare}
            return ParsedAnswer(tuple(sorted(names)), f"names {where}")
        mentions = {match[0].lower() for match in _any_of(subjects).finditer(plain)}
        mentions = {subject for subject in subjects if subject.lower() in mentions}
        around = re.findall(r"\w+", _any_of(subjects).sub(" ", plain).lower())
        if mentions and not {"nobody", "no one"} & mentions and _AROUND.issuperset(around):
            return ParsedAnswer(tuple(sorted(mentions)), f"names {where}")
        if _NOBODY.fullmatch(plain) and not mentions:
            return ParsedAnswer((), f"nobody {where}")
        if mentions and _NEGATED.search(plain):
            return ParsedAnswer(None, "names somebody and denies something")
        if all(len(part.split()) <= 3 and part[:1].isupper() for part in bare):
            names = {by_name.get(part.lower(), part) for part in bare}
            return ParsedAnswer(tuple(sorted(names)), f"names {where}, not all of them known")
        if mentions:
            return ParsedAnswer(tuple(sorted(mentions)), f"names in a sentence {where}")
        return ParsedAnswer(None, "names nobody that is known")
    if template == "did":
        words = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}
        answers = {words[match[0].lower()] for match in _YES_OR_NO.finditer(plain)}
        if len(answers) == 1:
            return ParsedAnswer((answers.pop(),), f"yes or no {where}")
        return ParsedAnswer(None, "says yes and no" if answers else "says neither yes nor no")
    return _number(plain, where) if template == "how-often" else _day(plain, where)


def _line(text: str, subjects: Sequence[str]) -> tuple[str | None, str, str]:
    """The text of the answer, where it stands or why there is none, and the text below it."""
    markers = list(_MARKER.finditer(text))
    if markers:
        line, behind = _block(text[markers[-1].end() :].strip(), subjects)
        return line, "after MY ANSWER:", behind
    whole = text.strip()
    if not whole:
        return None, "no text", ""
    if "\n" in whole or len(whole) > _SHORT:
        return None, "no line that begins with MY ANSWER:", ""
    return whole, "the whole reply", ""


def _block(text: str, subjects: Sequence[str]) -> tuple[str, str]:
    """The first line with the list that continues below it, as one line, and the text behind: a
    line goes on where it is nothing but names, numbers, yes or no, or follows a comma."""
    lines = text.split("\n")
    items = [_BULLET.sub("", lines[0], count=1).strip()]
    end = 1
    for number, line in enumerate(lines[1:], start=1):
        item = _BULLET.sub("", line, count=1).strip(" \t*_`.,;")
        rest = _any_of(subjects).sub(" ", item)
        is_value = not re.sub(r"\band\b|[\W\d_]", "", _YES_OR_NO.sub(" ", rest))
        if item and not is_value and not items[-1].endswith(","):
            break
        if item:
            items.append(item)
            end = number + 1
    joined = ", ".join(item.rstrip(",;") for item in items if item)
    return joined, "\n".join(lines[end:])


def _any_of(subjects: Sequence[str]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, (*subjects, "nobody", "no one")))
    return re.compile(rf"(?<!\w)(?:{names})(?!\w)", re.I)


def _number(plain: str, where: str) -> ParsedAnswer:
    """One number; a negative or fractional one is read, and is wrong."""
    if _NEVER.fullmatch(plain):
        return ParsedAnswer(("0",), f"never {where}")
    digits = [_digits(text) for text in _NUMBER.findall(plain)]
    words = [] if digits else _number_words(plain)
    numbers = dict.fromkeys([*digits, *words])
    if len(numbers) == 1:
        return ParsedAnswer((next(iter(numbers)),), f"a number {where}")
    if not numbers and re.fullmatch(r"not (?:at all|once|a single time)\b.*", plain, re.I):
        return ParsedAnswer(("0",), f"a number {where}")
    return ParsedAnswer(None, "names several numbers" if numbers else "names no number")


def _digits(text: str) -> str:
    text = text.replace("−", "-").removeprefix("+")
    whole = re.sub(r",(?=\d{3}(?:\D|$))", "", text).replace(",", ".")
    return (whole.lstrip("0") or "0") if whole.isdecimal() else whole


def _number_words(plain: str) -> list[str]:
    values = map(_word_number, re.findall(r"[a-z]+(?:-[a-z]+)?", plain.lower()))
    return [str(n) for n in values if n is not None]


def _word_number(word: str) -> int | None:
    return in_words(word) if NUMBERS.keys() >= set(word.split("-")) else _WORDS.get(word)


def _day(plain: str, where: str) -> ParsedAnswer:
    if _NEVER.fullmatch(plain):
        return ParsedAnswer((), f"never {where}")
    reading = parse_date_text(plain)
    if not reading.dates:
        return ParsedAnswer(None, reading.rule)
    if len(reading.dates) > 1:
        return ParsedAnswer(None, "names several days")
    return ParsedAnswer(reading.dates, f"a day {where}")
