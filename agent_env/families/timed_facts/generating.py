"""Generates question sets: cells, distractors, facts in random order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from agent_env.errors import ConfigError
from agent_env.families.timed_facts.drawing import QuestionDraft
from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.families.timed_facts.stories import Story, presidents, stories_of, story_of
from agent_env.families.timed_facts.wording import KINDS
from agent_env.temporal.facts.articles import article_url
from agent_env.temporal.facts.intervals import read_intervals
from agent_env.temporal.facts.tables import shipped_tables
from agent_env.temporal.fiction.histories import make_histories

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
