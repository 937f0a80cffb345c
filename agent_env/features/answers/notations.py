"""One notation for the dates of an answer, whatever it is scored by, and what qualifies a date.

`one_notation` writes 17May2019, 2019年5月17日, 2019, May 17 and the like in one way, so that every
reader of dates finds the same ones; years before 1000 have four digits, AD is left out, a negative
year and an interval of ISO 8601 are written in words. A date is not given where `qualifier` says
so: by a comparison (before, since, by, at the latest), a displacement (the week of, - 1 day), an
exception or negation in its clause (any day but, neither, false), as an approximation (circa, c.,
~, about, or so), of another era or calendar (BC, AH, Julian).
"""

from __future__ import annotations

import re

from agent_env.temporal.written import ANY_MONTH, NUMBERS

_MONTH = rf"({ANY_MONTH})\.?"
_NAME = rf"(?:{ANY_MONTH})\.?"
_TH = r"(?:st|nd|rd|th)?"
_AD = r"(?:\b(?:A\.? ?D\.?|a\.d\.)|(?<!B)(?<!B\.)(?<![A-Za-z]) ?C\.? ?E\.?)(?!\w)"
_WIDE = str.maketrans("０１２３４５６７８９／．－", "0123456789/.-")
_NOTATIONS = (
    (re.compile(r"\b(?:datetime\.)?(?:date|datetime)\((\d{4}), ?(\d{1,2}), ?(\d{1,2})"
                r"(?:, ?0){0,4}\)", re.I), lambda m: _partial(*m.groups())),
    (re.compile(r"\{\s?[\"']?year[\"']?: ?(\d{4}),\s?[\"']?month[\"']?: ?(\d{1,2})"
                r"(?:,\s?[\"']?day[\"']?: ?(\d{1,2}))?\s?\}", re.I),
     lambda m: _partial(*m.groups())),
    (re.compile(r"<(\d[^<>\n]{0,40}\d)>"), r"\1"),
    (re.compile(rf"(\d{{4}}-\d\d-\d\d) ?{_AD}"), r"\1"),
    (re.compile(rf"(?<!\w){_MONTH} the (\d{{1,2}}){_TH}(?=,? ?\d{{4}})", re.I), r"\1 \2"),
    (re.compile(r"(\d{3,4}) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日일号]"), r"\1-\2-\3"),
    (re.compile(r"(\d{3,4}) ?[年년](?: ?(\d{1,2}) ?[月월])?"), lambda m: _partial(*m.groups())),
    (re.compile(r"</?(?!br\b)[A-Za-z][\w-]{0,20}/?>"), ""),
    (re.compile(r"(?<![\d/.])(\d{1,4}) ([/.]) (\d{1,2}) \2 (\d{1,4})(?![\d/])"), r"\1\2\3\2\4"),
    (re.compile(r" ,(?= ?\d)"), ","),
    (re.compile(r"(\d{4}-\d\d-\d\d) ?/ ?(\d{4}-\d\d-\d\d)"), r"\1 to \2"),
    (re.compile(r"(?<![\w-])[-−](0\d{3}(?:-\d\d(?:-\d\d)?)?)(?!\d)"), r"\1 BC"),
    (re.compile(rf"(?<![\w.])(\d{{1,2}}){_TH}{_MONTH},? ?(\d{{4}})(?!\d)", re.I), r"\1 \2 \3"),
    (re.compile(rf"(?<!\w)(\d{{1,2}}){_TH} day of {_MONTH}", re.I), r"\1 \2"),
    (re.compile(rf"(?<!\w){_MONTH} ?(\d{{1,2}}){_TH},(\d{{4}})(?!\d)", re.I), r"\1 \2, \3"),
    (re.compile(rf"(?<!\w){_MONTH}-(\d{{1,2}})-(\d{{4}})(?!\d)", re.I), r"\1 \2, \3"),
    (re.compile(rf"(?<![\w.])(\d{{4}}), ?(\d{{1,2}}){_TH} {_MONTH}(?!,? ?\d)", re.I), r"\2 \3 \1"),
    (re.compile(rf"(?<![\w.])(\d{{4}})(?:, ?| ){_MONTH} (\d{{1,2}}){_TH}"
                r"(?!\d|:| to\b|, ?\d{4})", re.I), r"\2 \3, \1"),
    (re.compile(rf"(?<![\w.])(\d{{4}})([-/.]){_MONTH}\2(\d{{1,2}})(?!\d)", re.I), r"\3 \4, \1"),
    (re.compile(rf"(?<!\w)({_NAME}(?: \d{{1,2}}{_TH},?)?|year) (\d{{3}})"
                r"(?![\d:,.]{0,9}\d|\w)", re.I), lambda m: f"{m[1]} {m[2]:0>4}"),
    (re.compile(rf"{_AD} ?(\d{{1,4}})(?!\d)"), lambda m: f"{m[1]:0>4}"),
    (re.compile(rf"(?<![\d.,])(\d{{1,4}}) ?{_AD}"), lambda m: f"{m[1]:0>4}"),
)  # fmt: skip
_ODD = (
    re.compile(
        r"\d(?:[^\W\d_]| ?/ ?\d| \. \d| ,|\d{3}, ?\d)|\d [년年]|[a-z]-\d{1,2}-\d{4}|[Aa]\.d\."
    ),
    re.compile(r"</?[A-Za-z]|[０-９]"),
    re.compile(
        r"\d{4}(?:, ?|[ ./-])"
        r"(?:[Jj][au]|[Ff]e|[Mm]a|[Aa][pu]|[Ss]e|[Oo]c|[Nn]o|[Dd]e|[JFMASOND][A-Z])"
    ),
    re.compile(r"(?<!\w)[-−]0\d|,\d{4}|[A-Za-z.] \d{3}(?!\w)|\s\d{1,2}(?:\w\w)?, \d{3}(?!\w)"),
    re.compile(r"[AC]\.? ?[DE](?!\w)"),
    re.compile(r"(?:date|time)\(\d|year[\"']?:|<\d|[a-z.] the \d", re.I),
)
"""What a text has that is written otherwise; most have none of it."""


