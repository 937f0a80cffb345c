"""The two questions that the paper on extraction and code prints as cases (Tables 5 and 6)."""

from __future__ import annotations

from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.published import question_of
from agent_env.families.timed_facts.sample import Level
from agent_env.families.timed_facts.wording import KINDS, fact_line
from agent_env.tasks.family import SampleSet

Spell = tuple[str, str, str]
"""A value with its first and its last month."""
TOL: tuple[Spell, ...] = (
    ("Vrije Universiteit Amsterdam", "1992-01", "1992-01"),
    ("Economic and Social Research Institute", "2006-01", "2012-01"),
    ("University of Hamburg", "2000-01", "2006-01"),
    ("University of Sussex", "2012-01", "2022-12"),
)
ABRAHAMS: tuple[Spell, ...] = (
    ("Wivenhoe Town F.C.", "2004-01", "2005-01"),
    ("Heybridge Swifts F.C.", "2001-01", "2004-01"),
    ("Canvey Island F.C.", "2000-01", "2001-01"),
    ("Colchester United F.C.", "1996-01", "1999-01"),
    ("Chesham United F.C.", "2001-01", "2001-01"),
)


def table_5() -> SampleSet:
    """An employer before another."""
    when = "before Economic and Social Research Institute"
    return _case("L3", "employer", "Richard Tol", when, TOL, ("University of Hamburg",))


def table_6() -> SampleSet:
    """The teams in a month with three answers."""
    gold = ("Canvey Island F.C.", "Chesham United F.C.", "Heybridge Swifts F.C.")
    return _case("L2", "team", "Paul Abrahams", "in Jan, 2001", ABRAHAMS, gold)


def _case(
    level: Level, kind: str, topic: str, when: str, spells: tuple[Spell, ...], gold: tuple[str, ...]
) -> SampleSet:
    facts = (
        Fact(topic=topic, kind=kind, value=value, start=start, end=end)
        for value, start, end in spells
    )
    sample = question_of(
        task="tempreason",
        sample_id=f"tempreason-{topic.replace(' ', '-')}",
        level=level,
        question=KINDS[kind].ask.format(t=topic, when=when),
        gold=gold,
        lines="\n".join(map(fact_line, facts)),
        text=None,
        negatives=tuple(value for value, _, _ in spells),
    )
    return SampleSet((sample,))
