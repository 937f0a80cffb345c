"""Samples whose event is later than the model's knowledge cutoff."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agent_env.records.model_facts import ModelFacts
from agent_env.records.schema import Sample


@dataclass(frozen=True, slots=True)
class AfterCutoff:
    """The flagged samples of a run."""

    knowledge_cutoff: str
    samples: tuple[str, ...]
    """Ids of those whose event is later."""
    asked: int
    """All samples."""
    undated: int
    """Those whose event has no date that we know, or that ask for no event."""

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        return {
            "knowledge_cutoff": self.knowledge_cutoff,
            "count": len(self.samples),
            "samples": list(self.samples),
            "asked": self.asked,
            "undated": self.undated,
        }


def after_cutoff(
    samples: Iterable[Sample], event_date: Callable[[Sample], str | None], facts: ModelFacts | None
) -> AfterCutoff | None:
    """Which samples ask for an event after the model's knowledge cutoff; None where no cutoff is
    known. Dates are YYYY, YYYY-MM or YYYY-MM-DD; an event in the same year or month as a cutoff
    that names no more is not later."""
    if facts is None or facts.knowledge_cutoff is None:
        return None
    last = facts.knowledge_cutoff + "-99-99"[: 3 * (2 - facts.knowledge_cutoff.count("-"))]
    dates = {sample.id: event_date(sample) for sample in samples}
    return AfterCutoff(
        knowledge_cutoff=facts.knowledge_cutoff,
        samples=tuple(name for name, date in dates.items() if date is not None and date > last),
        asked=len(dates),
        undated=sum(date is None for date in dates.values()),
    )
