"""How the scripted reference policy reads constraints and pages, and looks a fact up."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import chain, dropwhile, takewhile
from typing import Any, Literal

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.texts import (
    DateSpans,
    EventMention,
    Meaning,
    YearRule,
    YearSet,
    compile_text,
)
from agent_env.features.reference.turns import Call, Habit, History
from agent_env.temporal.days import PUZZLE_DAYS, DayRange, PartialDate
from agent_env.temporal.written import MONTH, DateForms

Clause = list[Any]
"""A kind and its values, as `reference_sums` computes with them."""

CALENDARS = (ft.CalendarMonth, ft.JapaneseEra, ft.ChurchDay, ft.SolarTerm)
"""Facts of calendars that the policy spells out before it computes."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A fact to look up."""

    what: Literal["event", "life", "presidency"]
    phrase: str
    shares: Literal["year", "month", "day", "span"]
    """What the date has in common with it; `span`: it lies between the two ends."""
    edge: Literal["first", "last", "any"] = "any"


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    first: str
    last: str
    announced: bool
    """Whether a line says that constraints follow."""
    clauses: tuple[Clause, ...]
    lookups: tuple[Lookup, ...]
    unread: tuple[str, ...]
    """Constraints of unknown form."""
    counted: tuple[ft.Relative, ...]
    """Spans that are counted from the present day."""


def read_prompt(text: str) -> ParsedPrompt:
    """The constraints of a prompt: the list items below the line that announces them. Without such
    a line, a list of mostly unknown items is not one of constraints."""
    span = re.search(r"(\d{4})-01-01 to (\d{4})-12-31 count", text)
    days = DayRange.of_years(int(span[1]), int(span[2])) if span else PUZZLE_DAYS
    clauses: list[Clause] = []
    lookups: list[Lookup] = []
    unread: list[str] = []
    counted: list[ft.Relative] = []
    announced, items = _items(text)
    for item in items:
        constraint = read_constraint(item, days)
        if isinstance(constraint, Lookup):
            lookups.append(constraint)
        elif constraint is not None:
            clauses.append(constraint)
        elif item.startswith("The date is ") and (relative := _counted(item)) is not None:
            counted.append(relative)
        else:
            unread.append(item)
    if not announced and 2 * len(unread) > len(items):
        clauses, lookups = [], []
    return ParsedPrompt(
        str(days.first), str(days.last), announced, tuple(clauses), tuple(lookups), tuple(unread),
        tuple(counted),
    )  # fmt: skip


def _counted(text: str) -> ft.Relative | None:
    """The span that is counted from the present day; None for another sentence."""
    from agent_env.families.time_puzzles.present import relative_sentences  # it loads the tables

    return relative_sentences().get(text)


def on_day(prompt: ParsedPrompt, day: str) -> ParsedPrompt:
    """The prompt with the spans counted from this day; a president of the shipped table."""
    from agent_env.families.time_puzzles.present import solver
    from agent_env.features.facts.tables.tables import shipped_tables  # most prompts need none

    sets, _ = solver(shipped_tables(), int(prompt.first[:4]), int(prompt.last[:4]))
    facts = [each.model_copy(update={"today": day}) for each in prompt.counted]
    spans = [[[*map(str, run)] for run in sets.days.runs(sets.of(fact))] for fact in facts]
    return replace(prompt, clauses=(*prompt.clauses, *(["spans", each] for each in spans)))


_ITEM = re.compile(r"\s*+(?:[-*•]|\d++[.)])\s++(\S(?:.*\S)?)")


def _items(text: str) -> tuple[bool, list[str]]:
    """Whether a line announces the items, and these."""
    lines = text.splitlines()
    plain = [line.rstrip().lower() for line in lines]
    starts = [i for i, line in enumerate(plain) if line.endswith(":") and "constraints" in line]
    below = (_first_items(lines[start + 1 :]) for start in reversed(starts))
    return bool(starts), next(filter(None, below), []) if starts else _first_items(lines)