def one_notation(text: str) -> str:
    """The text with its dates as every reader knows them; positions change."""
    if not any(odd.search(text) for odd in _ODD):
        return text
    text = text.translate(_WIDE)
    for pattern, becomes in _NOTATIONS:
        text = pattern.sub(becomes, text)
    return text


def _partial(*parts: str | None) -> str:
    year, *rest = filter(None, parts)
    return "-".join([f"{year:0>4}", *(f"{part:0>2}" for part in rest)])


_SIGNS = {
    "emptyset": "∅", "varnothing": "∅", "neq": "≠", "ne": "≠", "leq": "≤", "le": "≤", "geq": "≥",
    "ge": "≥", "lt": "<", "gt": ">", "pm": "±", "approx": "≈", "sim": "~", "times": "×",
    "cdot": "·", "to": "→", "quad": " ", "qquad": " ",
}  # fmt: skip
_SIGN = re.compile(rf"\\({'|'.join(_SIGNS)})(?![A-Za-z])")
_STYLE = re.compile(
    r"\\(?:text(?:bf|it|rm|tt|sf)?|emph|math(?:rm|bf|it|sf|tt)|[mf]box|boxed|operatorname)\s?"
    r"\{([^{}]*)\}"
)
_MATHS = re.compile(
    r"\\[()\[\]]|\$\$|\$(?=[^\s$](?:[^$\n]{0,300}[^\s$])?\$(?!\d))|(?<=\S)\$(?!\S?\d)"
)


def without_latex(text: str) -> str:
    """The text without the marks of mathematics, spaces and styles of LaTeX."""
    if not any(mark in text for mark in ("\\", "$", "{,}")):
        return text
    text = _SIGN.sub(lambda m: _SIGNS[m[1]], text.replace("{,}", ","))
    for _ in range(4):  # styles inside each other
        text = _STYLE.sub(r"\1", text)
    text = re.sub(r"(?<=\d)\\,(?=\d)", "\u2009", text)
    text = re.sub(r"\\[,;:! \\]", " ", _MATHS.sub("", text))
    return re.sub(r"\\([{}%$&#_])", r"\1", re.sub(r"(?<=\S)  +(?=\S)", " ", text))


_TIMES = "before|after|since|until|till|by|prior to|preceding|following|pre|post"
_BOUND = (
    r"not|over|under|above|below|beyond|up to|than|nearly|almost|close to|between|exceed\w{0,3}"
    r"|(?:maximum|minimum|most|least|excess|upwards|short|shy) of|min(?:imum)?|max(?:imum)?"
    r"|(?:upper|lower) (?:limit|bound)(?: is| of)?|as (?:many|few|much|little) as"
    r"|at (?:the )?(?:latest|earliest|least|most)"
)
_ABOUT = (
    r"circa|ca|c|about|around|approximately|approx|roughly|estimated(?: (?:at|as))?"
    r"|some ?(?:time|where) (?:in|around|near)|(?:julian|old style)(?: calendar)?(?: date)?"
)
_EXCEPT = (
    r"(?:any|all|every|each|no)\w{0,5}(?:[ -]\w{1,15}){0,4} but|except(?:ing)?(?: for)?|excluding"
    r"|exception of|omitting|without|save for|barring|besides|(?:apart|aside) from|instead of"
    r"|in place of|as opposed to|unlike"
)
_UNIT = r"(?:day|week|weekend|fortnight|month|quarter|year|decade|centur(?:y|ie))"
_AWAY = (
    rf"(?:(?:(?!(?:day|month|year) ){_UNIT}s?|eve|morrow|vigil|anniversary) of"
    rf"|halfway \w{{1,9}}|{_UNIT}s? (?:from|to|off|past|into|beyond|away from|ahead of|before|after"
    r"|following|preceding|prior to))"
)
"""What puts a day beside the one that is named: the week of it, ten days from it."""
_PART = r"half|twice|thrice|double|triple|times|(?:root|multiple|quarter|third|fraction) of"
_SMALL = (
    r"in|on|at|or|the|an?|about|some|equal|to|year|month|of|date|dated|end|start|beginning|early|mid"
    r"|late|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
)


