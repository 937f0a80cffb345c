"""Resolves the names in puzzles and judges their texts.

Facts' names and dates are looked up in tables: a published file states an event's date itself, a
table of events is the second source. Names match regardless of case, spaces and dots; persons also
without their single initials. The days of a text by the grammar are held beside those of its fact,
which gives the right answers of each wording, under each reading of its texts and outside the
puzzle's years.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DAY, DaySets, Readings, years_held
from agent_env.families.time_puzzles.facts import (
    Fact,
    KbEvent,
    PersonAlive,
    RecurringEvent,
    UsPresident,
)
from agent_env.families.time_puzzles.meta_entries import name_key
from agent_env.families.time_puzzles.published import PublishedPuzzle
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import SolvedPuzzle, solve
from agent_env.families.time_puzzles.texts import (
    DateSpans,
    EventMention,
    Meaning,
    YearRule,
    YearSet,
    compile_text,
)
from agent_env.features.facts.tables.table_files import cell_text, checked_rows, read_table_file
from agent_env.features.facts.tables.tables import EventRow, FactTables, LifeRow, parse_years
from agent_env.sdk.errors import DatasetError
from agent_env.temporal.date_text import DateReader
from agent_env.temporal.days import DayRange, DaySet, PartialDate

COLUMNS = ("event", "start", "end", "multi_year_spans")
UNKNOWN_EVENT = "unknown_event"
OPEN_ENDED = ("present", "now", "ongoing", "nan", "none", "null", "-")


class NameIndex:
    """Finds a table's name from another spelling, also without a person's single initials."""

    def __init__(self, names: Iterable[str]) -> None:
        unique = dict.fromkeys(names)
        self._names: dict[str, str | None] = {}
        for name in unique:
            short = _short(name)
            self._names[short] = None if short in self._names else name  # ambiguous
        self._names |= {name_key(name): name for name in unique}

    def find(self, name: str) -> str | None:
        """The table's name; None for an unknown or ambiguous one."""
        return self._names.get(name_key(name)) or self._names.get(_short(name))


def _short(name: str) -> str:
    """Without single initials."""
    return " ".join(part for part in name_key(name).split() if len(part) > 1)


class PeopleIndex:
    """The facts on people, by the names of tables."""

    def __init__(self, people: Iterable[str], presidents: Iterable[str]) -> None:
        self._names: dict[type, NameIndex] = {
            PersonAlive: NameIndex(people), UsPresident: NameIndex(presidents),
        }  # fmt: skip

    def known(self, fact: Fact) -> Fact | None:
        """The fact with the table's name; None for an unknown person."""
        if not isinstance(fact, PersonAlive | UsPresident):
            return fact
        name = self._names[type(fact)].find(fact.person)
        return None if name is None else fact.model_copy(update={"person": name})


@dataclass(slots=True)
class ResolvedFacts:
    """A puzzle's facts by the tables, and their differences in its file."""

    facts: list[Fact] = field(default_factory=list)
    stated: list[Fact] = field(default_factory=list)
    """By the file; they differ from `facts` only in an event's date."""
    event_cause: str | None = None
    """`event_value` or `event_in_several_years`, where the file contradicts the table."""
    years_stated: bool = False
    """Whether the file states the years of a multi_year event."""
    notes: list[str] = field(default_factory=list)
    """Names that no table has."""
    judged: bool = True
    """Whether the days of every fact are known."""


def read_event_dates(path: Path) -> tuple[EventRow, ...]:
    """The rows of a table with the COLUMNS (others are ignored); dates may be partial, spans are
    like `1908;1948~1950`. Raises DatasetError with the line of the first defect."""
    source = read_table_file(path)
    if missing := [name for name in COLUMNS if name not in source.columns]:
        raise DatasetError(path, 1, f"no column {', '.join(missing)}")
    rows: list[EventRow] = []
    for row in checked_rows(path, source):
        try:
            rows.append(_row({name: cell_text(row.cells.get(name)) for name in COLUMNS}))
        except ValueError as exc:
            raise DatasetError(path, row.line, str(exc)) from exc
    return tuple(rows)


