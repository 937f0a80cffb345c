"""Generates question sets: stories (all facts of one topic and relation), questions randomly drawn
from them, distractors, facts in random order. The answers come from `gold` (closed intervals).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from random import Random
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from agent_env.families.timed_facts.gold import PRESENT, gold_answers, is_complete, is_tied
from agent_env.families.timed_facts.sample import Level, Setting, TimedQuestion, timed
from agent_env.features.extraction.solver import Fact, Query, Relation, Ties
from agent_env.features.extraction.wording import DECADES, KINDS
from agent_env.features.facts.fiction.histories import OF_OBJECT, make_histories
from agent_env.features.facts.tables import tables
from agent_env.features.facts.tables.articles import article_url
from agent_env.features.facts.tables.tables import (
    FactTables,
    IntervalRow,
    read_intervals,
    shipped_tables,
)
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import CannotShift, SampleSet
from agent_env.sdk.records import Record, Sample
from agent_env.temporal.months import Month, Span, month, write_month

KIND_OF: dict[tables.Relation, str] = {
    "holds_office": "position", "plays_for": "team", "works_for": "employer",
    "member_of": "party", "attends": "school", "owns": "owner", "heads": "head",
    "manages": "coach",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Story:
    topic: str
    kind: str
    facts: tuple[Fact, ...]


def story_of(rows: Sequence[IntervalRow], years: frozenset[int] = frozenset()) -> Story:
    """The rows of one topic and relation as a story; `years`: indices of rows with years only."""
    kind = KIND_OF[rows[0].relation]
    of_object = rows[0].relation in OF_OBJECT
    topic = rows[0].object if of_object else rows[0].subject
    facts = []
    for place, row in enumerate(rows):
        start, end, by_years = row.start, row.end, place in years
        length = 4 if by_years else 7
        texts = start.isoformat()[:length], None if end is None else end.isoformat()[:length]
        first = month(start.year, 1 if by_years else start.month)
        last = None if end is None else month(end.year, 12 if by_years else end.month)
        value = row.subject if of_object else row.object
        facts.append(Fact.sound(topic, kind, value, texts, (first, last)))
    return Story(topic, kind, tuple(facts))


def stories_of(
    rows: Iterable[IntervalRow], rng: Random, least: int = 3
) -> Iterator[tuple[IntervalRow, ...]]:
    """The rows of each story with at least `least` facts, repeatedly, in random order."""
    groups: dict[tuple[str, str], list[IntervalRow]] = defaultdict(list)
    for row in rows:
        topic = row.object if row.relation in OF_OBJECT else row.subject
        groups[row.relation, topic].append(row)
    long = [tuple(group) for group in groups.values() if len(group) >= least]
    while long:
        yield from rng.sample(long, len(long))


def presidents(tables: FactTables) -> tuple[IntervalRow, ...]:
    """The packaged table of real terms of office as intervals, for closed-book questions."""
    return tuple(
        IntervalRow(row.person, "heads", "the United States", row.start, row.end)
        for row in tables.presidents
    )


@dataclass(frozen=True, slots=True)
class QuestionDraft:
    """A question before its wording."""

    query: Query
    when: str
    """The wording of the time: `in January 1995`, `right before Karvel F.C.`"""
    reference: str
    boundary: str
    answers: tuple[str, ...]


Draw = Callable[[Story, Random], QuestionDraft]
TRIES = 100
"""Stories tried for each question; then the set remains smaller."""
DRAWS = 5
"""Questions drawn from a story until one fits an open cell; at most one is used."""


class TimedOptions(Record):
    """What `--option KEY=VALUE` may say in both families."""

    usual: ClassVar[Setting] = "reasonqa"
    setting: Setting | None = None
    """closed-book, reasonqa (facts as lines), open-book (running text) or open-web. None for what
    the questions were made for, which is reasonqa unless said."""
    answers: tuple[Literal["single", "multi", "none"], ...] = ("single", "multi")
    """How many answers questions have; `none` asks for a time at which nothing held."""
    per_cell: int | None = Field(default=None, ge=1)
    """So many questions of each level and number of answers; None shares out the count."""
    kinds: tuple[str, ...] = ()
    """Relations, such as team,employer; empty for all eight."""
    present: bool = False
    """Only questions about the present, which is the day of --today."""
    distractors: int = Field(default=2, ge=0, le=7)
    """Facts on another topic in the context."""
    intervals: Path | None = None
    """A CSV of subject,relation,object,start,end to draw from, such as `web build` writes beside
    a fictional web, which open-web needs; relations are holds_office, plays_for, manages,
    works_for, member_of, attends, owns, heads, and a topic needs three rows. None invents stories,
    except for closed-book, which then asks for US presidents: of invented people nobody can know
    anything."""

    def setting_of(self, sample: Sample) -> Setting:
        return self.setting or timed(sample).setting or self.usual

    @property
    def is_closed(self) -> bool:
        return self.setting == "closed-book"

    @property
    def answer_counts(self) -> tuple[str, ...]:
        """`answers`; closed-book without `none`, as no table proves that nothing else held."""
        kept = tuple(each for each in self.answers if each != "none" or not self.is_closed)
        if kept or not self.answers:
            return kept
        raise ConfigError(
            "setting=closed-book with answers=none: no table proves that there was nobody; "
            "take answers=single,multi, or setting=reasonqa"
        )


@dataclass(frozen=True, slots=True)
class SetSpec:
    """Specification of a question set."""

    task: str
    prefix: str
    """Of the samples' ids."""
    draws: tuple[tuple[Level, Draw], ...]
    several: tuple[str, ...]
    """Allowed numbers of answers: single, multi, none."""
    count: int
    seed: int
    options: TimedOptions
    years: float = 0.0
    """Share of the facts that give years only."""


