"""The clock: a day that is today in a condition's world, as web~on-1995-06-01 has it.

`plan` asks each question as it is on each day, `answers` scores which day an answer follows, and
`tables` shows it. The engine knows a condition's day, and hands it to web and tools; that a day can
be chosen is known here alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from agent_env.sdk.commands import DISTURBANCES, Opt
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Feature, Modifier, tools_of
from agent_env.sdk.records import Condition, Reach
from agent_env.temporal.days import iso_day

if TYPE_CHECKING:
    from agent_env.sdk.family import Task
    from agent_env.sdk.records import Episode, Sample, Score
    from agent_env.sdk.run import Draft

CLOCK_YEARS = range(1678, 2262)
"""What a clock of nanoseconds in 64 bits can show whole."""


@dataclass(frozen=True, slots=True)
class ClockOptions:
    """The day, and whether the prompt says it."""

    today: Annotated[
        tuple[str, ...],
        Opt(
            "The date in the model's world: for the sealed web, for calendars, for the clock of "
            "python, and for questions about the present. Repeatable: each condition once for "
            "each day, as web~on-1995-06-01. Default: no such day, the real clock.",
            DISTURBANCES,
            metavar="YYYY-MM-DD",
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = ()
    say_today: Annotated[
        bool,
        Opt(
            "Begin each question with the day of --today.",
            DISTURBANCES,
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = False


def _day(text: str) -> str:
    day = text.removeprefix("on-")
    if (parsed := iso_day(day)) is None or parsed.year not in CLOCK_YEARS:
        raise ConfigError(
            f"'{day}' is not a day that a clock can show; write YYYY-MM-DD (Gregorian, without a "
            f"time or zone), from {CLOCK_YEARS[0]} to {CLOCK_YEARS[-1]}"
        )
    return day


def _why_no_day(condition: Condition, day: str) -> str | None:
    if (world := condition.disturbance) is not None and not world.faults:
        option = "--attack" if world.attack else "--web-ablation"
        return f"the pages and answers that it changes are those of no day; leave {option} out"
    tables = (each.name for each in tools_of([condition]) if each.needs_table)
    if (table := next(tables, None)) is not None:
        return f"{table} shows whole tables, with what came later; leave it out, or the day"
    return None


DAY = Modifier(
    "today", ("today",), ("on-YYYY-MM-DD",), _day, lambda day: f"on-{day}", _why_no_day,
    compared_with="first",
)  # fmt: skip


def plan(draft: Draft, options: ClockOptions) -> Draft:
    """The samples as asked on these days, conditions that say their day where that is wished."""
    from agent_env.features.clock.plan import on_days

    return on_days(draft, options)


def score(task: Task, sample: Sample, episode: Episode, score: Score) -> Score:
    """The score with the metrics of `answers`, where the condition has a day."""
    if (text := DAY.text_in(episode.condition)) is None or not score.metrics:
        return score
    from agent_env.features.clock.answers import clock_metrics

    return clock_metrics(task, sample, episode, score, DAY.parse(text))


FEATURE = Feature(
    "clock",
    options=ClockOptions,
    modifiers=(DAY,),
    plan=plan,
    score=score,
    tables=("agent_env.features.clock.tables:clock",),
    after=("evidence", "agents"),
)