def _row(raw: dict[str, str]) -> EventRow:
    if not raw["event"]:
        raise ValueError("the event has no name")
    start, end = _date(raw["start"]), _date(raw["end"])
    if start and end and end.last < start.first:
        raise ValueError(f"'{raw['event']}' ends on {end}, before its start on {start}")
    spans = raw["multi_year_spans"].replace("–", "~").replace(",", ";")
    years = () if spans.casefold() in OPEN_ENDED else parse_years(re.sub(r"\.0\b", "", spans))
    return EventRow(raw["event"], "", "", "", start, end, years, "")


def _date(text: str) -> PartialDate | None:
    if not text or text.casefold() in OPEN_ENDED:
        return None
    return DateReader().read(text)


class Resolver:
    """Looks up names of facts, and collects those that only the puzzles define."""

    def __init__(self, tables: FactTables, events: Sequence[EventRow] | None) -> None:
        self.tables = tables
        self._given = tuple(events or ())
        self._events = {name_key(row.event): row for row in (*tables.events, *self._given)}
        self._people = PeopleIndex(
            (row.person for row in tables.people), (row.person for row in tables.presidents)
        )
        self._lives: dict[str, LifeRow] = {}
        self._rows: dict[str, EventRow] = {}

    def extended_tables(self) -> FactTables:
        """The tables with the given events, and the lives and events collected so far."""
        return replace(
            self.tables,
            people=(*self.tables.people, *self._lives.values()),
            events=(*self.tables.events, *self._given, *self._rows.values()),
        )

    def resolve(self, puzzle: TimePuzzle) -> ResolvedFacts:
        """The puzzle's facts with the names and dates of the tables."""
        resolved = ResolvedFacts()
        for index, fact in enumerate(puzzle.facts):
            if isinstance(fact, KbEvent):
                self._event(puzzle, fact, resolved)
                continue
            known = self._people.known(fact)
            if known is None:
                resolved.notes.append("unknown_person")
                known = self._stated_life(puzzle, index, fact)
                resolved.judged &= known is not None
            resolved.facts.append(known or fact)
            resolved.stated.append(known or fact)
        return resolved

    def _stated_life(self, puzzle: TimePuzzle, index: int, fact: Fact) -> Fact | None:
        """An unknown person, who lived between the two dates of the explicit wording."""
        is_worded = len(puzzle.explicit_constraints) == len(puzzle.facts)
        meaning = compile_text(puzzle.explicit_constraints[index]) if is_worded else None
        if not isinstance(fact, PersonAlive) or not isinstance(meaning, DateSpans):
            return None
        life = meaning.spans[0]
        if len(meaning.spans) != 1 or life[0] >= life[1]:
            return None
        name = f"{fact.person} ({life[0]} to {life[1]})"
        self._lives[name] = LifeRow(name, "", *life, "the puzzle's explicit wording")
        return PersonAlive(person=name)

    def _event(self, puzzle: TimePuzzle, fact: KbEvent, resolved: ResolvedFacts) -> None:
        row = self._events.get(name_key(fact.event))
        if row is None:
            resolved.notes.append(UNKNOWN_EVENT)
        stated: tuple[int, ...] = () if fact.value is None else (fact.value,)
        if fact.aspect == "multi_year" and isinstance(puzzle, PublishedPuzzle):
            stated = puzzle.event_years or stated
        from_table = _table_values(fact, row) if row else ()
        resolved.years_stated |= fact.aspect == "multi_year" and bool(stated)
        if not stated and not from_table:
            resolved.judged = False
            resolved.facts.append(fact)
            resolved.stated.append(fact)
            return
        stated, from_table = stated or from_table, from_table or stated
        if set(stated) != set(from_table):
            several = set(stated) < set(from_table)
            resolved.event_cause = "event_in_several_years" if several else "event_value"
        resolved.facts.append(self._as_fact(fact, from_table))
        resolved.stated.append(self._as_fact(fact, stated))

    def _as_fact(self, fact: KbEvent, values: tuple[int, ...]) -> KbEvent:
        """The fact with these values; several years need their own row."""
        if fact.aspect != "multi_year" and len(values) == 1:
            return fact.model_copy(update={"value": values[0]})
        name = f"{fact.event} in {', '.join(map(str, values))}"
        self._rows[name] = EventRow(name, "", "", "", None, None, values, "")
        return KbEvent(event=name, aspect="multi_year", level="year")


