"""Parses the dates in a text and their role, start or end of a time span.

Dates are parsed in any English or ISO notation, to the precision given. The words around a date
give the role (`since`, `from … to`, `ended on`, `(start)`); a date after a comparison (`before`,
`after`, `as of`) and one without such words have none. Ambiguous numbers such as 01/02/2003 are
skipped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Literal

from agent_env.temporal.days import PartialDate
from agent_env.temporal.written import ANY_MONTH, DateForms, WrittenDate

Role = Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class TimeReference:
    role: Role | None
    """None if the words around it give neither."""
    date: PartialDate | None
    """None for `present`, which is an end only: the span still lasts."""
    at: tuple[int, int]
    """Character span: start and end."""


_MONTH = rf"(?:{ANY_MONTH})\b\.?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<y>[012]\d{3})"
_TO_COME = r"(?=\s*(?:-|to\b|until\b|till\b|through\b|and\b))"
_DATES = DateForms(
    rf"{_YEAR}(?P<sep>[-/.])(?P<m>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}})(?!\d)"
    r"(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?Z?)?",
    rf"{_YEAR}-(?P<m>0\d|1[0-2])(?![\d-])",
    rf"(?P<a>\d{{1,2}})(?P<sep>[-/.])(?P<b>\d{{1,2}})(?P=sep){_YEAR}(?!\d)",
    rf"{_DAY}(?:\s+of)?[\s-]+(?P<m>{_MONTH})(?:,?[\s-]+{_YEAR}(?![\d])|{_TO_COME})",
    rf"(?P<m>{_MONTH})\s+{_DAY}(?!\d)(?:,?\s+{_YEAR}(?!\d)|{_TO_COME})",
    rf"(?P<m>{_MONTH})(?:\s+of)?,?\s+{_YEAR}(?!\d)",
    rf"(?P<m>{_MONTH})(?=\s*(?:-|to|until|till|through|and)\s*(?:\d{{1,2}}(?:st|nd|rd|th)?\s+)?"
    rf"{_MONTH}(?:\s+\d{{1,2}}(?:st|nd|rd|th)?)?,?\s+[12]\d{{3}})",
    rf"{_YEAR}-(?P<end>1[3-9]|[2-9]\d)(?![\d-])",
    rf"{_YEAR}(?!\d|s\b|\.\d|,\d{{3}})",
    r"(?P<open>(?:the\s+)?present(?:\s+day)?|now\b|today\b|ongoing|still\s+(?:in\s+(?:office|force|"
    r"effect)|serving|ongoing|valid|current)|incumbent)",
    # fast skip of characters that no date begins with
    before=r"(?<![\w.])(?<!\d,)(?=[\djfmasondpti])",
)
_DASHES = str.maketrans(
    {**dict.fromkeys("‐‑‒–—−―", "-"), **dict.fromkeys("\u00a0\u2009\u202f", " ")}
)

_START = (
    r"since|from|starting|started|starts?|beginning|begins?|began|begun|commenc\w+|assum\w+|"
    r"inaugurated|took\s+(?:office|over|up|power)|taking\s+office|takes\s+office|elected|appointed|"
    r"became|becoming|becomes|joined|joining|joins|entered|enters|introduced|enacted|effective|"
    r"inscribed|proclaimed|adopted|legali[sz]ed|signed|sworn|ascended|acceded|crowned|"
    r"(?<!was )(?<!were )(?<!been )(?:succeeded|replaced)(?!\s+by)|took\s+over\s+from|"
    r"founded|opened|launched|admitted|hired|initiated|implemented|onwards?\s+from|"
    r"(?:came|went|put|entered)\s+into\s+(?:force|effect)|(?:came|rose)\s+to\s+power"
)
_END = (
    r"until|till|up\s+to|through|thru|ending|ended|ends?|left|leaving|leaves|"
    r"step(?:ped|ping|s)\s+down|resign\w*|retir\w+|repealed|expir\w+|discharged|finish\w*|conclud\w+|"
    r"ceased?|terminat\w+|dissolved|abdicat\w+|clos(?:ed|es|ing)|depart\w+|abolished|removed|ousted|"
    r"lasted\s+to|died|stopped|quit|completed|(?:succeeded|replaced|followed)\s+by"
)
_NEITHER = (
    r"before|after|prior\s+to|later\s+than|earlier\s+than|as\s+of|by|following|preceding|predecessors?|"
    r"successors?|between|past|at\s+the\s+latest|no\s+longer|not|never|during|within|compared\s+to|"
    r"instead\s+of|rather\s+than|unlike|relative\s+to|contains?|includ\w+|knowledge|question"
)
_CUE = re.compile(rf"\b(?:(?P<start>{_START})|(?P<end>{_END})|(?P<neither>{_NEITHER}))\b", re.I)
_BOTH = re.compile(rf"\b(?:{_START})\s+and\s+(?:{_END})\b[^.;\n]{{0,20}}$", re.I)
_AFTER = re.compile(
    r"\s*+[\])}*_`]{0,3}+\s*+(?:[(\[]\s*+(?:the\s++)?(?P<a>start|end|began|begin|beginning|from|until)\w*"
    r"|,?\s*+(?:as|is|was|being)\s+(?:the|its|his|her|their)\s+(?P<b>start|end|beginning)\b"
    r"|(?P<c>onwards?)\b)",
    re.I,
)
_TO = re.compile(
    r"[\s)*_`\"']*(?:-+|to|until|till|through|thru|up\s+to)[\s(*_`\"']*(?:the\s+)?", re.I
)
_AND = re.compile(r"[\s*_`]*and[\s*_`]*", re.I)
_CELLS = re.compile(r"[\s*_`\"']*[|,;/][\s*_`\"']*")
_LINKING = re.compile(
    r"(?:\s|[*_`(:,]|\b(?:on|in|the|of|year|month|day|date|to|at|is|was|it|office|"
    r"their|his|her|its|term|role|about|around|early|late|mid)\b)*$",
    re.I,
)
_CLAUSE = re.compile(r"(?:^|[,:]|\band)\s*(?:in|on)\s+$", re.I)
_SENTENCE = re.compile(r"\n|(?<=[a-z0-9)*\]][.!?;])\s+(?=[A-Z*\-(\[])|;")
WINDOW = 90
"""Characters before a date that are searched for its role."""


def time_references(text: str) -> tuple[TimeReference, ...]:
    """All dates of the text in order, each with its role."""
    if not re.search(r"\d{4}", text):
        return ()
    plain = flat(text)
    found = list(_DATES.find(plain))
    pairs = zip(found, _with_borrowed_years(found), strict=True)
    return tuple(
        _with_roles(plain, [(w, d) for w, d in pairs if d is not None or "open" in w.parts])
    )


def flat(text: str) -> str:
    """The text with plain dashes and blanks; positions are unchanged."""
    return text.translate(_DASHES)


def _with_borrowed_years(found: list[WrittenDate]) -> list[PartialDate | None]:
    """The dates; one without a year takes that of the next date (5 May to 7 June 1962)."""
    dates: list[PartialDate | None] = []
    following: PartialDate | None = None
    for written in reversed(found):
        if written.year is None and following is not None and "open" not in written.parts:
            written = replace(written, year=following.year)
        following = written.date
        dates.append(following)
    return dates[::-1]


DateMatch = tuple[WrittenDate, PartialDate | None]


def _with_roles(plain: str, dates: list[DateMatch]) -> list[TimeReference]:
    breaks = [m.end() for m in _SENTENCE.finditer(plain)]
    result: list[TimeReference] = []
    range_role: Role | None = None  # of a range, for its second date
    for number, (written, date) in enumerate(dates):
        before = dates[number - 1][0].at[1] if number else 0
        after = dates[number + 1][0] if number + 1 < len(dates) else None
        sentence = breaks[bisect_right(breaks, written.at[0]) - 1] if breaks else 0
        sentence = sentence if sentence <= written.at[0] else 0
        roles, ahead = _roles(plain, written, max(before, sentence), after, range_role, date)
        range_role = ahead
        result += [TimeReference(role, date, written.at) for role in roles]
        if "end" in written.parts:  # 2009-17
            end = PartialDate(int(written.parts["y"][:2] + written.parts["end"]))
            result.append(TimeReference("end" if roles[0] else None, end, written.at))
    return [ref for ref in result if ref.date is not None or ref.role == "end"]


def _roles(
    plain: str,
    written: WrittenDate,
    begin: int,
    after: WrittenDate | None,
    range_role: Role | None,
    date: PartialDate | None,
) -> tuple[tuple[Role | None, ...], Role | None]:
    """The date's roles, and the role of the next date if the two form a range."""
    if range_role is not None:
        return (range_role,), None
    start, stop = written.at
    words = plain[max(begin, start - WINDOW) : start]
    cue = _cue(words)
    if "end" in written.parts:
        return (("start",) if cue is None or not _adjacent(words) else (None,)), None
    if date is None:
        return (("end",) if cue != "neither" else (None,)), None
    gap = plain[stop : after.at[0]] if after is not None else ""
    if after is not None and _TO.fullmatch(gap):
        is_compared = cue == "neither" and _adjacent(words)
        return ((None,), None) if is_compared else (("start",), "end")
    between = re.search(r"\bbetween[\s*_`]*(?:the\s+\w+s?\s+)?$", words, re.I)
    if between is not None and _AND.fullmatch(gap):
        verb = _cue(words[: between.start()])
        return ((None,), None) if verb in ("start", "end") else (("start",), "end")
    if (suffix := _AFTER.match(plain, stop)) is not None:
        word = (suffix["a"] or suffix["b"] or "start").lower()
        return (("end",) if word.startswith(("end", "until")) else ("start",)), None
    if _BOTH.search(words):
        return ("start", "end"), None
    opens = _CLAUSE.search(words) is not None
    if opens and (behind := _cue_behind(plain, stop, after)) is not None:
        return (behind,), None
    if cue in ("start", "end"):
        return (cue,), None  # type: ignore[return-value]
    if cue is None and after is not None and _is_row(plain, start, after.at[1], gap):
        return ("start",), "end"
    if cue is None and _LINKING.fullmatch(words) is not None:
        return (_cue_behind(plain, stop, after),), None
    return (None,), None


