"""The two families: TempReason (time and time, time and event, event and event) and TimeQA (easy
and hard questions, some without an answer); own questions from a seed, and published files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Literal

from pydantic import Field

from agent_env.families.timed_facts.generating import (
    Draw,
    SetSpec,
    TimedOptions,
    changes,
    draw_hard,
    draw_in,
    draw_neighbour,
    draw_own_span,
    make_questions,
    make_sums,
    on_day,
    question_set,
)
from agent_env.families.timed_facts.published import read_foreign
from agent_env.families.timed_facts.sample import Level, TimedQuestion, timed
from agent_env.families.timed_facts.score import SQUAD
from agent_env.families.timed_facts.task import make_task
from agent_env.features.extraction.solver import Ties
from agent_env.features.facts.tables.tables import FactTables
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import CannotShift, Family, SampleSet, Task
from agent_env.sdk.records import MaterialTable, Sample
from agent_env.sdk.web import ShiftedWorld


class TempReasonOptions(TimedOptions):
    """What `--option KEY=VALUE` may say."""

    levels: tuple[Literal["L1", "L2", "L3"], ...] = ("L2", "L3")
    """L1 (time and time), L2 (time and event), L3 (event and event)."""
    ties: Ties = "all"
    """Answer of L3 where several facts begin in the same month: all of them, the nearest (last to
    end before, first to end after), or the first-ending or last-ending. `questions
    tempreason inspect` says which one agrees with a file."""


def _make_tempreason(count: int, seed: int, options: TempReasonOptions) -> SampleSet:
    if options.setting == "open-web" and options.intervals is None:
        raise ConfigError(
            "setting=open-web needs the facts of its web: --option intervals=FILE, as `agent-env "
            "web build --world fictional` writes it, and --pages with the web itself"
        )
    of_level: dict[str, Draw] = {"L2": draw_in, "L3": partial(draw_neighbour, ties=options.ties)}
    draws = tuple((level, of_level[level]) for level in options.levels if level != "L1")
    sums = 0
    if "L1" in options.levels:
        sums = options.per_cell or count // (len(draws) * len(options.answer_counts) + 1)
    questions = make_sums("tempreason", "tr", sums, seed)
    if draws:
        rest = count - sums
        spec = SetSpec("tempreason", "tr", draws, options.answer_counts, rest, seed, options)
        questions += make_questions(spec)
    return question_set(questions, options)


def _tempreason(
    prompt: str, options: TempReasonOptions, tables: Mapping[str, MaterialTable]
) -> Task:
    conditions = ("web",) if options.setting == "open-web" else ("base",)

    @cache
    def world(intervals: Path) -> FactTables:
        from agent_env.families.timed_facts.shift import world_of

        return world_of(intervals)

    def shift(sample: Sample, rng: Random, text_at: Callable[[str], str | None]) -> ShiftedWorld:
        from agent_env.families.timed_facts.shift import shifted_world

        if (setting := options.setting_of(sample)) != "open-web":
            raise CannotShift(f"the setting {setting} gives their facts in the prompt")
        if options.intervals is None:
            raise CannotShift("the table of their web is not given (--option intervals=FILE)")
        return shifted_world(timed(sample), world(options.intervals), options.ties, rng, text_at)

    task = make_task("tempreason", prompt, options, conditions, options.ties, shift)
    return replace(task, on_day=partial(on_day, options), changes=changes)


class TimeQAOptions(TimedOptions):
    """What `--option KEY=VALUE` may say."""

    usual = "open-book"
    setting: Literal["open-book", "reasonqa", "closed-book"] | None = None
    """open-book (running text), reasonqa (facts as lines, as in the paper) or closed-book. None for
    what the questions were made for, which is open-book unless said."""
    levels: tuple[Literal["easy", "hard"], ...] = ("easy", "hard")
    """Of difficulty; each in equal numbers."""
    answers: tuple[Literal["single", "multi", "none"], ...] = ("single", "multi", "none")
    """How many answers questions have; easy ones always have some."""
    years: float = Field(default=0.3, ge=0, le=1)
    """Part of the facts that are told by years alone."""


def _make_timeqa(count: int, seed: int, options: TimeQAOptions) -> SampleSet:
    of_level: dict[Level, Draw] = {"easy": draw_own_span, "hard": draw_hard}
    questions: list[TimedQuestion] = []
    cells = [(level, n) for level in options.levels for n in options.answer_counts]
    cells = [cell for cell in cells if cell != ("easy", "none")]
    share, rest = divmod(count, len(cells)) if cells else (0, 0)
    for place, (level, many) in enumerate(cells):
        spec = SetSpec(
            "timeqa", f"tq-{level}-{many}", ((level, of_level[level]),), (many,),
            share + (place < rest), seed, options, options.years,
        )  # fmt: skip
        questions += make_questions(spec)
    return question_set(tuple(questions), options)


def _timeqa(prompt: str, options: TimeQAOptions, tables: Mapping[str, MaterialTable]) -> Task:
    task = make_task("timeqa", prompt, options)
    return replace(
        task, authors_scorer=lambda: SQUAD, on_day=partial(on_day, options), changes=changes
    )


def _made_for(sample: Sample) -> dict[str, str | None]:
    own = timed(sample)
    return {"setting": own.setting} | ({} if own.ties is None else {"ties": own.ties})


REFERENCE = "agent_env.families.timed_facts.reference:next_step"
TEMPREASON = Family(
    "tempreason",
    _tempreason,
    _make_tempreason,
    TempReasonOptions,
    partial(read_foreign, "tempreason"),
    reference=REFERENCE,
    levels=Path(__file__).with_name("tempreason.toml"),
    made_for=_made_for,
)
TIMEQA = Family(
    "timeqa",
    _timeqa,
    _make_timeqa,
    TimeQAOptions,
    partial(read_foreign, "timeqa"),
    reference=REFERENCE,
    levels=Path(__file__).with_name("timeqa.toml"),
    made_for=_made_for,
)
