"""The record of one question on timed facts; both families, tempreason and timeqa, use it."""

from __future__ import annotations

from typing import Literal

from agent_env.errors import ConfigError
from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.questions import read_reference
from agent_env.families.timed_facts.solver import Query, Relation
from agent_env.families.timed_facts.wording import fact_line, prose
from agent_env.records.schema import Sample

Level = Literal["L1", "L2", "L3", "easy", "hard"]
Setting = Literal["closed-book", "reasonqa", "open-book", "open-web"]


class TimedQuestion(Sample):
    """A question, the facts that answer it, and what tempts to a wrong answer."""

    level: Level
    cell: str
    """Level and whether it has several answers: `L2-single`, `hard-multi`, `hard-none`."""
    question: str
    kind: str = ""
    """The relation, as in wording.KINDS; empty where it is not known."""
    topic: str = ""
    """Whom or what the question is about."""
    relation: str = ""
    """What is asked: in, between, throughout, before, after; empty where it is not known."""
    reference: str = ""
    """A value, YYYY-MM, or `YYYY-MM to YYYY-MM`."""
    boundary: str = ""
    """Where the time asked for lies: inside, first, last, just-before, just-after a fact, …"""
    facts: tuple[Fact, ...] = ()
    """In the order of the context, distractors included."""
    negatives: tuple[str, ...] = ()
    """Values of the same topic and kind that are wrong at the time asked for."""
    lines: str | None = None
    """The context as a published file has it, where the sample is from one."""
    text: str | None = None
    """The running text of a published file."""
    unread: tuple[str, ...] = ()
    """What of a published context could not be read as facts, with the reason."""

    @property
    def own_facts(self) -> tuple[Fact, ...]:
        """Those of the topic and kind asked for: what an extraction should find."""
        return tuple(f for f in self.facts if f.topic == self.topic and f.kind == self.kind)

    def query(self) -> Query | None:
        """What is asked of the facts, where it is known."""
        if not self.relation:
            return None
        relation: Relation = self.relation  # type: ignore[assignment]  # written by us
        values = tuple(fact.value for fact in self.own_facts)
        return Query(relation, read_reference(relation, self.reference, values))

    def context(self, setting: Setting) -> str:
        """What stands before the question; empty in a closed book and on the open web."""
        if setting == "reasonqa":
            return self.lines if self.lines is not None else "\n".join(map(fact_line, self.facts))
        if setting == "open-book":
            return self.text if self.text is not None else self._running_text()
        return ""

    def _running_text(self) -> str:
        """A sentence a fact, in forms that change, with sentences between that say nothing."""
        told = []
        for number, fact in enumerate(self.facts):
            told.append(prose(fact, number + len(self.question)))
            if number % 3 == 1:
                told.append("Of the years around it little more is on record.")
        return "\n".join(told)


def timed(sample: Sample) -> TimedQuestion:
    """The sample itself, where it is one of these."""
    if not isinstance(sample, TimedQuestion):
        raise ConfigError(f"sample '{sample.id}' is no question on timed facts")
    return sample