def _first_items(lines: Sequence[str]) -> list[str]:
    """Those of the first list."""
    begun = dropwhile(lambda match: match is None, map(_ITEM.match, lines))
    return [match[1] for match in takewhile(bool, begun) if match]


def read_constraint(text: str, days: DayRange = PUZZLE_DAYS) -> Clause | Lookup | None:
    """One constraint, parsed; None for an unknown form. `days`: where calendars are spelled out."""
    meaning = compile_text(text)
    if meaning is None:
        return None
    if (lookup := _lookup(meaning)) is not None:
        return lookup
    if (clause := _CLAUSES.get(type(meaning))) is not None:
        return clause(meaning)
    assert isinstance(meaning, CALENDARS)
    return ["spans", [list(span) for span in _calendar_spans(meaning, days)]]


def _lookup(meaning: Meaning) -> Lookup | None:
    match meaning:
        case ft.PersonAlive(person=person):
            return Lookup("life", person, "span")
        case ft.UsPresident(person=person):
            return Lookup("presidency", person, "span")
        case EventMention(phrase=phrase, edge=edge, level=level):
            inner = compile_text(phrase)
            if isinstance(inner, ft.PersonAlive):
                return Lookup("life", inner.person, level, edge)
            if isinstance(inner, ft.UsPresident):
                return Lookup("presidency", inner.person, level, edge)
            return Lookup("event", phrase, level, edge)
    return None


_CLAUSES: dict[type, Callable[[Any], Clause]] = {
    ft.ExplicitYear: lambda fact: ["years", [fact.year]],
    ft.Decade: lambda fact: ["years", list(range(fact.decade, fact.decade + 10))],
    ft.YearRange: lambda fact: ["years", list(range(fact.start, fact.end + 1))],
    YearSet: lambda fact: ["years", list(fact.years)],
    YearRule: lambda fact: [
        "year_rule", fact.modulus, fact.remainder, fact.first, fact.last, list(fact.exceptions)
    ],
    ft.LeapYear: lambda fact: ["leap"],
    ft.RecurringEvent: lambda fact: ["years", list(ft.RECURRING[fact.name])],
    ft.ChineseZodiac: lambda fact: ["zodiac", ft.ANIMALS.index(fact.animal)],
    ft.Month: lambda fact: ["months", [fact.month]],
    ft.Season: lambda fact: ["months", list(ft.SEASONS[fact.season])],
    ft.LunarMonth: lambda fact: ["lunar_months", [fact.month]],
    ft.WesternZodiac: lambda fact: ["month_days", *map(list, ft.SIGNS[fact.sign])],
    ft.OnWeekday: lambda fact: ["weekdays", [ft.WEEKDAYS.index(fact.weekday)]],
    ft.MultiWeekday: lambda fact: ["weekdays", list(map(ft.WEEKDAYS.index, fact.value))],
    ft.WeekdayInMonth: lambda fact: ["nth_in_month", *_nth(fact)],
    ft.WeekdayInYear: lambda fact: ["nth_in_year", *_nth(fact)],
    ft.DayOfMonthSpecific: lambda fact: ["days", [fact.day]],
    ft.FirstDayOfMonth: lambda fact: ["days", [1]],
    ft.LastDayOfMonth: lambda fact: ["last_day"],
    ft.DayOfMonthRange: lambda fact: ["days", list(fact.numbers)],
    ft.DayOfYear: lambda fact: ["day_of_year", fact.day],
    DateSpans: lambda fact: [
        "spans", [inside(*s) if fact.ends == "excluded" else [*map(str, s)] for s in fact.spans]
    ],
}  # fmt: skip
"""The clause of each meaning that neither a lookup nor a calendar has to settle."""


def _nth(fact: ft.WeekdayInMonth | ft.WeekdayInYear) -> list[object]:
    return [ft.WEEKDAYS.index(fact.weekday), fact.n, fact.direction == "last"]


