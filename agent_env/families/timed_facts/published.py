"""Reads the published files of TempReason and TimeQA, each a JSON array or JSON lines, also packed
by gzip.

TempReason's own lines have question, text_answers, fact_context, context, neg_answers and an id
that begins with the level; TimeBench's have question, answer, context and, but for L1,
fact_context. TimeQA's are lines, an annotated array, and the lines of TimeBench: `targets == [""]`,
or TimeBench's `answer == ["unanswerable"]`, means that the question has no answer. Its level is
taken from the file's name (easy, hard), else from TimeBench's question_type (explicit, implicit),
else from the question: easy ones give a span.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.features.answers.names import normalise
from agent_env.features.extraction.extraction import extract, reference_text
from agent_env.features.extraction.solver import Shift, Ties, solve
from agent_env.features.extraction.wording import (
    date_form,
    kind_of,
    read_facts,
    read_query,
    read_shift,
)
from agent_env.features.facts.tables.table_files import json_rows
from agent_env.sdk.errors import DatasetError
from agent_env.sdk.family import SampleSet

LARGEST = 1 << 30
"""Bytes of an unpacked file."""


Owner = Literal["tempreason", "timeqa"]
_OWN_SPAN = re.compile(r"^(?>.*?\bfrom\b)(?>.*?\d{4})(?>.*?\b(?:to|until)\b).*?\d{4}", re.I | re.M)


def read_foreign(family: Owner, file: Path, _options: object = None) -> SampleSet | None:
    """The questions of a published file of the family; None for a file of our samples. Raises
    DatasetError for a file of the other family or of another paper."""
    owner = owner_of(file)
    if owner is None:
        return None
    if owner != family:
        raise DatasetError(file, None, f"is a file of {owner}; run that task")
    rows = json_rows(file, _text(file))
    if family == "tempreason":
        return SampleSet(tuple(_tempreason(file, number, item) for number, item in rows))
    samples: list[TimedQuestion] = []
    for number, item in rows:
        if "questions" in item:
            samples += _annotated(file, number, item, len(samples))
        else:
            samples.append(_timeqa(file, number, item))
    return SampleSet(tuple(samples))


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            with gzip.open(file) as packed:
                data = packed.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise DatasetError(file, None, f"has more than {LARGEST:,} bytes")
        return data.decode("utf-8-sig")
    except EOFError:
        reason = "breaks off: the gzip file is not whole; fetch it again"
        raise DatasetError(file, None, reason) from None
    except (OSError, UnicodeDecodeError, zlib.error) as exc:
        raise DatasetError(file, None, f"cannot be read: {exc}") from exc


def owner_of(file: Path) -> Owner | None:
    """The family in one of whose published formats the file is; None for a file of our samples.
    Raises DatasetError, with the fields of the first record, for any other JSON."""
    text = _text(file)
    try:
        number, first = next(json_rows(file, text), (1, None))
    except DatasetError:
        if not text.lstrip().startswith("["):
            return None  # the reader of our samples says what is wrong
        raise
    if first is None or "task" in first:
        return None
    fields = set(first)
    if {"questions", "paras"} <= fields or {"question", "targets"} <= fields:
        return "timeqa"
    if {"question", "answer"} <= fields and fields & {"question_type", "idx"}:
        return "timeqa"
    if "question" in fields and fields & {"text_answers", "answer"}:
        return "tempreason"
    raise DatasetError(
        file,
        number,
        f"is not a question of TempReason or TimeQA: it has {', '.join(first) or 'no field'}; "
        "wanted question with text_answers, targets or answer, or questions with paras",
    )


def _tempreason(file: Path, number: int, item: Mapping[str, Any]) -> TimedQuestion:
    question = _question_text(file, number, item)
    name = "text_answers" if "text_answers" in item else "answer"
    if name not in item:
        raise DatasetError(file, number, "text_answers and answer are missing")
    answers = item[name]
    if isinstance(answers, dict):
        name, answers = f"{name}.text", answers.get("text")
    level = _tempreason_level(str(item.get("id", "")), question)
    lines, text = _optional_text(item, "fact_context"), _optional_text(item, "context")
    if level != "L1" and lines is None and text is None:
        raise DatasetError(file, number, "fact_context and context are missing")
    return question_of(
        task="tempreason",
        sample_id=_safe_id("tempreason", item.get("id"), number),
        level=level,
        question=question,
        gold=_gold_answers(file, number, name, answers),
        lines=lines,
        text=text,
        negatives=_texts(file, number, "neg_answers", item.get("neg_answers") or []),
    )


def _tempreason_level(sample_id: str, question: str) -> Level:
    """The level in the id, else by the question's reference."""
    head = sample_id[:2].upper()
    if head in ("L1", "L2", "L3"):
        return head  # type: ignore[return-value]  # one of the three
    if read_shift(question) is not None:
        return "L1"
    query = read_query(question)
    return "L3" if query is not None and isinstance(query.reference, str) else "L2"