def _cue_behind(plain: str, end: int, after: WrittenDate | None) -> Role | None:
    """The role by the first cue after a date that opens its sentence (In May 2010 he took
    office)."""
    stop = min(end + WINDOW, after.at[0] if after is not None else len(plain))
    words = plain[end:stop]
    ending = _SENTENCE.search(words)
    cue = _CUE.search(words[: ending.start()] if ending is not None else words)
    return cue.lastgroup if cue and cue.lastgroup in ("start", "end") else None  # type: ignore[return-value]


def _cue(words: str) -> str | None:
    """`start`, `end` or `neither` by the last cue in the text before a date; None without one."""
    cues = list(_CUE.finditer(words))
    if not cues:
        return None
    of_another = any(c[0].lower().startswith(("predecessor", "successor")) for c in cues[-2:])
    return "neither" if of_another else cues[-1].lastgroup


def _adjacent(words: str) -> bool:
    """Whether only function words are between the last cue and the date."""
    last = list(_CUE.finditer(words))[-1]
    return _LINKING.match(words[last.end() :]) is not None


def _is_row(plain: str, start: int, end: int, gap: str) -> bool:
    """Whether two dates from `start` to `end`, and no third, are in neighbouring cells or in
    parentheses."""
    if not _CELLS.fullmatch(gap):
        return False
    opening = plain[max(0, start - WINDOW) : start].rstrip(" *_`\"'")[-1:]
    closing = plain[end : end + WINDOW].lstrip(" *_`\"'")[:1]
    return opening in ("(", "|", "[") and closing in (")", "|", "]", "")


def sentence_starts(text: str) -> tuple[int, ...]:
    """Where the second and further sentences, lines and clauses after a semicolon begin."""
    return tuple(match.end() for match in _SENTENCE.finditer(text))


def says_role(text: str) -> bool:
    """Whether a cue in the text gives a role to a date after it."""
    return any(cue.lastgroup != "neither" for cue in _CUE.finditer(text))