@lru_cache(maxsize=256)
def _calendar_spans(fact: ft.Fact, days: DayRange) -> tuple[tuple[str, str], ...]:
    """The fact's days as spans, both ends included; no table of facts has a part in it."""
    from agent_env.families.time_puzzles.day_sets import DaySets
    from agent_env.features.facts.tables.tables import FactTables

    sets = DaySets(days, FactTables((), (), ()))
    return tuple((str(first), str(last)) for first, last in days.runs(sets.of(fact)))


def inside(low: date, high: date) -> list[str]:
    """The days strictly between two, as a span with both ends included."""
    return [str(low + timedelta(days=1)), str(high - timedelta(days=1))]


_DATES = DateForms(
    rf"(?P<d>\d{{1,2}}) (?P<m>{MONTH}) (?P<y>\d{{4}})",
    rf"(?P<m>{MONTH}) (?P<d>\d{{1,2}}), (?P<y>\d{{4}})",
    r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})",
    rf"(?P<m>{MONTH}) (?P<y>\d{{4}})",
)
_SUSPECT = re.compile(
    r"\bis an old version\b|^Old version of|\bnamed after\b|\bcommemoration\b|\bmay refer to\b"
    r"|\A(?:Category: |List of |Timeline of |On this day|\d{4}\n)|\A.*(?: by decade: |\(disambig)",
    re.M,
)
"""Of what is no article on the event itself, near the top of its page."""
_TOP = 900
"""Characters of a page in which it says what it is."""
_FACT, _EXPLICIT = re.compile(r"^- (.+)$", re.M), re.compile(r"^Where it says .*”: (.+)$")
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)])\. ")
_LINK = re.compile(r"^(?:- .*|.* \| .*)$", re.M)
"""Items and rows, which name other things too."""
_FRAME = re.compile(r"^My notes: | (?:begins?|ends?)$|^Report of (?:the )?")
"""Additions of notes and reports to the name of their subject."""
_NAME = re.compile(r"(?<!\w)[^\W_a-z][\w'’-]*(?:\.? [^\W_a-z][\w'’-]*)*")
"""Consecutive words that begin with a capital or a digit."""
_HEADING = re.compile(r"\A(.*)\nhttps?://\S+$", re.M)
_TIME = r"((?:\d{1,2} )?(?:[A-Z][a-z]+ )?(?:\d{1,2}, )?\d{4}(?:-\d\d(?:-\d\d)?)?)"
_STATED = re.compile(
    rf"\b(?:began|begun|opened|ended|end|over) (?:on|in) {_TIME}|\bfrom {_TIME} to {_TIME}"
    r"|\btook place in (\d{4})(?=\.|$)"
)
"""Dates of any precision behind the words that say what they are of."""
NAME_WEIGHT = 2
"""Weight of a name or number, relative to another word."""
_WORD = re.compile(r"[^\W_]+")
_SMALL = frozenset(
    """the a an of in on at to and or by for from with as was were is that which who whose whom had
    has have did do be been into over out after before there their his her its it they he she
    when where during between among""".split()
)


def words(text: str) -> list[str]:
    """Distinct words without stop words, in lower case."""
    candidates = (word for word in _WORD.findall(text.lower()) if word not in _SMALL)
    return list(dict.fromkeys(candidates))


def fit(text: str, lookup: Lookup) -> float:
    """Share of the lookup's words in the text, 0 to 1, the larger of the plain and the weighted
    share (names and numbers count more); links are ignored; 0 for copies, namesakes and lists."""
    if _SUSPECT.search(text[:_TOP]):
        return 0.0
    text_words = set(_WORD.findall(_LINK.sub("", text).lower()))
    names = set(names_in(lookup.phrase))
    weights = {word: NAME_WEIGHT if word in names else 1 for word in words(lookup.phrase)}
    spoken = sum(weight for word, weight in weights.items() if word in text_words)
    evenly = sum(word in text_words for word in weights) / max(1, len(weights))
    return max(evenly, spoken / max(1, sum(weights.values())))


