"""TimeQA as a family: options, own questions from a seed, published files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from agent_env.families.timed_facts.drawing import draw_hard, draw_own_span
from agent_env.families.timed_facts.generating import Draw, SetSpec, make_questions
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.families.timed_facts.task import make_task
from agent_env.families.timeqa.authors_scorer import SCORER
from agent_env.families.timeqa.published import NAME, read_foreign
from agent_env.records.schema import Record
from agent_env.tasks.family import Family, Materials, SampleSet
from agent_env.tasks.task import Task

DRAWS: dict[Level, Draw] = {"easy": draw_own_span, "hard": draw_hard}


class TimeQAOptions(Record):
    """What `--option KEY=VALUE` may say."""

    setting: Literal["open-book", "reasonqa", "closed-book"] = "open-book"
    """open-book (running text), reasonqa (facts as lines, as in the paper) or closed-book."""
    levels: tuple[Literal["easy", "hard"], ...] = ("easy", "hard")
    """Of difficulty; each in equal numbers."""
    answers: tuple[Literal["single", "multi", "none"], ...] = ("single", "multi", "none")
    """How many answers questions have; easy ones always have some."""
    per_cell: int | None = Field(default=None, ge=1)
    """So many questions of each level and number of answers; None shares out the count."""
    kinds: tuple[str, ...] = ()
    """Relations, such as team,employer; empty for all eight."""
    distractors: int = Field(default=2, ge=0, le=7)
    """Facts on another topic in the context."""
    years: float = Field(default=0.3, ge=0, le=1)
    """Part of the facts that are told by years alone."""
    intervals: Path | None = None
    """A CSV of subject,relation,object,start,end to draw from; None invents stories, except for
    closed-book, which then asks for US presidents."""


def _make(count: int, seed: int, options: TimeQAOptions) -> SampleSet:
    questions: list[TimedQuestion] = []
    cells = [(level, n) for level in options.levels for n in options.answers]
    cells = [cell for cell in cells if cell != ("easy", "none")]
    share, rest = divmod(count, len(cells)) if cells else (0, 0)
    for place, (level, many) in enumerate(cells):
        plan = SetSpec(
            task=NAME,
            prefix=f"tq-{level}-{many}",
            draws=((level, DRAWS[level]),),
            several=(many,),
            count=share + (place < rest),
            seed=seed,
            per_cell=options.per_cell,
            distractors=options.distractors,
            years=options.years,
            kinds=options.kinds,
            intervals=options.intervals,
            real=options.setting == "closed-book",
        )
        questions += make_questions(plan)
    return SampleSet(tuple(questions))


def _task(prompt: str, options: TimeQAOptions, tables: Materials) -> Task:
    return replace(make_task(NAME, prompt, options.setting), authors_scorer=SCORER)


FAMILY = Family(
    NAME,
    _task,
    _make,
    TimeQAOptions,
    read_foreign,
    reference="agent_env.families.timed_facts.reference:next_step",
)
