"""Parses a question: what it asks, of which rows, and what must be true of their dates.

The opposite of `wording`, from the words alone: the scripted reference model answers by it, and a
question in other words is accepted only where the same dates and relation are read from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import product
from operator import eq, gt, lt

from agent_env.families.tdbench import wording
from agent_env.families.tdbench.sample import Kind, TdbenchSample
from agent_env.families.tdbench.wording import (
    DOMAINS,
    NUMBERS,
    VERBS,
    Domain,
    Offset,
    QuestionForm,
    Verbs,
)
from agent_env.temporal.written import MONTH, MONTHS, month_number

EXAMPLE_NUMBER = 7
"""Stands for any number while a pattern is made."""


@dataclass(frozen=True, slots=True, order=True)
class Bound:
    """What one date of a row has to be, compared as texts of one length."""

    side: str
    """`start` or `end`."""
    test: str
    """`<`, `=` or `>`."""
    day: str

    def holds(self, row: Mapping[str, str]) -> bool:
        """Whether the row has it; an empty end means that the row still lasts."""
        return bool(_TESTS[self.test](row[self.side] or _LATER_THAN_ALL, self.day))


_TESTS = {"<": lt, "=": eq, ">": gt}
_LATER_THAN_ALL = "~"
BOUNDS: dict[str, tuple[tuple[str, str, int], ...]] = {
    "before": (("end", "<", 0),),
    "meets": (("end", "=", 0),),
    "overlaps": (("start", "<", 0), ("end", ">", 0), ("end", "<", 1)),
    "finished-by": (("start", "<", 0), ("end", "=", 1)),
    "contains": (("start", "<", 0), ("end", ">", 1)),
    "starts": (("start", "=", 0), ("end", "<", 1)),
    "equals": (("start", "=", 0), ("end", "=", 1)),
    "started-by": (("start", "=", 0), ("end", ">", 1)),
    "during": (("start", ">", 0), ("end", "<", 1)),
    "finishes": (("start", ">", 0), ("end", "=", 1)),
    "overlapped-by": (("start", ">", 0), ("start", "<", 1), ("end", ">", 1)),
    "met-by": (("start", "=", 1),),
    "after": (("start", ">", 1),),
}
"""What a relation says of a row: its side, the test, and the start (0) or the end (1) of b."""


def bounds_of(sample: TdbenchSample) -> tuple[Bound, ...]:
    """What the sample's relation says of its rows; () where it has none of Allen's."""
    b = (sample.b_start or "", sample.b_end or "")
    tests = BOUNDS.get(sample.relation, ()) if sample.b_start is not None else ()
    return tuple(Bound(side, test, b[place]) for side, test, place in tests)


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    table: str | None
    """None where its words fit any table."""
    kind: Kind
    keys: dict[str, str]
    """Key columns and their values."""
    answers: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()
    number: int = 0
    """For `nth` and `count`."""
    now: str = ""
    """Of `current`, where the question says it."""
    pair: tuple[tuple[dict[str, str], str], ...] = ()
    """Of `duration`, the keys and the answer of both rows."""


def parse_question(question: str) -> tuple[ParsedQuestion, ...]:
    """All interpretations, without repeats, those with the shortest values first; () where the
    words are not those of `wording`.

    Words alone do not always say where a value ends or which table is meant: the rows have to.
    """
    parses = [*_domain_questions(question), _hops_question(question)]
    unique: list[ParsedQuestion] = []
    for parse in parses:
        if parse is not None and parse not in unique:
            unique.append(parse)
    return tuple(sorted(unique, key=lambda parse: sum(map(len, parse.keys.values()))))


def _domain_questions(question: str) -> Iterator[ParsedQuestion]:
    for pattern, table, kind, form in _patterns():
        if (match := pattern.fullmatch(question)) is None:
            continue
        groups = match.groupdict("")
        sides = [
            {name: groups[f"{side}{place}"] for place, name in enumerate(form.keys)}
            for side in SIDES
            if f"{side}0" in groups
        ]
        answers = form.answers
        if table is None:  # None, too, where a value holds ` and `
            pairs = [[p.split(" ", 1) for p in side["pairs"].split(" and ")] for side in sides]
            if any(len(pair) != 2 for side in pairs for pair in side):
                continue
            sides = [dict(side) for side in pairs]
            answers = tuple(filter(None, groups.get("answers", "").split(" and ")))
        bounds = read_bounds(groups["cond"]) if kind == "relation" else ()
        if bounds or kind != "relation":
            number, now = int(groups.get("number", 0)), iso(groups.get("now", ""))
            own = [groups[f"{side}who"] for side in SIDES] if kind == "duration" else []
            pair = tuple(zip(sides, own, strict=False))
            yield ParsedQuestion(table, kind, sides[0], answers, bounds, number, now, pair)


SIDES = ("v", "w")
"""Of the groups for the values of a row, and of another."""
USERS = Domain("", (), (wording.user_form(("pairs",), (), "{pairs}", "<answers>"),))


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str | None, Kind, QuestionForm], ...]:
    """Every sentence of the domains, with groups for what varies."""
    return tuple(
        (_pattern(text, form.verbs, value), domain.name or None, kind, form)
        for domain in (*DOMAINS.values(), USERS)
        for form in domain.forms
        for kind, text in _sentences(form)
        for value in (".+", ".+?")
    )


def _sentences(form: QuestionForm) -> Iterator[tuple[Kind, str]]:
    values, others = (
        {name: f"<{side}{place}>" for place, name in enumerate(form.keys)} for side in SIDES
    )
    rows = [(values, "<vwho>"), (others, "<wwho>")]
    listed: tuple[Kind, ...] = ("nth", "count", "longest")
    for style, kind in product(range(wording.STYLES), listed):
        number = EXAMPLE_NUMBER
        yield kind, wording.listed_sentence(kind, form, values, number, style)
    for style in range(wording.STYLES):
        yield "duration", wording.duration_sentence(form, rows, style)
    for head in form.now_heads:
        dated = wording.fill(head, values, now="<now>")
        yield from (("current", dated), ("current", wording.without_day(dated, "<now>")))
    for head in form.heads:
        yield "relation", wording.fill(head, values, cond="<cond>")


def _pattern(text: str, verbs: Verbs, value: str) -> re.Pattern[str]:
    verb = "|".join(map(re.escape, (*verbs.begin, *verbs.end)))
    pattern = re.sub(r"<(\w+)>", rf"(?P<\1>{value})", re.escape(text))
    pattern = pattern.replace(f"(?P<cond>{value})", f"(?P<cond>(?:{verb}) .+)")
    return re.compile(pattern.replace(f"{EXAMPLE_NUMBER}th", r"(?P<number>\d+)(?:st|nd|rd|th)"))


_HOPS = tuple(
    (re.escape(text).replace(r"\{role\}", "(?P<role>.+?)").replace(r"\{game\}", "(?P<game>.+?)"),
     column)
    for column, texts in (("round", wording.THREE_HOPS), ("games", wording.TWO_HOPS))
    for text in texts
)  # fmt: skip


def _hops_question(question: str) -> ParsedQuestion | None:
    for pattern, column in _HOPS:
        if match := re.fullmatch(pattern, question):
            keys = {column: match["game"], "role": match["role"]}
            return ParsedQuestion("offices", "hops", keys, ("name",))
    return None


# Conditions -------------------------------------------------------------------------------------

BEGIN = (
    "assumed office", "assumed the office", "assumed the post", "assumed the role", "joined",
    "came to office", "was sworn in", "was inaugurated", "was appointed", "became", "arrived",
    "was admitted", "entered into force", "became effective", "began", "started",
)  # fmt: skip
END = (
    "stepped down", "left the post", "left the role", "left", "departed", "was discharged",
    "expired", "was repealed", "stopped applying", "concluded", "ended", "finished",
)  # fmt: skip
STAY = ("served", "held office", "ran on", "carried on", "persisted")
STILL = ("still in office", "still serving", "still in force", "still going on", "still running")
"""Verbs that no template has, for how a row began, ended, continued `until after` a day, and
continued `on` a day; the last two state the same of its end."""
LESS = "before|earlier than|ahead of"
MORE = "after|later than|subsequent to"
LASTING = "until after|beyond|past"

DATE = (
    rf"\d{{1,2}} (?:{MONTH}) \d{{1,4}}|(?:{MONTH}) \d{{1,2}}, \d{{1,4}}|"
    rf"(?:{MONTH}) (?:of )?\d{{1,4}}|\d{{4}}-\d{{2}}-\d{{2}}|\d{{4}}-\d{{2}}|\d{{4}}"
)
EXACT = r"(?:exactly |precisely |no more and no less than )?"
NUMBER = "|".join([*NUMBERS, r"\d+"])


@cache
def _tokens() -> re.Pattern[str]:
    verbs = VERBS.values()
    begin = _either([*BEGIN, *(w for v in verbs for w in v.begin)])
    end = _either([*END, *(w for v in verbs for w in v.end)])
    stay = _either([*STAY, *(w for v in verbs for w in v.stay)])
    return re.compile(
        rf"\b(?:(?P<begin>{begin})|(?P<stay>{stay})|(?P<still>{_either(STILL)})|(?P<end>{end})"
        rf"|{EXACT}(?P<count>{NUMBER}) (?P<unit>day|month|year)s? "
        rf"(?P<way>before|after) (?P<far>{DATE})"
        rf"|(?P<lasting>{LASTING}) (?P<lasting_day>{DATE})"
        rf"|(?:{LESS}) (?P<less_day>{DATE})|(?:{MORE}) (?P<more_day>{DATE})"
        rf"|(?:on|in) (?P<same_day>{DATE}))\b"
    )


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, set(words)), key=len, reverse=True))


def read_bounds(text: str) -> tuple[Bound, ...]:
    """The bounds that a condition states, in order; () where it states none. A date before which
    something went on is none, nor is one without a verb before it."""
    bounds: list[Bound] = []
    verb = ""
    for match in _tokens().finditer(text.replace("prior to", "before")):
        if kind := next((v for v in ("begin", "stay", "still", "end") if match[v]), None):
            verb = kind
        elif bound := _bound(match, verb):
            bounds.append(bound)
    return tuple(sorted(bounds))


def _bound(match: re.Match[str], verb: str) -> Bound | None:
    if verb == "still":
        return Bound("end", ">", iso(match["same_day"])) if match["same_day"] else None
    if verb == "stay":
        return Bound("end", ">", iso(match["lasting_day"])) if match["lasting"] else None
    if not verb or match["lasting"]:
        return None
    side = "start" if verb == "begin" else "end"
    if match["far"]:
        try:
            return Bound(side, "=", _shifted_day(match))
        except (ValueError, OverflowError):  # no such day
            return None
    return next(
        Bound(side, test, iso(match[name]))
        for test, name in (("<", "less_day"), (">", "more_day"), ("=", "same_day"))
        if match[name]
    )


def _shifted_day(match: re.Match[str]) -> str:
    far = iso(match["far"])
    count = NUMBERS.index(match["count"]) + 1 if match["count"] in NUMBERS else int(match["count"])
    offset = Offset(count, match["unit"])  # type: ignore[arg-type]
    whole = date.fromisoformat((far + "-01-01")[:10])
    return offset.from_day(whole, -1 if match["way"] == "before" else 1).isoformat()[: len(far)]


def iso(text: str) -> str:
    """A date in one of our notations as YYYY, YYYY-MM or YYYY-MM-DD; other texts unchanged."""
    words = text.replace(",", " ").replace(" of ", " ").split()
    month = next((month_number(word) for word in words if word in MONTHS), None)
    numbers = [int(word) for word in words if word.isdecimal() and len(word) <= 4]
    if month is None or not numbers:
        return text
    if len(numbers) == 1:
        return f"{numbers[0]:04d}-{month:02d}"
    return f"{numbers[1]:04d}-{month:02d}-{numbers[0]:02d}"
