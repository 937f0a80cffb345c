"""Makes samples of drawn questions: cells, distractors, an order that means nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from agent_env.errors import ConfigError
from agent_env.families.timed_facts.drawing import Drawn
from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.families.timed_facts.stories import Story, presidents, stories_of, story_of
from agent_env.families.timed_facts.wording import KINDS
from agent_env.temporal.facts.articles import article_url
from agent_env.temporal.facts.intervals import read_intervals
from agent_env.temporal.facts.tables import shipped_tables
from agent_env.temporal.fiction.histories import make_histories

Draw = Callable[[Story, Random], Drawn]
TRIES = 100
"""Stories looked at for each question wanted, after which the rest is given up."""
DRAWS = 5
"""Questions drawn of a story until one fits a cell that is not full; at most one is taken."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a set is to hold."""

    task: str
    prefix: str
    """Of the samples' ids."""
    draws: tuple[tuple[Level, Draw], ...]
    several: tuple[str, ...]
    """Of single, multi, none: how many answers a question may have."""
    count: int
    seed: int
    per_cell: int | None = None
    """So many of each cell, whatever `count` says."""
    distractors: int = 2
    """Facts of other topics in the context."""
    years: float = 0.0
    """Part of the facts that are told by years alone."""
    kinds: tuple[str, ...] = ()
    """Relations that are asked for; empty for all."""
    intervals: Path | None = None
    """A table to draw from instead of the invented stories."""
    real: bool = False
    """Whether the shipped table of real terms is drawn from, without a table of the user's."""
    evidence: bool = False
    """Whether samples name the page of their topic in a fictional web."""


def make_questions(plan: Plan) -> tuple[TimedQuestion, ...]:
    """The samples; the same plan gives the same. May give fewer where a table is poor."""
    if unknown := set(plan.kinds) - set(KINDS):
        raise ConfigError(f"unknown relation '{min(unknown)}'; known: {', '.join(KINDS)}")
    rng = Random(f"timed/{plan.prefix}/{plan.seed}")
    cells = [f"{level}-{many}" for level, _ in plan.draws for many in plan.several]
    wanted = _shares(cells, plan)
    found: list[TimedQuestion] = []
    have: Counter[str] = Counter()
    seen: set[tuple[str, str, str]] = set()
    stories = _stories(plan, rng)
    other = next(stories, None)
    still = _open(plan, wanted, have)
    for _ in range(TRIES * sum(wanted.values())):
        story = next(stories, None)
        if story is None or other is None or len(found) == sum(wanted.values()):
            break
        for _ in range(DRAWS):
            level, draw = rng.choice(still)
            drawn = draw(story, rng)
            cell = f"{level}-{_several(drawn)}"
            asked = (story.topic, story.kind, drawn.when)
            fits = have[cell] < wanted.get(cell, 0) and drawn.boundary != "several-spells"
            if fits and asked not in seen:
                seen.add(asked)
                have[cell] += 1
                still = _open(plan, wanted, have)
                found.append(_sample(plan, len(found) + 1, level, cell, story, other, drawn, rng))
                break
        other = story
    return tuple(found)


def _shares(cells: list[str], plan: Plan) -> dict[str, int]:
    if plan.per_cell is not None:
        return dict.fromkeys(cells, plan.per_cell)
    share, rest = divmod(plan.count, len(cells))
    return {cell: share + (n < rest) for n, cell in enumerate(cells)}


def _open(plan: Plan, wanted: dict[str, int], have: Counter[str]) -> list[tuple[Level, Draw]]:
    """The levels of which some cell is not full."""
    return [
        (level, draw)
        for level, draw in plan.draws
        if any(have[c] < wanted[c] for c in (f"{level}-{many}" for many in plan.several))
    ]


def _several(drawn: Drawn) -> str:
    count = len(drawn.solved.answers)
    return "none" if count == 0 else "single" if count == 1 else "multi"


def _stories(plan: Plan, rng: Random) -> Iterator[Story]:
    if plan.intervals is not None:
        groups = stories_of(read_intervals(plan.intervals), rng)
    elif plan.real:
        groups = stories_of(presidents(shipped_tables()), rng)
    else:
        groups = make_histories(plan.seed)
    for rows in groups:
        years = frozenset(n for n in range(len(rows)) if plan.years and rng.random() < plan.years)
        story = story_of(rows, years)
        if not plan.kinds or story.kind in plan.kinds:
            yield story


def _sample(
    plan: Plan,
    number: int,
    level: Level,
    cell: str,
    story: Story,
    other: Story,
    drawn: Drawn,
    rng: Random,
) -> TimedQuestion:
    facts = [*story.facts, *_distractors(story, other, plan.distractors)]
    rng.shuffle(facts)
    answers = drawn.solved.answers
    wrong = dict.fromkeys(f.value for f in story.facts if f.value not in answers)
    wrong.pop(drawn.reference, None)
    ask = KINDS[story.kind].ask
    return TimedQuestion(
        id=f"{plan.prefix}-{plan.seed}-{number:05d}",
        task=plan.task,
        gold=answers,
        evidence=(article_url(story.topic),) if plan.evidence else (),
        level=level,
        cell=cell,
        question=ask.format(t=story.topic, when=drawn.when),
        kind=story.kind,
        topic=story.topic,
        relation=drawn.query.relation,
        reference=drawn.reference,
        boundary=drawn.boundary,
        facts=tuple(facts),
        negatives=tuple(wrong),
    )


def _distractors(story: Story, other: Story, count: int) -> list[Fact]:
    """Facts of another topic, never of one that could be taken for the same."""
    if other.topic == story.topic:
        return []
    return list(other.facts[:count])