def make_questions(spec: SetSpec) -> tuple[TimedQuestion, ...]:
    """The samples; deterministic. A small table may give fewer than requested."""
    if unknown := set(spec.options.kinds) - set(KINDS):
        raise ConfigError(f"unknown relation '{min(unknown)}'; known: {', '.join(KINDS)}")
    rng = Random(f"timed/{spec.prefix}/{spec.seed}")
    draws = [(level, draw_present) for level, _ in spec.draws[:1]] if spec.options.present else []
    spec = replace(spec, draws=tuple(draws) or spec.draws)
    cells = [f"{level}-{many}" for level, _ in spec.draws for many in spec.several]
    share, rest = divmod(spec.count, max(1, len(cells)))
    sizes = {cell: spec.options.per_cell or share + (n < rest) for n, cell in enumerate(cells)}
    questions: list[TimedQuestion] = []
    counts: Counter[str] = Counter()
    keys: set[tuple[str, str, str]] = set()
    stories = _stories(spec, rng)
    other = next(stories, None)
    open_levels = _open(spec, sizes, counts)
    for _ in range(TRIES * sum(sizes.values())):
        story = next(stories, None)
        if story is None or other is None or len(questions) == sum(sizes.values()):
            break
        for _ in range(DRAWS):
            level, draw = rng.choice(open_levels)
            draft = draw(story, rng)
            cell = cell_of(level, draft.answers)
            key = (story.topic, story.kind, draft.when)
            fits = counts[cell] < sizes.get(cell, 0) and draft.boundary != "several-spells"
            fits = fits and (not spec.options.is_closed or is_complete(story.facts, draft.query))
            if fits and key not in keys:
                keys.add(key)
                counts[cell] += 1
                open_levels = _open(spec, sizes, counts)
                questions.append(
                    _sample(spec, len(questions) + 1, level, cell, story, other, draft, rng)
                )
                break
        other = story
    return tuple(questions)


def question_set(questions: tuple[TimedQuestion, ...], options: TimedOptions) -> SampleSet:
    """The questions; ConfigError where a user's table gives none."""
    if not questions and options.intervals is not None:
        raise ConfigError(
            f"intervals={options.intervals}: no question comes out; a topic needs three rows of "
            "one relation, and times that the other options ask for"
        )
    return SampleSet(questions)


def _open(spec: SetSpec, sizes: dict[str, int], counts: Counter[str]) -> list[tuple[Level, Draw]]:
    """The levels with a cell that is not full."""
    return [
        (level, draw)
        for level, draw in spec.draws
        if any(counts[c] < sizes[c] for c in (f"{level}-{many}" for many in spec.several))
    ]


def cell_of(level: Level, answers: Sequence[str]) -> str:
    count = len(answers)
    return f"{level}-{'none' if count == 0 else 'single' if count == 1 else 'multi'}"


def wrong_values(facts: Iterable[Fact], answers: Sequence[str], reference: str) -> tuple[str, ...]:
    """Values of the facts, each once, that are neither an answer nor the question's own."""
    values = dict.fromkeys(fact.value for fact in facts)
    return tuple(value for value in values if value not in answers and value != reference)