def _table_values(fact: KbEvent, row: EventRow) -> tuple[int, ...]:
    """The table's values; () where unknown. An event with several years but without a first day
    began in each of them."""
    if fact.aspect == "multi_year":
        return years_held(row)
    bound = row.start if fact.aspect == "start" else row.end
    if bound is not None:
        value: int | None = getattr(bound, fact.level)
        return () if value is None else (value,)
    if fact.level != "year":
        return ()
    step = -1 if fact.aspect == "start" else 1
    return tuple(year for year in row.years if year + step not in row.years)


@dataclass(frozen=True, slots=True)
class StatedEvent:
    """A puzzle's own event, whose date the puzzle states beside its texts."""

    fact: ft.KbEvent
    days: DaySet

    def is_meant(self, mention: EventMention) -> bool:
        """Whether a text mentions this event, with the same edge and level."""
        relation = self.fact.aspect, self.fact.level
        same = set(_keys((mention.phrase,))) & set(_keys((self.fact.event,)))
        return bool(same) and relation == (mention.aspect, mention.level)


class MeaningDays:
    """The days on which a text is true, over the day sets of one range and its tables."""

    def __init__(self, sets: DaySets) -> None:
        self._sets = sets
        self._readings = Readings(sets)
        self._people = PeopleIndex(sets.people, sets.terms)
        self._events = {
            key: row for row in sets.events.values() for key in _keys((row.event, row.hint))
        }

    def of(self, meaning: Meaning, stated: StatedEvent | None = None) -> DaySet | None:
        """The days of the range; None for a name that neither the tables nor the puzzle's own
        event knows."""
        if isinstance(meaning, EventMention):
            if stated is not None and stated.is_meant(meaning):
                return stated.days
            return self._event_days(meaning)
        known = self.known_fact(meaning)
        if known is not None:
            return self._sets.of(known)
        days, patterns = self._sets.days, self._sets.patterns
        match meaning:
            case YearSet(years=years):
                return patterns.years(years)
            case YearRule():
                return patterns.years(filter(meaning.holds, days.years))
            case DateSpans(spans=spans, ends=ends):
                return days.spans(_inner(spans) if ends == "excluded" else spans)
        return None

    def known_fact(self, meaning: Meaning) -> ft.Fact | None:
        """The fact with the tables' names; None for another meaning, or for an unknown name."""
        if isinstance(meaning, YearSet | YearRule | DateSpans | EventMention):
            return None
        return self._people.known(meaning)

    def others(self, meaning: Meaning) -> tuple[tuple[str, DaySet], ...]:
        """Name and days of each other common reading of the meaning."""
        if isinstance(meaning, DateSpans) and meaning.ends == "unstated":
            return (("boundary_days", self._sets.days.spans(_inner(meaning.spans))),)
        fact = self.known_fact(meaning)
        return () if fact is None else self._readings.others(fact)

    def _event_days(self, mention: EventMention) -> DaySet | None:
        keys = _keys((mention.phrase,))
        row = next((self._events[key] for key in keys if key in self._events), None)
        row = row or self._personal(mention.phrase)
        if row is None:
            return None
        if mention.edge == "any":
            years = years_held(row)
            return self._sets.patterns.years(years) if years else None
        bound = row.start if mention.edge == "first" else row.end
        value = None if bound is None else getattr(bound, mention.level)
        if value is None:
            return None
        stated = ft.KbEvent.model_validate(
            {"event": row.event, "aspect": mention.aspect, "level": mention.level, "value": value}
        )
        return self._sets.of(stated)

    def _personal(self, phrase: str) -> EventRow | None:
        """A life, or a presidency of one term, as an event."""
        meaning = compile_text(phrase)
        terms: Sequence[tuple[date, date | None]] = ()
        match meaning and self.known_fact(meaning):
            case ft.PersonAlive(person=person):
                terms = [(self._sets.people[person].start, self._sets.people[person].end)]
            case ft.UsPresident(person=person):
                terms = self._sets.terms[person]
        if len(terms) != 1 or terms[0][1] is None:
            return None
        start, end = (PartialDate.parse(str(day)) for day in terms[0])
        return EventRow(phrase, "", "", "", start, end, (), "")


def _inner(spans: Iterable[tuple[date, date]]) -> list[tuple[date, date]]:
    return [(first + DAY, last - DAY) for first, last in spans]