def names_in(phrase: str) -> list[str]:
    """The words of names and numbers in a phrase, in lower case."""
    return words(" ".join(word for word in _WORD.findall(phrase) if not word[0].islower()))


def title_of(text: str) -> str:
    """The title of an opened page, above its address; empty for a snippet."""
    match = _HEADING.match(text)
    return _FRAME.sub("", match[1]) if match else ""


_EDGES = {"first": "(?:first day|began|start|date)", "last": "(?:last day|ended|end|date)"}
"""Names of the rows that state a day, by which it is."""
_DATELINE = re.compile(r"^(?:http|(?:Printed on |From the paper of )?[\w ]{3,20}(?:, \d{4})?\.$)")
"""The line above a report that says of which day the paper is, and an address."""


def clause_from(text: str, lookup: Lookup) -> Clause | None:
    """The text's statement about the lookup as a clause; None without one."""
    if lookup.what == "presidency":
        return _bounds(text, "First day in office", "Last day in office", lookup)
    if lookup.what == "life":
        return _bounds(text, "Born", "Died", lookup)
    if re.search(r"^Born: ", text, re.M):
        return None  # a person is not an event
    if lookup.edge == "any":
        # the years that a page lists, or those from its first to its last day
        listed = re.search(r"^Years: (.+)$", text, re.M)
        if listed:
            return ["years", sorted({int(year) for year in re.findall(r"\b\d{4}\b", listed[1])})]
        days = [*_rows(text, _EDGES["first"]), *_rows(text, _EDGES["last"])]
        days = days or _stated(_lead(text))
        if len(days) == 1 and re.search(r"\b(began|ended)\b", _lead(text)):
            return None  # a report of one edge
        if days:
            return ["years", list(range(days[0].year, days[-1].year + 1))]
        bare = [int(year) for year in re.findall(r"\b\d{4}\b", _lead(text))]
        return ["years", sorted(set(bare))] if bare else None
    days = _rows(text, _EDGES[lookup.edge]) or _edge_days(text, lookup)
    return shared(days[0], lookup) if days else None


def shared(day: PartialDate, lookup: Lookup) -> Clause | None:
    if lookup.shares == "year":
        return ["years", [day.year]]
    if lookup.shares == "month":
        return None if day.month is None else ["months", [day.month]]
    return None if day.day is None else ["days", [day.day]]


def _bounds(text: str, first: str, last: str, lookup: Lookup) -> Clause | None:
    """Of a person: the days between the two lines' dates, or what one shares with the date."""
    starts, ends = _rows(text, first), _rows(text, last)
    if not starts and lookup.what == "life" and re.search(r"\b(?:is|was) alive\b", text):
        days = _stated(_lead(text))  # a page on the event that someone was alive
        starts = _rows(text, _EDGES["first"]) or days[:1]
        ends = _rows(text, _EDGES["last"]) or days[1:2]
    if not starts:  # no table of facts: the dates of the first sentence, in pairs
        lead = _lead(text)
        days = days_in(lead) if re.search(r"\bborn\b|\bPresident\b", lead) else []
        starts, ends = days[::2], days[1::2]
    if lookup.shares == "span":
        pairs = [pair for pair in zip(starts, ends, strict=False) if all(each.day for each in pair)]
        spans = [inside(a.first, b.first) for a, b in pairs if a.first < b.first]
        return ["spans", spans] if spans else None
    if len(starts) != 1 or len(ends) != 1:
        return None
    if lookup.edge == "any":
        return ["years", list(range(starts[0].year, ends[0].year + 1))]
    return shared(starts[0] if lookup.edge == "first" else ends[0], lookup)


def _rows(text: str, name: str) -> list[PartialDate]:
    """Dates of the lines `name: …` or `name (term 1): …`."""
    lines = re.findall(rf"^{name}(?: \([^)\n]*\))?: (.+)$", text, re.M | re.I)
    return [day for line in lines for day in days_in(line)[:1]]