def _stories(spec: SetSpec, rng: Random) -> Iterator[Story]:
    options = spec.options
    if options.intervals is not None:
        groups = stories_of(read_intervals(options.intervals), rng)
    elif options.is_closed:
        groups = stories_of(presidents(shipped_tables()), rng)
    else:
        groups = make_histories(spec.seed)
    for rows in groups:
        share = 0.0 if options.is_closed else spec.years  # whose year alone would widen the fact
        years = frozenset(n for n in range(len(rows)) if share and rng.random() < share)
        story = story_of(rows, years)
        if not options.kinds or story.kind in options.kinds:
            yield story


def _sample(
    spec: SetSpec, number: int, level: Level, cell: str, story: Story, other: Story,
    draft: QuestionDraft, rng: Random,
) -> TimedQuestion:  # fmt: skip
    """`other` is a story from which facts are taken as distractors."""
    is_other = other.topic != story.topic
    facts = [*story.facts, *(other.facts[: spec.options.distractors] if is_other else ())]
    rng.shuffle(facts)
    answers = draft.answers
    return TimedQuestion(
        id=f"{spec.prefix}-{spec.seed}-{number:05d}",
        task=spec.task,
        gold=answers,
        evidence=(article_url(story.topic),) if spec.options.setting == "open-web" else (),
        level=level,
        cell=cell,
        question=KINDS[story.kind].ask.format(t=story.topic, when=draft.when),
        kind=story.kind,
        topic=story.topic,
        relation=draft.query.relation,
        reference=draft.reference,
        boundary=draft.boundary,
        setting=spec.options.setting or spec.options.usual,
        ties=getattr(spec.options, "ties", None) if level == "L3" else None,
        facts=tuple(facts),
        negatives=wrong_values(story.facts, answers, draft.reference),
    )


FIRST, LAST = month(1800, 1), month(2030, 12)


def draw_in(story: Story, rng: Random) -> QuestionDraft:
    """What held in a month inside a fact, in its first or last month, or just outside it."""
    fact = rng.choice(story.facts)
    first, last = _span_bounds(fact)
    places = [(first, "first"), (first - 1, "just-before")]
    if fact.last is not None:
        places += [(last, "last"), (last + 1, "just-after")]
    if last - first > 1:
        inside = (rng.randint(first + 1, last - 1), "inside")
        places += [inside, inside]
    at, boundary = rng.choice(places)
    return _draft(story, "in", Span(at, at), f"in {write_month(at)}", boundary)


NOW = "now"
"""The boundary of a question about the present."""


def draw_present(story: Story, rng: Random) -> QuestionDraft:
    """What holds in the present, of facts that all ended before it in their last month."""
    ends = [PRESENT if fact.last is None else fact.last for fact in story.facts]
    at = min(PRESENT, max(ends))
    return _draft(story, "in", Span(at, at), f"in {write_month(at)}", NOW)


def on_day(options: TimedOptions, sample: Sample, day: date) -> Mapping[str, JsonValue]:
    """The fields of a question about the present that are others on the day; the question names
    none. CannotShift where the prompt shows what came later, or the month saw a change."""
    question = timed(sample)
    if question.boundary != NOW:
        return {}
    if (setting := options.setting_of(sample)) in ("reasonqa", "open-book"):
        other = "closed-book, or tempreason's open-web"
        raise CannotShift(f"setting={setting} shows later facts; take {other}")
    at, facts = month(day.year, day.month), question.own_facts
    if at > PRESENT:
        raise CannotShift(f"their facts are as of {write_month(PRESENT)}, which is before {day}")
    if all(fact.first is not None and fact.first > at for fact in facts):
        raise CannotShift(f"nothing of what they ask about had begun on {day}")
    if any(at in (fact.first, fact.last) for fact in facts):
        raise CannotShift(f"their facts change in the month of {day}")
    answers = gold_answers(facts, Query("in", Span(at, at)))
    return {
        "question": KINDS[question.kind].today.format(t=question.topic),
        "gold": list(answers),
        "cell": cell_of(question.level, answers),
        "reference": write_month(at, "iso"),
        "negatives": list(wrong_values(facts, answers, "")),
    }


