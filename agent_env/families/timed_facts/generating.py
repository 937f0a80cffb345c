"""Generates question sets: stories (all facts of one topic and relation), questions randomly drawn
from them, distractors, facts in random order. The answers come from the solver (closed intervals).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from agent_env.extensions.extraction.solver import (
    Bounds,
    Fact,
    Query,
    Relation,
    Solution,
    Ties,
    solve,
)
from agent_env.extensions.extraction.wording import DECADES, KINDS
from agent_env.extensions.facts.fiction.histories import OF_OBJECT, make_histories
from agent_env.extensions.facts.tables import tables
from agent_env.extensions.facts.tables.articles import article_url
from agent_env.extensions.facts.tables.tables import (
    FactTables,
    IntervalRow,
    read_intervals,
    shipped_tables,
)
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.sdk.errors import ConfigError
from agent_env.temporal.months import Month, Span, month, write_month

KIND_OF: dict[tables.Relation, str] = {
    "holds_office": "position", "plays_for": "team", "works_for": "employer",
    "member_of": "party", "attends": "school", "owns": "owner", "heads": "head",
    "manages": "coach",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Story:
    """All facts of one kind about one topic."""

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
        value = row.subject if of_object else row.object
        bounds, months = _bounds(row, place in years)
        facts.append(Fact.sound(topic, kind, value, bounds, months))
    return Story(topic, kind, tuple(facts))


def _bounds(row: IntervalRow, by_years: bool) -> tuple[tuple[str, str | None], Bounds]:
    """The bounds as a fact's texts, and as months."""
    start, end = row.start, row.end
    length = 4 if by_years else 7
    first = month(start.year, 1 if by_years else start.month)
    texts = start.isoformat()[:length], None if end is None else end.isoformat()[:length]
    last = None if end is None else month(end.year, 12 if by_years else end.month)
    return texts, (first, last)


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
    """The wording of the time: `in Jan, 1995`, `before Karvel F.C.`"""
    reference: str
    boundary: str
    solution: Solution


Draw = Callable[[Story, Random], QuestionDraft]
TRIES = 100
"""Stories tried for each question; then the set remains smaller."""
DRAWS = 5
"""Questions drawn from a story until one fits an open cell; at most one is used."""


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
    per_cell: int | None = None
    """Questions of each cell, instead of `count`."""
    distractors: int = 2
    """Facts of other topics in the context."""
    years: float = 0.0
    """Share of the facts that give years only."""
    kinds: tuple[str, ...] = ()
    """Relations of the questions; empty for all."""
    intervals: Path | None = None
    """A table to draw from instead of the fictional stories."""
    real: bool = False
    """Whether to draw from the packaged table of real terms, where `intervals` is None."""
    evidence: bool = False
    """Whether samples have the page of their topic in a fictional web as evidence."""


def make_questions(spec: SetSpec) -> tuple[TimedQuestion, ...]:
    """The samples; deterministic. A small table may give fewer than requested."""
    if unknown := set(spec.kinds) - set(KINDS):
        raise ConfigError(f"unknown relation '{min(unknown)}'; known: {', '.join(KINDS)}")
    rng = Random(f"timed/{spec.prefix}/{spec.seed}")
    cells = [f"{level}-{many}" for level, _ in spec.draws for many in spec.several]
    sizes = _shares(cells, spec)
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
            cell = cell_of(level, draft.solution.answers)
            key = (story.topic, story.kind, draft.when)
            fits = counts[cell] < sizes.get(cell, 0) and draft.boundary != "several-spells"
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


def _shares(cells: list[str], spec: SetSpec) -> dict[str, int]:
    if spec.per_cell is not None:
        return dict.fromkeys(cells, spec.per_cell)
    share, rest = divmod(spec.count, len(cells))
    return {cell: share + (n < rest) for n, cell in enumerate(cells)}


def _open(spec: SetSpec, sizes: dict[str, int], counts: Counter[str]) -> list[tuple[Level, Draw]]:
    """The levels with a cell that is not full."""
    return [
        (level, draw)
        for level, draw in spec.draws
        if any(counts[c] < sizes[c] for c in (f"{level}-{many}" for many in spec.several))
    ]


def cell_of(level: Level, answers: Sequence[str]) -> str:
    """Level and number of answers."""
    count = len(answers)
    return f"{level}-{'none' if count == 0 else 'single' if count == 1 else 'multi'}"


def wrong_values(facts: Iterable[Fact], answers: Sequence[str], reference: str) -> tuple[str, ...]:
    """Values of the facts, each once, that are neither an answer nor the question's own."""
    values = dict.fromkeys(fact.value for fact in facts)
    return tuple(value for value in values if value not in answers and value != reference)