def _timeqa(file: Path, number: int, item: Mapping[str, Any]) -> TimedQuestion:
    question, context = _question_text(file, number, item), item.get("context")
    if not isinstance(context, str):
        paragraphs = item.get("paragraphs") or []
        context = "\n".join(
            str(p.get("text", p.get("context", "")) if isinstance(p, dict) else p)
            for p in paragraphs
        )
    lines = _optional_text(item, "fact_context")
    if not context.strip() and lines is None:
        raise DatasetError(file, number, "context, paragraphs and fact_context are missing")
    name = "answer" if "answer" in item else "targets"
    return question_of(
        task="timeqa",
        sample_id=_safe_id("timeqa", item.get("idx"), number),
        level=_timeqa_level(file, question, str(item.get("question_type", ""))),
        question=question,
        gold=_gold_answers(file, number, name, item.get(name)),
        lines=lines,
        text=context or None,
    )


def _annotated(
    file: Path, number: int, item: Mapping[str, Any], before: int
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
            task="timeqa",
            sample_id=_safe_id("timeqa", item.get("index"), count),
            level=_timeqa_level(file, pair[0]),
            question=pair[0].strip(),
            gold=_texts(file, number, "answer", [str(a.get("answer", "")) for a in answers]),
            lines=None,
            text="\n".join(map(str, paras)),
        )


def _timeqa_level(file: Path, question: str, question_type: str = "") -> Level:
    levels: tuple[Level, ...] = ("easy", "hard")
    for level in levels:
        if level in file.name.casefold():
            return level
    if question_type.endswith("_implicit"):
        return "hard"
    is_easy = question_type.endswith("_explicit") or _OWN_SPAN.search(question) is not None
    return "easy" if is_easy else "hard"


def _question_text(file: Path, number: int, item: Mapping[str, Any]) -> str:
    question = item.get("question")
    if not isinstance(question, str) or not question.strip():
        raise DatasetError(file, number, "question is missing")
    return question.strip()


def _gold_answers(file: Path, number: int, name: str, value: object) -> tuple[str, ...]:
    """The answers of a record; none where its only answer is `unanswerable`."""
    gold = _texts(file, number, name, value)
    return () if [text.casefold() for text in gold] == ["unanswerable"] else gold


def _optional_text(item: Mapping[str, Any], name: str) -> str | None:
    value = item.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _safe_id(prefix: str, published_id: object, number: int) -> str:
    """An id of letters, digits, dots, dashes, unique by the item's number."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", str(published_id or "")).strip("-")[:80]
    return f"{prefix}-{number:06d}" + (f"-{plain}" if plain else "")


def _texts(file: Path, number: int, name: str, value: object) -> tuple[str, ...]:
    """The non-empty texts of a list, each once. Raises DatasetError for anything else."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DatasetError(file, number, f"{name} is not a list of texts")
    return tuple(dict.fromkeys(item.strip() for item in value if item.strip()))


def question_of(
    *,
    task: str,
    sample_id: str,
    level: Level,
    question: str,
    gold: tuple[str, ...],
    lines: str | None,
    text: str | None,
    negatives: tuple[str, ...] = (),
) -> TimedQuestion:
    """A published question as a sample, with its facts and query as far as they can be parsed."""
    parsed_facts = read_facts(lines) if lines else None
    extraction = extract(question, lines) if lines else None
    several = "none" if not gold else "single" if len(gold) == 1 else "multi"
    query = extraction.query if extraction is not None and level != "L1" else None
    return TimedQuestion(
        id=sample_id,
        task=task,
        gold=gold,
        level=level,
        cell=f"{level}-{several}",
        question=question,
        kind=(
            extraction.facts[0].kind if extraction and extraction.facts else kind_of(question) or ""
        ),
        topic=extraction.facts[0].topic if extraction and extraction.facts else "",
        relation=query.relation if query is not None else "",
        reference=reference_text(query) if query is not None else "",
        facts=parsed_facts.facts if parsed_facts is not None else (),
        negatives=tuple(name for name in negatives if name not in gold),
        lines=lines,
        text=text,
        unread=tuple(map(str, parsed_facts.defects)) if parsed_facts is not None else (),
    )


def solver_agrees(question: TimedQuestion, ties: Ties = "all") -> bool | None:
    """Whether the solver's answer from the published facts is the published answer; None where
    question or facts could not be parsed."""
    query = question.query()
    if isinstance(query, Shift):
        return [query.answer] == [date_form(text) for text in question.gold]
    if query is None or not question.own_facts:
        return None
    answers = {normalise(name) for name in solve(question.own_facts, query, ties=ties).answers}
    return answers == {normalise(name) for name in question.gold}