def changes(sample: Sample) -> Iterator[date]:
    """The first days behind the months in which a fact of a question about the present begins or
    ends, in which two hold."""
    question = timed(sample)
    for fact in question.own_facts if question.boundary == NOW else ():
        for at in filter(None, (fact.first, fact.last)):
            yield date((at + 1) // 12, (at + 1) % 12 + 1, 1)


def _span_bounds(fact: Fact) -> tuple[Month, Month]:
    first = fact.first if fact.first is not None else FIRST
    return first, fact.last if fact.last is not None else max(first + 24, month(2023, 12))


def draw_neighbour(story: Story, rng: Random, ties: Ties = "all") -> QuestionDraft:
    """What came directly before or after a value."""
    relation: Relation = rng.choice(("before", "after"))
    value = rng.choice(story.facts).value
    query = Query(relation, value)
    spells = sum(fact.value == value for fact in story.facts)
    tied = "tied" if is_tied(story.facts, value) else "alone"
    boundary, answers = (
        "several-spells" if spells > 1 else tied,
        gold_answers(story.facts, query, ties),
    )
    takes_the = "the {v}" in KINDS[story.kind].past or value.startswith("University of ")
    article = "that of " if story.kind == "position" else "the " if takes_the else ""
    when = f"right {relation} {article}{value}"
    return QuestionDraft(query, when, value, boundary, answers)


def draw_own_span(story: Story, rng: Random) -> QuestionDraft:
    """What held throughout a fact's own span: TimeQA's easy questions."""
    fact = rng.choice([f for f in story.facts if f.last is not None] or story.facts)
    first, last = _span_bounds(fact)
    start, end = (
        text if text is not None and "-" not in text else write_month(value)
        for text, value in ((fact.start, first), (fact.end, last))
    )
    when = f"from {start} to {end}"
    if start == end:
        when = f"in {start}" if first == last else f"throughout {start}"
    return _draft(story, "throughout", Span(first, last), when, "own-span")


def draw_hard(story: Story, rng: Random) -> QuestionDraft:
    """TimeQA's hard questions: a month, two months, the month beside one, a part of a decade."""
    how = rng.choice(("in", "between", "before", "after", "decade"))
    if how == "in":
        return draw_in(story, rng)
    first, last = _span_bounds(rng.choice(story.facts))
    at = rng.randint(first - 12, last + 12)
    if how == "between":
        until = at + rng.choice((2, 6, 14, 30))
        when = f"at any time between {write_month(at)} and {write_month(until)}"
        return _draft(story, "between", Span(at, until), when, "shifted")
    if how == "decade":
        part, decade = rng.choice(("early", "late")), at // 120 * 10
        low, high = DECADES[part]
        span = Span(month(decade + low, 1), month(decade + high, 12))
        return _draft(story, "between", span, f"in the {part} {decade}s", "decade")
    at = rng.choice((at, first))
    beside = at - 1 if how == "before" else at + 1
    when = f"in the month {how} {write_month(at)}"
    return _draft(story, "in", Span(beside, beside), when, "shifted")


def _draft(story: Story, relation: Relation, span: Span, when: str, boundary: str) -> QuestionDraft:
    query = Query(relation, span)
    first, last = write_month(span.first, "iso"), write_month(span.last, "iso")
    reference = first if span.first == span.last else f"{first} to {last}"
    return QuestionDraft(query, when, reference, boundary, gold_answers(story.facts, query))


def make_sums(task: str, prefix: str, count: int, seed: int) -> tuple[TimedQuestion, ...]:
    """`count` questions of time and time (L1); about two thirds with months, the others with years
    only."""
    rng = Random(f"timed/{prefix}/L1/{seed}")
    samples = []
    for number in range(1, count + 1):
        years, word = rng.randint(1, 12), rng.choice(("before", "after"))
        sign = 1 if word == "after" else -1
        base = month(rng.randint(1850, 2020), rng.randint(1, 12))
        length = f"{years} year" if years == 1 else f"{years} years"
        if rng.random() < 1 / 3:
            question = f"What is the year {length} {word} {base // 12}?"
            gold = str(base // 12 + sign * years)
        else:
            months = rng.randint(1, 11)
            length += f" and {months} month" if months == 1 else f" and {months} months"
            question = f"What is the time {length} {word} {write_month(base)}?"
            gold = write_month(base + sign * (years * 12 + months), "short")
        sample = TimedQuestion(
            id=f"{prefix}-{seed}-L1-{number:05d}", task=task, gold=(gold,), level="L1",
            cell="L1-single", question=question,
        )  # fmt: skip
        samples.append(sample)
    return tuple(samples)
