"""Reader of TimeQA's published files: JSON lines of questions, and the annotated array.

`targets == [""]` means that the question has no answer. The level is taken from the file's name
(easy, hard), else from the question: easy ones give a span.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.tasks.family import SampleSet

NAME = "timeqa"
_OWN_SPAN = re.compile(r"^(?>.*?\bfrom\b)(?>.*?\d{4})(?>.*?\b(?:to|until)\b).*?\d{4}", re.I | re.M)


def read_foreign(file: Path) -> SampleSet | None:
    """The questions of a published file; None for another file."""
    first = first_object(file)
    if first is None:
        return None
    if {"question", "targets"} <= set(first):
        return SampleSet(tuple(_plain(file, number, item) for number, item in objects(file)))
    if {"questions", "paras"} <= set(first):
        return SampleSet(tuple(_annotated(file)))
    return None


def _plain(file: Path, number: int, item: dict[str, Any]) -> TimedQuestion:
    question, context = item.get("question"), item.get("context")
    if not isinstance(question, str) or not question.strip():
        raise DatasetError(file, number, "question is missing")
    if not isinstance(context, str):
        context = "\n".join(_paragraph(p) for p in item.get("paragraphs") or [])
    lines = item.get("fact_context")
    return question_of(
        task=NAME,
        sample_id=safe_id(NAME, item.get("idx"), number),
        level=_level(file, question),
        question=question.strip(),
        gold=texts(file, number, "targets", item.get("targets")),
        lines=lines if isinstance(lines, str) else None,
        text=context,
    )


def _paragraph(item: object) -> str:
    if isinstance(item, dict):
        return str(item.get("text", item.get("context", "")))
    return str(item)


def _annotated(file: Path) -> Iterator[TimedQuestion]:
    count = 0
    for number, item in objects(file):
        questions, paras = item.get("questions"), item.get("paras")
        if not isinstance(questions, list) or not isinstance(paras, list):
            raise DatasetError(file, number, "questions or paras is not a list")
        for pair in questions:
            if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
                raise DatasetError(
                    file, number, "a question is not a pair of a text and its answers"
                )
            count += 1
            answers = [str(a.get("answer", "")) for a in pair[1] if isinstance(a, dict)]
            yield question_of(
                task=NAME,
                sample_id=safe_id(NAME, item.get("index"), count),
                level=_level(file, pair[0]),
                question=pair[0].strip(),
                gold=texts(file, number, "answer", answers),
                lines=None,
                text="\n".join(map(str, paras)),
            )


def _level(file: Path, question: str) -> Level:
    levels: tuple[Level, ...] = ("easy", "hard")
    for level in levels:
        if level in file.name.casefold():
            return level
    return "easy" if _OWN_SPAN.search(question) else "hard"
