"""The record of one question on timed facts; both families, tempreason and timeqa, use it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_env.features.extraction.solver import Fact, Query, Relation, Shift, Ties
from agent_env.features.extraction.wording import fact_line, prose, read_reference, read_shift
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import Sample

Level = Literal["L1", "L2", "L3", "easy", "hard"]
Setting = Literal["closed-book", "reasonqa", "open-book", "open-web"]


class TimedQuestion(Sample):
    """A question, the facts that answer it, and wrong answers."""

    level: Level
    cell: str
    """Level and number of answers: `L2-single`, `hard-multi`, `hard-none`."""
    question: str
    kind: str = ""
    """The relation, as in wording.KINDS; empty where unknown."""
    topic: str = ""
    """The person or thing that the question is about."""
    relation: str = ""
    """The temporal relation: in, between, throughout, before, after; empty where unknown."""
    reference: str = ""
    """A value, YYYY-MM, or `YYYY-MM to YYYY-MM`."""
    boundary: str = ""
    """The position of the reference to a fact: inside, first, last, just-before, just-after, …"""
    facts: tuple[Fact, ...] = ()
    """In the order of the context, distractors included."""
    negatives: tuple[str, ...] = ()
    """Values of the same topic and kind that are wrong at the reference."""
    lines: str | None = None
    """The context of a published file."""
    text: str | None = None
    """The running text of a published file."""
    setting: Setting | None = Field(default=None, exclude_if=lambda own: own is None)
    """What the question was made for; None where it needs no facts, and for published sets."""
    ties: Ties | None = Field(default=None, exclude_if=lambda own: own is None)
    """Of L3, the tie-break of its gold; None for published sets."""
    unread: tuple[str, ...] = ()
    """Statements of a published context that could not be parsed, with the reason."""

    @property
    def own_facts(self) -> tuple[Fact, ...]:
        """The facts of the question's topic and kind: the gold of an extraction."""
        return tuple(f for f in self.facts if f.topic == self.topic and f.kind == self.kind)

    def query(self) -> Query | Shift | None:
        """The query on the facts, where known; of a question of L1 the shift of its time."""
        if self.level == "L1":
            return read_shift(self.question)
        if not self.relation:
            return None
        relation: Relation = self.relation  # type: ignore[assignment]  # written by us
        values = tuple(fact.value for fact in self.own_facts)
        return Query(relation, read_reference(relation, self.reference, values))

    def context(self, setting: Setting) -> str:
        """The context in a setting; empty for closed-book and open-web."""
        if setting == "reasonqa":
            return self.lines if self.lines is not None else "\n".join(map(fact_line, self.facts))
        if setting == "open-book":
            return self.text if self.text is not None else self._running_text()
        return ""

    def _running_text(self) -> str:
        """One sentence for each fact, in changing forms."""
        return "\n".join(prose(f, n + len(self.question)) for n, f in enumerate(self.facts))


def timed(sample: Sample) -> TimedQuestion:
    """The sample, typed; ConfigError for a sample of another family."""
    if not isinstance(sample, TimedQuestion):
        raise ConfigError(f"sample '{sample.id}' is not a question on timed facts")
    return sample
