"""Reader of TimeQA's questions: its JSON lines, its annotated array, and the lines of TimeBench,
each also packed by gzip.

`targets == [""]`, or TimeBench's `answer == ["unanswerable"]`, means that the question has no
answer. The level is taken from the file's name (easy, hard), else from TimeBench's question_type
(explicit, implicit), else from the question: easy ones give a span.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.tasks.family import SampleSet

NAME = "timeqa"
_OWN_SPAN = re.compile(r"^(?>.*?\bfrom\b)(?>.*?\d{4})(?>.*?\b(?:to|until)\b).*?\d{4}", re.I | re.M)


def read_foreign(file: Path, _options: object = None) -> SampleSet | None:
    """The questions of a published file; None for a file of our samples."""
    if not is_of(file, "timeqa"):
        return None
    return SampleSet(tuple(_samples(file)))


def _samples(file: Path) -> Iterator[TimedQuestion]:
    count = 0
    for number, item in objects(file):
        if "questions" not in item:
            yield _plain(file, number, item)
            continue
        for sample in _annotated(file, number, item, count):
            count += 1
            yield sample


def _plain(file: Path, number: int, item: dict[str, Any]) -> TimedQuestion:
    question, context = question_text(file, number, item), item.get("context")
    if not isinstance(context, str):
        context = "\n".join(_paragraph(p) for p in item.get("paragraphs") or [])
    lines = optional_text(item, "fact_context")
    if not context.strip() and lines is None:
        raise DatasetError(file, number, "context, paragraphs and fact_context are missing")
    name = "answer" if "answer" in item else "targets"
    return question_of(
        task=NAME,
        sample_id=safe_id(NAME, item.get("idx"), number),
        level=_level(file, question, str(item.get("question_type", ""))),
        question=question,
        gold=gold_answers(file, number, name, item.get(name)),
        lines=lines,
        text=context or None,
    )


def _paragraph(item: object) -> str:
    if isinstance(item, dict):
        return str(item.get("text", item.get("context", "")))
    return str(item)


def _annotated(
    file: Path, number: int, item: dict[str, Any], before: int
) -> Iterator[TimedQuestion]:
    """The questions on one text; `before` counts those of earlier ones."""
    questions, paras = item.get("questions"), item.get("paras")
    if not isinstance(questions, list) or not isinstance(paras, list):
        raise DatasetError(file, number, "questions or paras is not a list")
    for count, pair in enumerate(questions, start=before + 1):
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise DatasetError(file, number, "a question is not a pair of a text and its answers")
        answers = pair[1] if isinstance(pair[1], list) else None
        if answers is None or not all(isinstance(answer, dict) for answer in answers):
            raise DatasetError(file, number, f"the answers to '{pair[0][:60]}' are no objects")
        yield question_of(
            task=NAME,
            sample_id=safe_id(NAME, item.get("index"), count),
            level=_level(file, pair[0]),
            question=pair[0].strip(),
            gold=texts(file, number, "answer", [str(a.get("answer", "")) for a in answers]),
            lines=None,
            text="\n".join(map(str, paras)),
        )


def _level(file: Path, question: str, question_type: str = "") -> Level:
    levels: tuple[Level, ...] = ("easy", "hard")
    for level in levels:
        if level in file.name.casefold():
            return level
    if question_type.endswith("_implicit"):
        return "hard"
    is_easy = question_type.endswith("_explicit") or _OWN_SPAN.search(question) is not None
    return "easy" if is_easy else "hard"