def _edge_days(text: str, lookup: Lookup) -> list[PartialDate]:
    """The lead's dates of the lookup's edge; a lead with `began` has no end, and vice versa."""
    lead = _lead(text)
    days = _stated(lead)
    if len(days) == 1 and re.search(r"\b(began|ended)\b", lead):
        edge = "first" if re.search(r"\bbegan\b", lead) else "last"
        return days if edge == lookup.edge else []
    return days[:1] if lookup.edge == "first" else days[-1:]


def _stated(lead: str) -> list[PartialDate]:
    """The dates of a sentence, known to the day, the month or the year."""
    times = [time for match in _STATED.finditer(lead) for time in match.groups() if time]
    days, full = [day for time in times for day in days_in(time)], days_in(lead)
    return days if len(days) > len(full) else full


def _lead(text: str) -> str:
    """The first sentence with a date, behind title, addresses and print dates; else the top."""
    heading = _HEADING.match(text)
    for line in text[heading.end() if heading else 0 :].splitlines():
        if _DATELINE.match(line):
            continue
        date_ends = (written.at[1] for written in _DATES.find(line))
        year_ends = (match.end() for match in re.finditer(r"\b\d{4}\b", line))
        if (behind := next(chain(date_ends, year_ends), None)) is not None:
            end = _SENTENCE_END.search(line, behind)
            return line[: end.start()] if end else line
    return text[:200]


def days_in(text: str) -> list[PartialDate]:
    """All dates in a text, in order; a bare year only if it is the whole text."""
    days = [PartialDate(w.year, w.month, w.day) for w in _DATES.find(text) if w.year is not None]
    if not days and (year := re.fullmatch(r"\s*(\d{4})\s*", text)) is not None:
        days.append(PartialDate(int(year[1])))
    return days


SURE_FIT = 0.85
"""Fit at which a page is accepted immediately."""
GOOD_FIT = 0.6
"""Fit at which a search's best page is accepted without another search."""
FAIR_FIT = 0.3
"""Least fit of an accepted page."""
ENOUGH_SEARCHES = 2
"""Searches after which a page with a good fit is accepted without all names."""
MAX_OPENED = 5


@dataclass(frozen=True, slots=True)
class LookupState:
    """A lookup's state: its clause, or the next call for it, or neither."""

    clause: Clause | None = None
    call: Call | None = None
    url: str | None = None
    """The clause's page."""


def _walk(
    lookup: Lookup, history: History, tools: set[str], most: int
) -> Iterator[tuple[int, str, str] | Call]:
    """The number of each query, with address and text of its first `most` hits in turn, and an
    empty address after them; last, where there is one, the call that comes next."""
    for number, query in enumerate(queries(lookup), start=1):
        if query not in history.searches:
            if "web_search" in tools:
                yield "web_search", {"query": query}
            return
        for url, snippet in history.searches[query][:most]:
            if url not in history.pages and "open_page" in tools:
                yield "open_page", {"url": url}
                return
            yield number, url, history.pages.get(url) or snippet
        yield number, "", ""


def find_thoroughly(lookup: Lookup, history: History, tools: set[str]) -> LookupState:
    """Goes through queries and hits until a page fits."""
    best = {True: (0.0, LookupState()), False: (0.0, LookupState())}
    for step in _walk(lookup, history, tools, MAX_OPENED):
        if len(step) == 2:
            return LookupState(call=step)
        number, url, text = step
        if not url:
            if best[True][0] >= GOOD_FIT:
                return best[True][1]
            if number >= ENOUGH_SEARCHES and best[False][0] > GOOD_FIT:
                return best[False][1]
            continue
        fitness, state = fit(text, lookup), LookupState(clause_from(text, lookup), url=url)
        if state.clause is None or fitness <= FAIR_FIT:
            continue
        # whether the text has all names and numbers of the lookup; words of a name together
        text_words = f" {' '.join(_WORD.findall(_LINK.sub('', text).lower()))} "
        runs = _NAME.findall(lookup.phrase)
        is_sure = all(
            f" {' '.join(_WORD.findall(run.lower()))} " in text_words for run in runs
        ) and not set(words(title_of(text))) > set(words(lookup.phrase))
        phrase = lookup.phrase
        title = f"presidency of {phrase}" if lookup.what == "presidency" else phrase
        if set(words(title_of(text))) == set(words(title)) or (is_sure and fitness >= SURE_FIT):
            return state
        if fitness > best[is_sure][0]:
            best[is_sure] = fitness, state
    return max(best[True], best[False], key=lambda pair: pair[0])[1]