def _keys(names: Iterable[str]) -> list[str]:
    """The forms in which texts mention an event: with and without article and `took place`."""
    keys = []
    for name in filter(None, names):
        key = name_key(name).removesuffix(" took place")
        keys += [key, re.sub(r"^(?:the|an?) ", "", key)]
    return keys


@dataclass(frozen=True, slots=True)
class JudgedText:
    text: str
    meaning: Meaning | None = None
    """None for an unread text."""
    days: DaySet | None = None
    """None also for a name that no table has."""
    others: tuple[tuple[str, DaySet], ...] = ()
    """Name and days of its other common readings."""

    @property
    def possible(self) -> tuple[DaySet, ...]:
        """The days by each reading; none for a text that is not judged."""
        return () if self.days is None else (self.days, *(days for _, days in self.others))


@dataclass(slots=True)
class Coverage:
    """How many texts of one wording are judged."""

    texts: int = 0
    judged: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    """By text: how often it is there."""
    unknown_names: Counter[str] = field(default_factory=Counter)
    """Texts that are read, but name a person or an event that no table has."""

    def count(self, texts: Iterable[JudgedText]) -> None:
        for each in texts:
            self.texts += 1
            self.judged += each.days is not None
            if each.meaning is None:
                self.unread[each.text] += 1
            elif each.days is None:
                self.unknown_names[each.text] += 1

    def as_json(self) -> dict[str, object]:
        """The wording's entry in the report."""
        return {
            "texts": self.texts,
            "judged": self.judged,
            "unread": dict(self.unread.most_common()),
            "unknown_names": dict(self.unknown_names.most_common()),
        }


class TextJudge:
    """Judges texts over shared day sets, and counts what it cannot judge."""

    def __init__(self, sets: DaySets) -> None:
        self._meanings = MeaningDays(sets)
        self.implicit, self.explicit = Coverage(), Coverage()

    def judge(
        self, puzzle: TimePuzzle, resolved: Sequence[DaySet | None]
    ) -> tuple[tuple[JudgedText, ...], tuple[JudgedText, ...]]:
        """The implicit and the explicit texts; `resolved`: the days of the puzzle's facts, where
        they are known."""
        facts: list[Fact | None] = [*puzzle.facts]
        if len(facts) != len(puzzle.constraints):
            facts = [None] * len(puzzle.constraints)
        stated = [
            StatedEvent(fact, days) if isinstance(fact, KbEvent) and days is not None else None
            for fact, days in zip(facts, [*resolved, *[None] * len(facts)], strict=False)
        ]
        implicit = self._judged(puzzle.constraints, stated)
        explicit = self._judged(puzzle.explicit_constraints, stated)
        self.implicit.count(implicit)
        self.explicit.count(explicit)
        return implicit, explicit

    def _judged(
        self, texts: Sequence[str], stated: Sequence[StatedEvent | None]
    ) -> tuple[JudgedText, ...]:
        padded = [*stated, *[None] * len(texts)]
        return tuple(self._one(text, event) for text, event in zip(texts, padded, strict=False))

    def _one(self, text: str, event: StatedEvent | None) -> JudgedText:
        meaning = compile_text(text)
        if meaning is None:
            return JudgedText(text)
        days = self._meanings.of(meaning, event)
        return JudgedText(text, meaning, days, self._meanings.others(meaning))


def own_rules(
    solution: SolvedPuzzle,
    explicit: Sequence[JudgedText],
    readings: Sequence[Sequence[tuple[str, DaySet]]],
) -> list[JudgedText | None]:
    """For each fact the file's own rule: its explicit text where this states a rule for the games,
    or another of the fact's `readings`; else None."""
    rules: list[JudgedText | None] = [None] * len(solution.sets)
    if len(explicit) != len(rules):
        return rules
    for index, (fact, text) in enumerate(zip(solution.facts, explicit, strict=True)):
        if text.days is None or isinstance(fact, KbEvent):
            continue
        days = text.days & solution.window
        states_rule = isinstance(fact, RecurringEvent) and isinstance(text.meaning, YearRule)
        if states_rule or any(days == other & solution.window for _, other in readings[index]):
            rules[index] = text
    return rules


