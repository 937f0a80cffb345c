"""TempReason: time and time, time and event, event and event; own questions from a seed, and
published files.

Of the published JSON lines, TempReason's own have question, text_answers, fact_context, context,
neg_answers and an id that begins with the level; TimeBench's have question, answer, context and,
but for L1, fact_context.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import Field

from agent_env.extensions.extraction.solver import Ties
from agent_env.extensions.extraction.wording import read_query, read_shift
from agent_env.extensions.facts.tables.tables import FactTables
from agent_env.families.timed_facts.generating import (
    Draw,
    SetSpec,
    draw_in,
    draw_neighbour,
    make_questions,
)
from agent_env.families.timed_facts.published import (
    gold_answers,
    is_of,
    objects,
    optional_text,
    question_of,
    question_text,
    safe_id,
    texts,
)
from agent_env.families.timed_facts.sample import Level, Setting, TimedQuestion, timed
from agent_env.families.timed_facts.task import make_task
from agent_env.sdk.errors import ConfigError, DatasetError
from agent_env.sdk.family import CannotShift, Family, Materials, SampleSet, Task, TextAt
from agent_env.sdk.records import Record, Sample
from agent_env.sdk.web import ShiftedWorld
from agent_env.temporal.months import month, write_month

NAME = "tempreason"


def read_foreign(file: Path, _options: object = None) -> SampleSet | None:
    """The questions of a published file; None for a file of our samples."""
    if not is_of(file, "tempreason"):
        return None
    return SampleSet(tuple(_sample(file, number, item) for number, item in objects(file)))


def _sample(file: Path, number: int, item: dict[str, Any]) -> TimedQuestion:
    question = question_text(file, number, item)
    name = "text_answers" if "text_answers" in item else "answer"
    if name not in item:
        raise DatasetError(file, number, "text_answers and answer are missing")
    answers = item[name]
    if isinstance(answers, dict):
        name, answers = f"{name}.text", answers.get("text")
    level = _level(str(item.get("id", "")), question)
    lines, text = optional_text(item, "fact_context"), optional_text(item, "context")
    if level != "L1" and lines is None and text is None:
        raise DatasetError(file, number, "fact_context and context are missing")
    return question_of(
        task=NAME,
        sample_id=safe_id(NAME, item.get("id"), number),
        level=level,
        question=question,
        gold=gold_answers(file, number, name, answers),
        lines=lines,
        text=text,
        negatives=texts(file, number, "neg_answers", item.get("neg_answers") or []),
    )


def _level(sample_id: str, question: str) -> Level:
    """The level in the id, else by the question's reference."""
    head = sample_id[:2].upper()
    if head in ("L1", "L2", "L3"):
        return head  # type: ignore[return-value]  # one of the three
    if read_shift(question) is not None:
        return "L1"
    query = read_query(question)
    return "L3" if query is not None and isinstance(query.reference, str) else "L2"


def make_sums(task: str, prefix: str, count: int, seed: int) -> tuple[TimedQuestion, ...]:
    """`count` questions; about two thirds with months, the others with years only."""
    rng = Random(f"timed/{prefix}/L1/{seed}")
    return tuple(_sum(task, prefix, seed, number, rng) for number in range(1, count + 1))


def _sum(task: str, prefix: str, seed: int, number: int, rng: Random) -> TimedQuestion:
    years, word = rng.randint(1, 12), rng.choice(("before", "after"))
    sign = 1 if word == "after" else -1
    base = month(rng.randint(1850, 2020), rng.randint(1, 12))
    if rng.random() < 1 / 3:
        question = f"What is the year {_many(years, 'year')} {word} {base // 12}?"
        gold = str(base // 12 + sign * years)
    else:
        months = rng.randint(1, 11)
        length = f"{_many(years, 'year')} and {_many(months, 'month')}"
        question = f"What is the time {length} {word} {write_month(base)}?"
        gold = write_month(base + sign * (years * 12 + months))
    return TimedQuestion(
        id=f"{prefix}-{seed}-L1-{number:05d}",
        task=task,
        gold=(gold,),
        level="L1",
        cell="L1-single",
        question=question,
    )


def _many(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


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
