"""Reader of TempReason's published JSON lines: question, date, text_answers, id, fact_context, …"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_env.errors import DatasetError
from agent_env.families.timed_facts.published import (
    first_object,
    objects,
    question_of,
    safe_id,
    texts,
)
from agent_env.families.timed_facts.questions import add_months, read_query
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.tasks.family import SampleSet

NAME = "tempreason"


def read_foreign(file: Path) -> SampleSet | None:
    """The questions of a published file; None for another file."""
    first = first_object(file)
    if first is None or "text_answers" not in first:
        return None
    return SampleSet(tuple(_sample(file, number, item) for number, item in objects(file)))


def _sample(file: Path, number: int, item: dict[str, Any]) -> TimedQuestion:
    question = item.get("question")
    if not isinstance(question, str) or not question.strip():
        raise DatasetError(file, number, "question is missing")
    answers = item.get("text_answers")
    answers = answers.get("text") if isinstance(answers, dict) else answers
    gold = texts(file, number, "text_answers.text", answers)
    return question_of(
        task=NAME,
        sample_id=safe_id("tempreason", item.get("id"), number),
        level=_level(str(item.get("id", "")), question),
        question=question.strip(),
        gold=gold,
        lines=_text(item, "fact_context"),
        text=_text(item, "context"),
        negatives=texts(file, number, "neg_answers", item.get("neg_answers") or []),
    )


def _text(item: dict[str, Any], name: str) -> str | None:
    value = item.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _level(sample_id: str, question: str) -> Level:
    """The level in the id, else by the question's reference."""
    head = sample_id[:2].upper()
    if head in ("L1", "L2", "L3"):
        return head  # type: ignore[return-value]  # one of the three
    if add_months(question) is not None:
        return "L1"
    query = read_query(question)
    return "L3" if query is not None and isinstance(query.reference, str) else "L2"
