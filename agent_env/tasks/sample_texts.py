"""A sample and its gold as people read them."""

from __future__ import annotations

from agent_env.records.schema import Sample


def sample_question(sample: Sample) -> str:
    """What a sample asks, for people: its question or constraints, else its family's fields."""
    own = sample.model_dump(exclude=set(Sample.model_fields))
    if isinstance(question := own.get("question"), str):
        return question
    if isinstance(constraints := own.get("constraints"), list | tuple):
        return " ".join(map(str, constraints))
    return ", ".join(f"{name} {value}" for name, value in own.items() if value)


def gold_text(sample: Sample) -> str:
    """The gold for people, with dates if the sample has rows of gold that are the answer."""
    rows = [row for row in getattr(sample, "golds", ()) if row.answer in sample.gold]
    if rows:
        return "; ".join(f"{r.answer} ({r.start} to {r.end or 'present'})" for r in rows)
    return "; ".join(sample.gold) or getattr(sample, "without_gold", "(no answer)")