def _just_before(words: str, symbols: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:\b(?:{words})\b\.?|{symbols})[\s:,*_(\"'-]{{0,5}}(?:(?:{_SMALL})\b[\s,*_-]{{0,3}}){{0,4}}$",
        re.I,
    )


_BEFORE_DATE = _just_before("|".join((_BOUND, _EXCEPT, _AWAY)), r"[<>≤≥≠±]=?")
_RELATED = _just_before(f"{_TIMES}|{_ABOUT}", r"^\W{0,4}from\b|some|[~≈]")
_BEFORE_AMOUNT = _just_before(
    "|".join((_BOUND, _EXCEPT, _AWAY, _PART)), r"(?<![-=])>=?|[<≤≥≠±√]=?|\\sqrt\W|\\[dt]?frac\W"
)
_DENIED = re.compile(
    r"(?<![^\W_])(?:not(?! until\b)|never|neither|nor|cannot|nobody|none"
    r"|no(?! (?:doubt|question|matter|other)\b)|(?:false|wrong|incorrect|mistaken)(?:ly)?|untrue"
    r"|(?:impossible|unlikely|a lie|a myth|den(?:y|ied|ies)|disput\w{1,4}|refut\w{1,4}|rejects?"
    r"|rejected) that)(?![^\W_])|n['’]t\b",
    re.I,
)
_CLAUSE = re.compile(r"[.,;:!?\n]|\bbut\b", re.I)
_BEHIND = re.compile(
    r"[\s,*_]{0,3}(?:\(?(?:at (?:the )?(?:latest|earliest|most|least)|min|max"
    r"|(?:or|and) (?:earlier|later|before|after|onwards?|more|less|fewer|over|under)|onwards?)\b"
    r"|\+(?!\w)|-?ish\b"
    r"|\(?(?:±|\+/-|plus or minus|give or take)"
    rf"|\(?(?:[-+−–]|plus|minus|less) ?(?:\d{{1,4}}|an?|some|several|{'|'.join(NUMBERS)})[ -]?"
    rf"(?:{_UNIT}s?|[dwmy])\b"
    r"|[-+−–] ?\d{1,3}\W{0,3}$)",
    re.I,
)
_ABOUT_BEHIND = re.compile(
    r"[\s,*_]{0,3}(?:\(?(?:(?:or|and) (?:so|thereabouts)|approx(?:imately)?|circa|estimated"
    r"|roughly)\b|\(?(?-i:B\. ?E\.|BE\b)"
    r"|\(?(?-i:B\.? ?C\.? ?(?:E\.?)?(?!\w)|A\.? ?H\.?(?!\w))|bce?\W{0,3}$"
    r"|\(?(?:(?:in|of|on|by) the )?(?:julian|old style|o\.s\.|(?-i:OS)\b|hijri|islamic|hebrew"
    r"|persian)(?: calendar)?\W{0,3}$)",
    re.I,
)
_BEHIND_AMOUNT = re.compile(
    r"\s?\+(?!\w)|\s?[<>≤≥]|[\s,*_]{0,3}\(?(?:(?!and\b|or\b|at\b)[^\W\d_]{1,15}[\s,(]{1,2}){0,2}"
    r"(?:at (?:the )?(?:most|least)|min(?:imum)?|max(?:imum)?|(?:or|and) (?:more|less|fewer|over"
    r"|under|above|below|up|upwards?|beyond|higher|lower|greater|smaller|larger|counting|a half"
    r"|a quarter)|upwards?|plus|minus|less|squared|cubed)\b",
    re.I,
)


def qualifier(before: str, behind: str, what: str = "date") -> str:
    """Why a date, or another value, between these parts of its text is not simply given; "" where
    it is."""
    about = _RELATED.search(before[-60:]) or _ABOUT_BEHIND.match(behind[:60])
    return displacement(before, behind, what) or _named(about, what)


def displacement(before: str, behind: str, what: str = "date") -> str:
    """As `qualifier`, but `since` and the like, an approximation and an era are allowed."""
    match = _BEFORE_DATE.search(before[-60:]) or _BEHIND.match(behind[:60])
    return _named(match, what) or _denied(before, what)


def comparison(before: str, behind: str) -> str:
    """As `displacement`, for the number of an amount."""
    match = _BEFORE_AMOUNT.search(before[-60:]) or _BEHIND_AMOUNT.match(behind[:60])
    return _named(match, "number") or _denied(before, "number")


def _named(match: re.Match[str] | None, what: str) -> str:
    return f"qualifies its {what} ('{match[0].strip(' ,*_()')[:40]}')" if match else ""


def _denied(before: str, what: str) -> str:
    if _DENIED.search(before[-200:]) is None:  # most texts
        return ""
    denied = _DENIED.search(_CLAUSE.split(before[-200:])[-1])
    return f"denies its {what} ('{denied[0]}')" if denied else ""
