"""TempReason as a family: options, own questions from a seed, published files."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Literal

from pydantic import Field

from agent_env.errors import ConfigError
from agent_env.families.tempreason.arithmetic import make_sums
from agent_env.families.tempreason.published import NAME, read_foreign
from agent_env.families.timed_facts.drawing import draw_in, draw_neighbour
from agent_env.families.timed_facts.generating import Draw, SetSpec, make_questions
from agent_env.families.timed_facts.sample import Setting, timed
from agent_env.families.timed_facts.solver import Ties
from agent_env.families.timed_facts.task import make_task
from agent_env.records.ablation import ShiftedWorld
from agent_env.records.schema import Record, Sample
from agent_env.tasks.family import Family, Materials, SampleSet
from agent_env.tasks.task import CannotShift, Task, TextAt
from agent_env.temporal.facts.tables import FactTables


class TempReasonOptions(Record):
    """What `--option KEY=VALUE` may say."""

    setting: Setting = "reasonqa"
    """closed-book, reasonqa (facts as lines), open-book (running text) or open-web."""
    levels: tuple[Literal["L1", "L2", "L3"], ...] = ("L2", "L3")
    """L1 (time and time), L2 (time and event), L3 (event and event)."""
    answers: tuple[Literal["single", "multi", "none"], ...] = ("single", "multi")
    """How many answers questions have; `none` asks for a time at which nothing held."""
    per_cell: int | None = Field(default=None, ge=1)
    """So many questions of each level and number of answers; None shares out the count."""
    kinds: tuple[str, ...] = ()
    """Relations, such as team,employer; empty for all eight."""
    distractors: int = Field(default=2, ge=0, le=7)
    """Facts on another topic in the context."""
    ties: Ties = "all"
    """Answer of L3 where several facts begin in the same month: all of them, the nearest (last to
    end before, first to end after), or the first-ending or last-ending. `tempreason inspect` says
    which one agrees with a file."""
    intervals: Path | None = None
    """A CSV of subject,relation,object,start,end to draw from, such as `web build` writes beside
    a fictional web, which open-web needs; None invents stories, except for closed-book, which
    then asks for US presidents: of invented people nobody can know anything."""


def _make(count: int, seed: int, options: TempReasonOptions) -> SampleSet:
    if options.setting == "open-web" and options.intervals is None:
        raise ConfigError(
            "setting=open-web needs the facts of its web: --option intervals=FILE, as `agent-env "
            "web build --world fictional` writes it, and --pages with the web itself"
        )
    of_level: dict[str, Draw] = {"L2": draw_in, "L3": partial(draw_neighbour, ties=options.ties)}
    draws = tuple((level, of_level[level]) for level in options.levels if level != "L1")
    sums = 0
    if "L1" in options.levels:
        sums = options.per_cell or count // (len(draws) * len(options.answers) + 1)
    questions = make_sums(NAME, "tr", sums, seed)
    if draws:
        plan = SetSpec(
            task=NAME,
            prefix="tr",
            draws=draws,
            several=options.answers,
            count=count - sums,
            seed=seed,
            per_cell=options.per_cell,
            distractors=options.distractors,
            kinds=options.kinds,
            intervals=options.intervals,
            real=options.setting == "closed-book",
            evidence=options.setting == "open-web",
        )
        questions += make_questions(plan)
    return SampleSet(questions)


def _task(prompt: str, options: TempReasonOptions, tables: Materials) -> Task:
    conditions = ("web",) if options.setting == "open-web" else ("base",)

    @cache
    def world(intervals: Path) -> FactTables:
        from agent_env.families.timed_facts.shift import world_of

        return world_of(intervals)

    def shift(sample: Sample, rng: Random, text_at: TextAt) -> ShiftedWorld:
        from agent_env.families.timed_facts.shift import shifted_world

        if options.setting != "open-web":
            raise CannotShift(f"the setting {options.setting} gives their facts in the prompt")
        if options.intervals is None:
            raise CannotShift("the table of their web is not given (--option intervals=FILE)")
        return shifted_world(timed(sample), world(options.intervals), options.ties, rng, text_at)

    return make_task(NAME, prompt, options.setting, conditions, options.ties, shift)


FAMILY = Family(
    NAME,
    _task,
    _make,
    TempReasonOptions,
    read_foreign,
    reference="agent_env.families.timed_facts.reference:next_step",
    reproduction="agent_env.families.timed_facts.reproduction:PAPER",
)