def find_first(lookup: Lookup, history: History, tools: set[str]) -> LookupState:
    """What the first page of the first search with results says."""
    for step in _walk(lookup, history, tools, 1):
        if len(step) == 2:
            return LookupState(call=step)
        if step[1]:
            return _read(step[1], step[2], lookup)
    return LookupState()


def find_once(lookup: Lookup, history: History, tools: set[str]) -> LookupState:
    """One search; trusts the first hit's snippet."""
    step = next(_walk(lookup, history, tools - {"open_page"}, 1), None)
    if step is not None and len(step) == 2:
        return LookupState(call=step)
    return _read(step[1], step[2], lookup) if step and step[1] else LookupState()


def _read(url: str, text: str, lookup: Lookup) -> LookupState:
    clause = clause_from(text, lookup)
    return LookupState(clause, url=url if clause is not None else None)


def find_twice(lookup: Lookup, history: History, tools: set[str]) -> LookupState:
    """What two pages say alike; where no two do, what the best fitting one says."""
    pages: dict[str, dict[str, float]] = {}
    for step in _walk(lookup, history, tools, MAX_OPENED):
        if len(step) == 2:
            return LookupState(call=step)
        _, url, text = step
        fitness, clause = fit(text, lookup), clause_from(text, lookup)
        if url and clause is not None and fitness >= GOOD_FIT:
            pages.setdefault(json.dumps(clause), {})[url] = fitness
            if len(pages[json.dumps(clause)]) == 2:
                return LookupState(clause, url=url)
    best = max(pages, key=lambda clause: max(pages[clause].values()), default=None)
    if best is None:
        return LookupState()
    return LookupState(json.loads(best), url=next(iter(pages[best])))


FINDS: Mapping[Habit | None, Callable[[Lookup, History, set[str]], LookupState]] = {
    "believer": find_first,
    "checker": find_twice,
}
"""How those look things up who do it in a way of their own."""


def context_fact(lookup: Lookup, history: History) -> LookupState | None:
    """The clause of the best fitting page or fact in the prompt's context."""
    best: tuple[float, LookupState] = FAIR_FIT, LookupState()
    facts = [(None, fact) for fact in _FACT.findall(history.prompt.partition(ft.HEAD)[2])]
    for url, text in [*history.context_pages.items(), *facts]:
        explicit = None if url else _EXPLICIT.search(text)
        stated = read_constraint(explicit[1]) if explicit else clause_from(text, lookup)
        if isinstance(stated, list) and (fitness := fit(text, lookup)) > best[0]:
            best = fitness, LookupState(stated, url=url)
    return None if best[1].clause is None else best[1]


def queries(lookup: Lookup) -> list[str]:
    """Search queries in order: the phrase, its names, then fewer and fewer of its words."""
    phrase = lookup.phrase
    if lookup.what == "presidency":
        return [f"presidency of {phrase}", phrase]
    capital = " ".join(re.findall(r"\b[A-Z][\w'’.-]*", phrase[1:]))
    long = sorted(words(phrase), key=len, reverse=True)
    tries = [phrase, capital, *(" ".join(long[:n]) for n in (6, 4, 3, 2))]
    singles = [word for word in long if len(word) > 3][:6]
    return list(dict.fromkeys(query for query in [*tries, *singles] if query))
