"""Shared by the readers of published files: JSON lines, ids, conversion to samples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agent_env.errors import DatasetError
from agent_env.families.timed_facts.extractor import extract, reference_text
from agent_env.families.timed_facts.lines import read_facts
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.families.timed_facts.solver import solve
from agent_env.families.timed_facts.wording import kind_of
from agent_env.scoring.names import normalise


def objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of a JSON-lines file with line numbers, or of a JSON array with indices from 1."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise DatasetError(file, None, f"cannot be read: {exc}") from exc
    items: Iterable[tuple[int, Any]]
    if text.lstrip().startswith("["):
        items = enumerate(_json(file, None, text), start=1)
    else:
        lines = enumerate(text.split("\n"), start=1)
        items = ((number, _json(file, number, line)) for number, line in lines if line.strip())
    for number, item in items:
        if not isinstance(item, dict):
            raise DatasetError(file, number, "is not a JSON object")
        yield number, item


def _json(file: Path, number: int | None, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as exc:
        raise DatasetError(file, number, f"is not JSON: {exc}") from exc


def first_object(file: Path) -> dict[str, Any] | None:
    """The first object of a file; None where it cannot be parsed."""
    try:
        return next((item for _, item in objects(file)), None)
    except DatasetError:
        return None


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


def solver_agrees(question: TimedQuestion) -> bool | None:
    """Whether the solver's answer from the published facts is the published answer; None where
    question or facts could not be parsed."""
    query = question.query()
    if query is None or not question.own_facts:
        return None
    answers = {normalise(name) for name in solve(question.own_facts, query).answers}
    return answers == {normalise(name) for name in question.gold}
