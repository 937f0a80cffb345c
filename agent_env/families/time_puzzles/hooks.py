"""Analysis hooks of Time Puzzles: breakdowns, clusters, faults of an answer."""

from __future__ import annotations

from agent_env.families.time_puzzles.facts import CalendarMonth, Fact
from agent_env.families.time_puzzles.faults import PuzzleFaults
from agent_env.families.time_puzzles.proved_answer import ProvedAnswer
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.records.schema import Sample
from agent_env.tasks.task import AnalysisHooks

CALENDARS = {
    "chinese_zodiac": "chinese",
    "lunar_month": "chinese",
    "solar_term": "chinese",
    "japanese_era": "japanese",
    "church_day": "church year",
}


def groups(sample: Sample) -> dict[str, tuple[str, ...]]:
    """By solution count, number of facts, fact types, calendars, event level; by the measured
    quantities of its difficulty; by obscurity and world if any."""
    if not isinstance(sample, TimePuzzle):
        return {}
    calendars = {name for fact in sample.facts if (name := _calendar(fact)) is not None}
    breakdown = {
        "solutions": (str(sample.solution_count),),
        "facts": (str(sample.fact_count),),
        "fact type": tuple(sorted({fact.type for fact in sample.facts})),
        "calendar": tuple(sorted(calendars)) or ("gregorian only",),
        "event level": (sample.event_level,) if sample.event_level else (),
    }
    if sample.difficulty is not None:
        breakdown["lookups"] = (str(sample.difficulty.lookups),)
        breakdown["pages"] = (str(sample.difficulty.pages),)
        breakdown["hops"] = (str(sample.difficulty.hops),)
        breakdown["candidates"] = (_magnitude(sample.difficulty.candidates),)
    if sample.obscurity is not None:
        breakdown["obscurity"] = (f"{sample.obscurity:.2f}",)
    if world := getattr(sample, "world", None):
        breakdown["world"] = (str(world),)
    return breakdown


def _magnitude(number: int) -> str:
    """The power of ten that a number reaches, such as `100-999`."""
    low = 10 ** (len(str(number)) - 1)
    return f"{low}-{10 * low - 1}" if number else "0"


def cluster(sample: Sample) -> str:
    """The event."""
    return getattr(sample, "event", "")


def chance(sample: Sample) -> float | None:
    """Of a guess among the values of the event that the other facts allow."""
    checks = sample.checks if isinstance(sample, TimePuzzle) else None
    return None if checks is None else 1 / max(1, checks.event_values)


def fault_finder() -> PuzzleFaults:
    """A finder with the packaged fact tables."""
    from agent_env.temporal.facts.tables import shipped_tables

    return PuzzleFaults(shipped_tables())


def determined() -> ProvedAnswer:
    """The solver with the packaged fact tables."""
    from agent_env.temporal.facts.tables import shipped_tables

    return ProvedAnswer(shipped_tables())


def _calendar(fact: Fact) -> str | None:
    return fact.calendar if isinstance(fact, CalendarMonth) else CALENDARS.get(fact.type)


STATISTICS = (
    "agent_env.families.time_puzzles.gap_closed:STATISTIC",
    "agent_env.families.time_puzzles.paper_tables:TABLE_1",
    "agent_env.families.time_puzzles.paper_tables:TABLE_3",
    "agent_env.families.time_puzzles.paper_tables:FIGURE_4",
)
HOOKS = AnalysisHooks(groups, cluster, "event", fault_finder, determined, STATISTICS, chance)
