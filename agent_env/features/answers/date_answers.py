"""Parses the set of dates that a reply gives as its answer, without guessing.

`answer_parts` finds the answer in a reply. In its text only unambiguous forms are parsed, ISO-like
and English ones, lists and ranges; with an impossible day, further numbers or months, hedges
between dates or an unfinished list it is unreadable. Other words beside the dates are allowed after
`MY ANSWER:`, in no other form. Every quantifier of the patterns is bounded; white space is
collapsed first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from agent_env.features.answers.answer_parts import LONGEST, Part, answer_parts
from agent_env.features.answers.hedges import UNFINISHED
from agent_env.features.answers.notations import one_notation, qualifier, without_latex
from agent_env.temporal.written import ANY_MONTH, MONTHS, DateForms, WrittenDate, month_number


@dataclass(frozen=True, slots=True)
class DateAnswer:
    """The dates of an answer, and the rule that found them."""

    dates: tuple[str, ...] | None
    """ISO dates in order; () for "there is none"; None for an answer that cannot be parsed."""
    rule: str
    """The rule that matched, or why none did."""
    is_as_asked: bool = False
    """Whether the last line is just `MY ANSWER:` with ISO dates and commas, or None."""


_ISO = r"\d{4}-\d{2}-\d{2}"
_AS_ASKED = re.compile(rf"MY ANSWER: (?:None|{_ISO}(?:, ?{_ISO})*+)")


def parse_date_answer(text: str | None, is_final: bool = True) -> DateAnswer:
    """Parses a reply; `is_final`: the model ended it itself."""
    if text is None or not text.strip():
        return DateAnswer(None, "no text")
    for part in answer_parts(text, is_final):
        parsed = _of_part(part)
        if parsed.dates is not None:
            is_as_asked = _AS_ASKED.fullmatch(text.strip().rpartition("\n")[2]) is not None
            return DateAnswer(parsed.dates, parsed.rule, is_as_asked)
        if part.is_marked:
            return parsed
    return DateAnswer(None, "no line that begins with MY ANSWER:")


def parse_date_text(text: str) -> DateAnswer:
    return _of_part(Part(text[:LONGEST], "after MY ANSWER:", True, is_cut=len(text) > LONGEST))


def _of_part(part: Part) -> DateAnswer:
    if part.is_cut:
        return DateAnswer(None, f"is longer than {LONGEST:,} characters")
    if part.problem:
        return DateAnswer(None, part.problem)
    dates, problem = _parsed(part.text, only_dates=not part.is_marked)
    if dates is None:
        return DateAnswer(None, problem)
    if not dates and part.is_marked:
        return DateAnswer((), "none")
    return DateAnswer(dates, f"{'dates' if dates else 'none'} {part.where}")


LONGEST_RANGE = 31
"""Maximum days of "from … to …"."""


def _parsed(text: str, only_dates: bool) -> tuple[tuple[str, ...] | None, str]:
    """The dates in the text, () for "there is none"; None for an unreadable text, with the reason.
    With `only_dates`, only words around a list of dates are allowed beside them, such as "the dates
    are"."""
    plain = _plain(text)
    bare = _NOTE.sub(" ", plain)
    notes = [note[0] for note in _NOTE.finditer(plain)] if bare.strip(_PUNCTUATION) else []
    content = bare if notes or bare.strip(_PUNCTUATION) else plain
    if _says_none(content, only_dates) and not any(_has_date(note) for note in notes):
        return (), ""
    spans = _date_spans(content)
    days = _days(spans)
    others = {day for note in notes for day in _days(_date_spans(note))} - days
    if any(_WRONG.search(note) for note in notes):
        problem = "denies its answer in brackets"
    elif qualified := next(filter(None, (qualifier("", note) for note in notes)), ""):
        problem = qualified
    else:
        problem = _problem(content, spans, only_dates)
        problem = problem or ("names other dates in brackets" if others else "")
    return None if problem else tuple(sorted(day.isoformat() for day in days)), problem


# One way of writing -----------------------------------------------------------------------------

