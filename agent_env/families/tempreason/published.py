"""Reader of TempReason's questions: its own JSON lines, and those of TimeBench.

Its own have question, text_answers, fact_context, context, neg_answers and an id that begins with
the level; TimeBench's have question, answer, context and, but for L1, fact_context.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_env.errors import DatasetError
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
from agent_env.families.timed_facts.questions import read_query, read_shift
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.tasks.family import SampleSet

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
