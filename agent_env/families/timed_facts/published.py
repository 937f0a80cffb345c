"""Shared by the readers of published files: JSON lines, ids, conversion to samples."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from agent_env.extensions.extraction.extraction import extract, reference_text
from agent_env.extensions.extraction.solver import Shift, Ties, solve
from agent_env.extensions.extraction.wording import date_form, kind_of, read_facts
from agent_env.extensions.facts.tables.table_files import json_rows
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.sdk.errors import DatasetError
from agent_env.sdk.scoring import normalise

LARGEST = 1 << 30
"""Bytes of an unpacked file."""


def objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of a JSON-lines file with line numbers, or of a JSON array with indices from 1; the
    file may be packed by gzip."""
    yield from json_rows(file, _text(file))


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


Owner = Literal["tempreason", "timeqa"]


def owner_of(file: Path) -> Owner | None:
    """The family in one of whose published formats the file is; None for a file of our samples.
    Raises DatasetError, with the fields of the first record, for any other JSON."""
    is_lines = not _text(file).lstrip().startswith("[")
    try:
        number, first = next(objects(file), (1, None))
    except DatasetError:
        if is_lines:
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
        f"is no question of TempReason or TimeQA: it has {', '.join(first) or 'no field'}; wanted "
        "question with text_answers, targets or answer, or questions with paras",
    )


def is_of(file: Path, family: Owner) -> bool:
    """Whether the file is a published one of the family, and not one of our samples. Raises
    DatasetError for a file of the other family or of another paper."""
    owner = owner_of(file)
    if owner not in (None, family):
        raise DatasetError(file, None, f"is a file of {owner}; run that task")
    return owner is not None


def question_text(file: Path, number: int, item: Mapping[str, Any]) -> str:
    """The question of a record. Raises DatasetError without one."""
    question = item.get("question")
    if not isinstance(question, str) or not question.strip():
        raise DatasetError(file, number, "question is missing")
    return question.strip()


def gold_answers(file: Path, number: int, name: str, value: object) -> tuple[str, ...]:
    """The answers of a record; none where its only answer is `unanswerable`."""
    gold = texts(file, number, name, value)
    return () if [text.casefold() for text in gold] == ["unanswerable"] else gold


def optional_text(item: Mapping[str, Any], name: str) -> str | None:
    """A text of a record; None where it is missing or empty."""
    value = item.get(name)
    return value if isinstance(value, str) and value.strip() else None


def safe_id(prefix: str, published_id: object, number: int) -> str:
    """An id of letters, digits, dots, dashes, unique by the item's number."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", str(published_id or "")).strip("-")[:80]
    return f"{prefix}-{number:06d}" + (f"-{plain}" if plain else "")


def texts(file: Path, number: int, name: str, value: object) -> tuple[str, ...]:
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