_PUNCTUATION = " \t\n.,;:!()[]{}|"
_DASHES = str.maketrans(
    dict.fromkeys("‐‑‒–—−－﹣", "-") | {"\u00a0": " ", "\u202f": " ", "：": ":"}
)
_NOTE = re.compile(r"\([^()\n]{0,300}\)")
_NOTATION = (
    (re.compile(r"\\[a-zA-Z]{1,15}\{"), "{"),
    (re.compile(r"\$"), ""),
    (re.compile(r"</?sup>"), ""),
    (re.compile(r"</?[a-zA-Z]{1,10} ?/?>"), " "),
    (re.compile(r"[*_`\"“”'’‘«»]"), ""),
    (re.compile(r"\bTimestamp\(([^()\n]{0,40})\)"), r"\1"),
    (re.compile(r"(\d{4}-\d{1,2}-\d{1,2}) ?-(?=\d{4}-)"), r"\1 to "),
    (re.compile(r"(?<=[,;] )\(?\d{1,2}[.)] (?=\d{4}-|[A-Z])"), ""),
)  # fmt: skip
_MARKED = re.compile(r"[\\$<*_`\"“”'’‘«»()]|\d ?-\d{4}|[,;] \d{1,2}[.)]")
"""What a text has that one of them changes."""
_BULLET = re.compile(r"^[+•-]{0,3} ?(?:\(?\d{1,3}[.)](?= )|[-•+](?= ))?")
_EMPTY = re.compile(r"∅|\{ ?\}|\[ ?\]|set\(\)")


def _plain(text: str) -> str:
    """The text without emphasis, quotes, LaTeX, HTML, bullets and repeated blanks."""
    plain = one_notation(without_latex(text.translate(_DASHES)))
    if _MARKED.search(plain) is not None:
        for pattern, becomes in _NOTATION:
            plain = pattern.sub(becomes, plain)
    if _EMPTY.fullmatch(plain.strip(" \t\n.")):
        return "none"
    plain = re.sub(r"(?<=\d)[{}](?=-)|(?<=-)[{}](?=\d)", "", plain)
    lines = (" ".join(line.split()) for line in re.sub(r"[{}]", " ", plain).split("\n"))
    return "\n".join(_row(line) if line.startswith("|") else _BULLET.sub("", line, 1)
                     for line in lines)  # fmt: skip


def _row(line: str) -> str:
    """The cells of a table row, without the row number."""
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    if len(cells) > 1 and re.fullmatch(r"\d{1,3}\.?", cells[0]):
        cells = cells[1:]
    return ", ".join(cells)


# No date ----------------------------------------------------------------------------------------

_NONE_WORDS = frozenset(
    "a above all and any are be can condition conditions constraint constraints could "
    "criteria criterion date dates day days do does empty every exist exists fit fits for found "
    "fulfill fulfills given gregorian holds in is it list listed match matches matching meet "
    "meets none of once possible range requirement requirements result s satisfied satisfies "
    "satisfy satisfying set so solution solutions such that the them there therefore these "
    "this those to valid which within work works year years".split()
)
_KIND = (
    r"(?:(?:valid|such|matching|possible|single|suitable|gregorian|common) ){0,3}"
    r"(?:dates?|days?|solutions?)\b"
)
_NONE = re.compile(
    r"^(?:so )?(?:(?:there(?: (?:is|are|was|were|exists?)|s) )?(?:none\b|no {kind}"
    r"|(?:the )?empty (?:set|list)\b)"
    r"|there (?:(?:is|are|was|were)(?: not|nt)|(?:does not|doesnt|do not|dont) exist) (?:any|an?) "
    r"{kind})".replace("{kind}", _KIND)
)
_BETWEEN = re.compile(r"\b(?:between|from) \d{4} (?:and|to|through) \d{4}\b")
_REASON = re.compile(r"[,;.:-]|(?:because|since|as) ")
_UNSURE = re.compile(
    r"\b(?:but|if|unless|except|yet|far|not|cannot|unable|unsure|unknown|determine|know|maybe|or"
    r"|might|may|could|perhaps|other than)\b|nt\b"
)


def _says_none(content: str, only_dates: bool) -> bool:
    """Whether the text states that there is no date; a reason is allowed unless `only_dates`."""
    words = " ".join(content.split()).strip(_PUNCTUATION).lower()
    opening = _NONE.match(words)
    if opening is None:
        return False
    behind = _BETWEEN.sub("", words[opening.end() :]).lstrip()
    if _NONE_WORDS.issuperset(re.findall(r"\w+", behind)) and "?" not in behind:
        return True
    return (
        not only_dates
        and _REASON.match(behind) is not None
        and not _has_date(behind)
        and _UNSURE.search(behind) is None
    )