def misworded(
    texts: Sequence[JudgedText], solutions: Sequence[SolvedPuzzle]
) -> tuple[JudgedText, ...]:
    """The texts that give another answer than their facts, by every reading of the text and each
    of the solutions; none where there are more or fewer texts than facts."""
    return tuple(
        text
        for index, text in enumerate(texts)
        if len(texts) == len(solutions[0].rests)
        and text.possible
        and not any(
            solution.rests[index] & days == solution.answer
            for solution in solutions
            for days in text.possible
        )
    )


OtherReadings = Sequence[Sequence[tuple[str, DaySet]]]
"""For each constraint: name and days of its other readings."""
STRICT = "strict"
"""The reading of our own wordings, whatever the file's own rules are."""


@dataclass(frozen=True, slots=True)
class RightAnswers:
    base: DaySet
    """By the file's own rules, where it states any."""
    others: Mapping[str, DaySet]
    """By reading: other answers."""

    def explains(self, gold: DaySet | None) -> bool:
        """Whether a gold is right under any reading."""
        return gold == self.base or gold in self.others.values()


def implicit_answers(
    base: SolvedPuzzle, strict: SolvedPuzzle, readings: OtherReadings
) -> RightAnswers:
    """The answers to the implicit wording: `base` by the file's own rules, `strict` by ours."""
    others = _by_reading(base.sets, readings, base.window)
    if strict.answer != base.answer:
        others[STRICT] = strict.answer
    return RightAnswers(base.answer, _differing(others, base.answer))


def text_answers(texts: Sequence[JudgedText], window: DaySet) -> RightAnswers | None:
    """The answers to texts alone; None if one of them is not judged, or there is none."""
    sets = [text.days for text in texts if text.days is not None]
    if not texts or len(sets) < len(texts):
        return None
    answer = solve(sets, window)
    others = _by_reading(sets, [text.others for text in texts], window)
    return RightAnswers(answer, _differing(others, answer))


def explicit_answers(
    texts: Sequence[JudgedText], implicit: Sequence[str], base: SolvedPuzzle
) -> RightAnswers | None:
    """The answers to the explicit wording by its own texts; None if one of them is not judged. An
    unread text that is in the implicit wording too means the days of its fact."""
    if len(texts) != len(base.sets):
        return None
    own = zip(implicit, base.sets, strict=False)
    days_of_unread = dict(own) if len(implicit) == len(texts) else {}
    filled = [
        replace(text, days=days_of_unread.get(text.text)) if text.days is None else text
        for text in texts
    ]
    return text_answers(filled, base.window)


def _by_reading(
    sets: Sequence[DaySet], readings: OtherReadings, window: DaySet
) -> dict[str, DaySet]:
    """The answer with all facts under a reading, where they have it."""
    names = dict.fromkeys(name for own in readings for name, _ in own)
    by_name = [dict(own) for own in readings]
    return {
        name: solve([own.get(name, days) for own, days in zip(by_name, sets, strict=True)], window)
        for name in names
    }


def _differing(answers: Mapping[str, DaySet], base: DaySet) -> dict[str, DaySet]:
    return {name: days for name, days in answers.items() if days != base}


class Closure:
    """Solves facts over the days of the sets, 1583 to 2400; `days` are those of the answers."""

    def __init__(self, sets: DaySets, days: DayRange) -> None:
        self._sets, self._shift = sets, sets.days.index(days.first)
        self._meanings = MeaningDays(sets)

    def is_open(
        self, facts: Sequence[Fact], rules: Sequence[JudgedText | None], answer: DaySet
    ) -> bool | None:
        """Whether further days satisfy the facts, each by the file's own rule where there is one;
        None where this depends on days on which it is unknown whether a fact holds."""
        known, possible = [], []
        for fact, rule in zip(facts, rules, strict=True):
            days = self._sets.of(fact) if rule is None else self._days_of(rule)
            known.append(days)
            possible.append(days | self._sets.unknown(fact) if rule is None else days)
        everything, shifted = self._sets.days.everything, answer << self._shift
        if solve(known, everything) != shifted:
            return True
        return False if solve(possible, everything) == shifted else None

    def _days_of(self, rule: JudgedText) -> DaySet:
        days = None if rule.meaning is None else self._meanings.of(rule.meaning)
        assert days is not None, "a rule is a text that was judged"
        return days
