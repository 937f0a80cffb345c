"""Reads the one number of an answer, without guessing.

Words, a unit and an approximation ("about") may stand around it; scale words are multiplied in
(`1.5 million`, `20k`). A comparison, a negation, an operation (`twice 3`, `2/3`) and what can be
read in two ways (`1,5`, `3M`, `- 3`) give no number. A single dot is a decimal point, a comma
stands before groups of three digits; `1.234,5` and `1.234.567` are clear in themselves.
"""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import islice

from agent_env.features.answers.hedges import MOST, hedge
from agent_env.features.answers.notations import comparison, without_latex
from agent_env.temporal.written import NUMBER_WORDS, in_words

LONGEST = 60
"""Maximum characters of a number."""
_BLANK = "\u00a0\u2009\u202f"
_JOIN = rf"(?:[.,'’_{_BLANK}]| ?(?:[-−–+×*^/:÷]|\*\*) ?[{{(]?)\d++| \d{{3}}(?!\d)"
_FORMS = (
    (re.compile(r"(?:\d+(?:\.\d+)?|\.\d+)"), ""),
    (re.compile(rf"[1-9]\d{{0,2}}(?:([,'’_{_BLANK}])\d{{3}}(?:\1\d{{3}})*|(?: \d{{3}}){{2,}})"
                r"(?:\.\d+)?"), ""),
    (re.compile(r"[1-9]\d?(?:,\d\d)+,\d{3}(?:\.\d+)?"), ""),  # 1,00,000
    (re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}"), "."),
)  # fmt: skip
"""How a number may be written, with the mark of its groups of three where that is the dot."""
_SCALES = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "k": 1000, "mn": 10**6, "mln": 10**6, "mio": 10**6, "bn": 10**9, "dozen": 12, "lakh": 10**5,
    "crore": 10**7,
}  # fmt: skip
_SCALE = rf"(?:(?-i:k)|(?:{'|'.join(name for name in _SCALES if name != 'k')})s?)(?![^\W_])"
_NUMBER = re.compile(
    rf"(?<![\w.,^])(?<!\^\{{)(?P<sign>[-−–](?P<gap>\s{{0,3}})|(?:minus|negative)\s)?[$€£¥]?\s?"
    rf"(?P<digits>(?:\d++|\.\d++)(?:{_JOIN})*+)(?P<power>e[-+]?\d{{1,3}}(?!\w))?"
    rf"(?P<scale>(?:[ -]?{_SCALE}){{0,3}})(?![^\W\d_]{{0,20}}\d)",
    re.I,
)
_TWO_WAYS = re.compile(r"K(?!\w)| ?(?:[MBGT]|mil|mill)(?!\w)|[²³¹⁰-⁹½¼¾⅓⅔⅛]|(?<=\d{3}0)s\b")
_PERCENT = re.compile(r"\s?(?:%|‰|per ?cents?\b|pct\b)", re.I)
_TAG = re.compile(r"</?[A-Za-z][\w-]{0,20}/?>|<(?=[-\d][^<>\n]{0,40}>)|(?<=\d)>(?=\W*$)")
_LEFT = re.compile(rf"\b{_SCALE}", re.I)


def value_of(text: str) -> Decimal | None:
    """The value of a number in digits, such as `-1,250.5` or `2e6`; None for another text."""
    match = _NUMBER.fullmatch(text.strip())
    return None if match is None or match["gap"] or match["scale"] else _value(match)


def parse_number_text(text: str, has_percent: bool = False) -> tuple[Decimal | None, str]:
    """The one number, or None and the reason; `has_percent`: percent are asked for."""
    text = _TAG.sub(" ", without_latex(text))
    matches = list(islice(_NUMBER.finditer(text), MOST + 1))
    if len(matches) > MOST:
        return None, f"more than {MOST} numbers"
    values: set[Decimal] = set()
    for match in matches:
        before, behind = text[: match.start()], text[match.end() : match.end() + 60]
        is_bullet = match["gap"] and not before.rpartition("\n")[2].strip()
        value = None if is_bullet or _TWO_WAYS.match(text, match.end()) else _value(match)
        if value is None:
            return None, f"'{_around(text, match)}' can be read in two ways"
        if _PERCENT.match(behind) and not has_percent:
            return None, "is a share in percent"
        if why := comparison(before, behind):
            return None, why
        values.add(value)
    if len(values) != 1:
        return None, "no number" if not values else f"{len(values)} different numbers"
    (value,) = values
    rest = re.sub(NUMBER_WORDS, lambda m: "" if in_words(m[0]) == value else m[0], text, flags=re.I)
    if left := _LEFT.search(_NUMBER.sub("0", rest)):
        return None, f"leaves the number word '{left[0]}'"
    why = hedge(text, [match.span() for match in matches])
    return (None, why) if why else (value, "")


def _around(text: str, match: re.Match[str]) -> str:
    return text[match.start() : match.end() + 4].split("\n")[0].strip()[:40]


def _value(match: re.Match[str]) -> Decimal | None:
    """None for digits and marks that are in no form of a number."""
    digits = match["digits"]
    group = next((mark for form, mark in _FORMS if form.fullmatch(digits)), None)
    if group is None or len(match[0]) > LONGEST:
        return None
    if group == ".":
        digits = digits.replace(".", "").replace(",", ".")
    value = Decimal(re.sub(r"[^\d.]", "", digits) + (match["power"] or ""))
    for word in re.findall(r"[a-z]+", (match["scale"] or "").lower()):
        value *= _SCALES[word.removesuffix("s")]
    return -value if (match["sign"] or "").strip() and match["gap"] in (None, "") else value