# Dates ------------------------------------------------------------------------------------------

_MONTH = rf"(?:{ANY_MONTH})\.?"
_DAY = r"\d{1,2}(?!\d)(?:st|nd|rd|th)?"
_TO = r" ?- ?| to | through | thru | until | till "
_SEP = rf"(?:, ?(?:and |& ?)?| and | ?& ?|{_TO})"
_TIME = (
    r"(?:(?:T|,? (?:at )?)\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?"
    r"(?: ?(?:Z|UTC|GMT|[ap]\.?m\b\.?|[+-]\d{2}:?\d{2}))?)?"
)
_DATE = DateForms(
    rf"(?P<y>\d{{4}}) ?(?P<sep>[-/.]) ?(?P<m>\d{{1,2}}|{ANY_MONTH}) ?(?P=sep) ?"
    rf"(?P<d>\d{{1,2}})(?!\d){_TIME}",
    rf"(?P<y>\d{{4}}),? (?P<m>{_MONTH}) (?P<d>\d{{1,2}})(?!\d)(?:st|nd|rd|th)?{_TIME}",
    rf"(?P<a>\d{{1,2}})(?P<sep>[/.-])(?P<b>\d{{1,2}})(?P=sep)(?P<y>\d{{4}}){_TIME}",
    rf"(?P<list>{_MONTH}[ -](?:the )?{_DAY}"
    rf"(?:{_SEP}(?:{_MONTH} (?:the )?)?{_DAY}){{0,30}}(?:, ?| | of |-))(?P<y>\d{{4}}){_TIME}",
    rf"(?P<list>{_DAY}(?:(?:(?: of)? {_MONTH})?{_SEP}{_DAY}){{0,30}}"
    rf"(?: of)?[ -]{_MONTH}(?:,? |-))(?P<y>\d{{4}}){_TIME}",
    before=r"(?<![\w.-])",
    after=r"(?![\w-]|\.\d)",
)
_DAYS_FIRST = 4
"""The form in which a list's days are before their months."""
_ITEM = re.compile(rf"(?P<m>{_MONTH})|(?P<d>{_DAY})|(?P<to>{_TO})", re.I)


@dataclass(frozen=True, slots=True)
class _DateSpan:
    """A date, or dates written as one list or range."""

    at: tuple[int, int]
    days: tuple[date, ...]
    """Empty for an impossible day."""
    problem: str = ""


def _has_date(text: str) -> bool:
    return next(_DATE.find(text), None) is not None


def _date_spans(content: str) -> list[_DateSpan]:
    """All dates; a range is one span with all its days."""
    spans: list[_DateSpan] = []
    for written in _DATE.find(content):
        span = _one(written)
        if spans and re.fullmatch(_TO, content[spans[-1].at[1] : span.at[0]], re.I):
            span = _range(spans.pop(), span, content)
        spans.append(span)
    return spans


def _range(first: _DateSpan, last: _DateSpan, content: str) -> _DateSpan:
    begin = first.at[0] - 5 * content[: first.at[0]].lower().endswith("from ")
    problem = first.problem or last.problem
    if problem:
        return _DateSpan((begin, last.at[1]), (), problem)
    between, problem = _between(first.days[-1], last.days[0])
    return _DateSpan((begin, last.at[1]), (*first.days, *between, *last.days), problem)


def _days(spans: list[_DateSpan]) -> set[date]:
    return {day for span in spans for day in span.days}


def _one(written: WrittenDate) -> _DateSpan:
    if written.is_unclear:
        return _DateSpan(written.at, (), "writes a date that can mean two days")
    try:
        if (items := written.parts.get("list")) is not None and written.year is not None:
            return _DateSpan(written.at, *_listed(items, written.year, written.form != _DAYS_FIRST))
        day = date(written.year or 0, written.month or 0, written.day or 0)
    except ValueError:
        return _DateSpan(written.at, (), "names a day that does not exist")
    return _DateSpan(written.at, (day,))