def _stories(spec: SetSpec, rng: Random) -> Iterator[Story]:
    if spec.intervals is not None:
        groups = stories_of(read_intervals(spec.intervals), rng)
    elif spec.real:
        groups = stories_of(presidents(shipped_tables()), rng)
    else:
        groups = make_histories(spec.seed)
    for rows in groups:
        years = frozenset(n for n in range(len(rows)) if spec.years and rng.random() < spec.years)
        story = story_of(rows, years)
        if not spec.kinds or story.kind in spec.kinds:
            yield story


def _sample(
    spec: SetSpec,
    number: int,
    level: Level,
    cell: str,
    story: Story,
    other: Story,
    draft: QuestionDraft,
    rng: Random,
) -> TimedQuestion:
    facts = [*story.facts, *_distractors(story, other, spec.distractors)]
    rng.shuffle(facts)
    answers = draft.solution.answers
    ask = KINDS[story.kind].ask
    return TimedQuestion(
        id=f"{spec.prefix}-{spec.seed}-{number:05d}",
        task=spec.task,
        gold=answers,
        evidence=(article_url(story.topic),) if spec.evidence else (),
        level=level,
        cell=cell,
        question=ask.format(t=story.topic, when=draft.when),
        kind=story.kind,
        topic=story.topic,
        relation=draft.query.relation,
        reference=draft.reference,
        boundary=draft.boundary,
        facts=tuple(facts),
        negatives=wrong_values(story.facts, answers, draft.reference),
    )


def _distractors(story: Story, other: Story, count: int) -> list[Fact]:
    """Facts of another topic."""
    return [] if other.topic == story.topic else list(other.facts[:count])


FIRST, LAST = month(1800, 1), month(2030, 12)


def draw_in(story: Story, rng: Random) -> QuestionDraft:
    """What held in a month inside a fact, in its first or last month, or just outside it."""
    fact = rng.choice(story.facts)
    at, boundary = _moment(fact, rng)
    return _draft(story, "in", Span(at, at), f"in {write_month(at)}", boundary)


def _moment(fact: Fact, rng: Random) -> tuple[Month, str]:
    first, last = _span_bounds(fact)
    places = [(first, "first"), (first - 1, "just-before")]
    if fact.last is not None:
        places += [(last, "last"), (last + 1, "just-after")]
    if last - first > 1:
        inside = (rng.randint(first + 1, last - 1), "inside")
        places += [inside, inside]
    return rng.choice(places)


def _span_bounds(fact: Fact) -> tuple[Month, Month]:
    first = fact.first if fact.first is not None else FIRST
    return first, fact.last if fact.last is not None else max(first + 24, month(2023, 12))


def draw_neighbour(story: Story, rng: Random, ties: Ties = "all") -> QuestionDraft:
    """What came directly before or after a value."""
    relation: Relation = rng.choice(("before", "after"))
    value = rng.choice(story.facts).value
    solution = solve(story.facts, Query(relation, value), ties=ties)
    spells = sum(fact.value == value for fact in story.facts)
    boundary = "several-spells" if spells > 1 else "tied" if solution.near else "alone"
    return QuestionDraft(Query(relation, value), f"{relation} {value}", value, boundary, solution)


def draw_own_span(story: Story, rng: Random) -> QuestionDraft:
    """What held throughout a fact's own span: TimeQA's easy questions."""
    fact = rng.choice([f for f in story.facts if f.last is not None] or story.facts)
    first, last = _span_bounds(fact)
    when = f"from {_date_text(fact.start, first)} to {_date_text(fact.end, last)}"
    return _draft(story, "throughout", Span(first, last), when, "own-span")


def _date_text(text: str | None, value: Month) -> str:
    return text if text is not None and "-" not in text else write_month(value)


def draw_hard(story: Story, rng: Random) -> QuestionDraft:
    """TimeQA's hard questions: a month, two months, before or after one, a part of a decade."""
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
        return _decade(story, at, rng)
    at = rng.choice((at, first))
    word = "right before" if how == "before" else "right after"
    relation: Relation = "before" if how == "before" else "after"
    return _draft(story, relation, Span(at, at), f"{word} {write_month(at)}", "shifted")


def _decade(story: Story, at: Month, rng: Random) -> QuestionDraft:
    part = rng.choice(("early", "late"))
    decade = at // 120 * 10
    low, high = DECADES[part]
    span = Span(month(decade + low, 1), month(decade + high, 12))
    return _draft(story, "between", span, f"in the {part} {decade}s", "decade")


def _draft(story: Story, relation: Relation, span: Span, when: str, boundary: str) -> QuestionDraft:
    query = Query(relation, span)
    first, last = write_month(span.first, "iso"), write_month(span.last, "iso")
    reference = first if span.first == span.last else f"{first} to {last}"
    return QuestionDraft(query, when, reference, boundary, solve(story.facts, query))