def _listed(text: str, year: int, is_month_first: bool) -> tuple[tuple[date, ...], str]:
    """Days of one year, such as "July 6, 13 and August 3": a month applies to the days after it,
    or before it if the day comes first."""
    items = list(_ITEM.finditer(text))
    if not is_month_first:
        items.reverse()
    month, days, joins = 0, list[date](), list[bool]()
    is_range = False
    for item in items:
        if item["m"]:
            month = month_number(item["m"]) or 0
        elif item["to"]:
            is_range = bool(days)
        else:
            days.append(date(year, month, int(re.sub(r"\D", "", item["d"]))))
            joins.append(is_range and len(days) > 1)
            is_range = False
    out: set[date] = set(days)
    for before, after, is_joined in zip(days, days[1:], joins[1:], strict=False):
        if is_joined:
            span, problem = _between(min(before, after), max(before, after))
            if problem:
                return (), problem
            out.update(span)
    return tuple(sorted(out)), ""


def _between(first: date, last: date) -> tuple[tuple[date, ...], str]:
    length = (last - first).days + 1
    if length < 1:
        return (), "names a range that ends before it begins"
    if length > LONGEST_RANGE:
        return (), f"names a range of more than {LONGEST_RANGE} days"
    return tuple(first + timedelta(days=n) for n in range(length)), ""


# The rest of the text ---------------------------------------------------------------------------

_HEDGE = re.compile(
    r"\b(?:not|or|maybe|may|might|perhaps|possibly|probably|likely|either|except|excluding|if|unless"
    r"|to|through|thru|until|till|between|before|after|from|unknown|unsure|unclear|cannot"
    r"|could|i doubt|false|refuse|nothing but|(?:any|every)thing but|ruled out|excluded"
    r"|(?:is|are|do|does|ca|could|wo|was|were)nt|fails?|failed|invalid|incorrect|wrong|rejected"
    r"|approximately|around|circa|plus|minus|eg|such as|for example|for instance|at least)\b"
    r"|e\.g\.|[✗✘❌×?]",
    re.I,
)
_COUNT = re.compile(
    r"\W{0,3}(?:(?:there are|the|these) )?(\d{1,2}) (?:(?:valid|matching|possible) )?dates?"
    r"(?= are\b| ?:)",
    re.I,
)
_WRONG = re.compile(r"\b(?:wrong|false|incorrect|invalid)\b", re.I)
_MONTH_NAMES = frozenset(map(str.lower, MONTHS))
_UNFINISHED = re.compile(rf"{UNFINISHED.pattern}|[,&]\s{{0,4}}$|\band\s{{0,4}}$", re.I)
_OWN_WORDS = frozenset(
    "a all and answer answers are both calendar complete conditions constraints correct criteria "
    "date dates day days final fit fits following given gregorian hope i inclusive is it match "
    "matches meet meets my of on only possible required satisfies satisfy set so solution "
    "solutions that the therefore these this two three four five six valid which "
    "mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday sat saturday sun "
    "sunday utc".split()
)


def _problem(content: str, spans: list[_DateSpan], only_dates: bool) -> str:
    """Why the text is unreadable, or ""."""
    if not spans:
        return "names no date"
    if problem := next((span.problem for span in spans if span.problem), ""):
        return problem
    rest = _text_between(content, spans)
    if (count := _COUNT.match(rest)) is not None and int(count[1]) == len(_days(spans)):
        rest = rest[count.end() :]
    if _UNFINISHED.search(rest):
        return "breaks off in a list"
    if re.search(r"\d", rest):
        return "leaves numbers that are no full date"
    if (hedge := _HEDGE.search(rest)) is not None:
        return f"hedges between dates ('{hedge[0].lower()}')"
    for span in spans if rest.replace(" ~ ", "").strip(" ,;.\n") else ():
        if qualified := qualifier(content[: span.at[0]], content[span.at[1] :]):
            return qualified
    words = re.findall(r"\w+", rest.lower())
    if "none" in words:
        return "names dates and none"
    if not _MONTH_NAMES.isdisjoint(words):
        return "leaves a month that is not a full date"
    other = next((word for word in words if only_dates and word not in _OWN_WORDS), None)
    return f"says more than dates ('{other[:40]}')" if other else ""


def _text_between(content: str, spans: list[_DateSpan]) -> str:
    """The text without its dates."""
    ends = [0, *(span.at[1] for span in spans)]
    begins = [*(span.at[0] for span in spans), len(content)]
    return " ~ ".join(content[a:b] for a, b in zip(ends, begins, strict=True))
