"""What the readers of published files share: lines, ids, cells, and what could not be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_env.errors import DatasetError
from agent_env.families.timed_facts.extractor import extract, told_reference
from agent_env.families.timed_facts.lines import read_facts
from agent_env.families.timed_facts.sample import Level, TimedQuestion
from agent_env.families.timed_facts.solver import solve
from agent_env.families.timed_facts.wording import kind_of
from agent_env.scoring.names import normalise


def objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers and objects of a JSON-lines file, or of one JSON array (places from 1)."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise DatasetError(file, None, f"cannot be read: {exc}") from exc
    if text.lstrip().startswith("["):
        yield from enumerate(_array(file, text), start=1)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _object(file, number, line)


def _array(file: Path, text: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(text)
    except ValueError as exc:
        raise DatasetError(file, None, f"is not JSON: {exc}") from exc
    if not all(isinstance(item, dict) for item in found):
        raise DatasetError(file, None, "holds something other than objects")
    return list(found)


def _object(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as exc:
        raise DatasetError(file, number, f"is not JSON: {exc}") from exc
    if not isinstance(found, dict):
        raise DatasetError(file, number, "is no JSON object")
    return found


def first_object(file: Path) -> dict[str, Any] | None:
    """The first object of a file, or None where it has none that can be read."""
    try:
        return next((found for _, found in objects(file)), None)
    except DatasetError:
        return None


def safe_id(prefix: str, given: object, number: int) -> str:
    """An id of letters, digits, dots, dashes, and the item's place, which makes it unique."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", str(given or "")).strip("-")[:80]
    return f"{prefix}-{number:06d}" + (f"-{plain}" if plain else "")


def texts(file: Path, number: int, name: str, value: object) -> tuple[str, ...]:
    """A list of texts; empty ones left out. DatasetError for anything else."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DatasetError(file, number, f"{name} is no list of texts")
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
    """A published question with whatever of its facts and its words could be read."""
    read = read_facts(lines) if lines else None
    found = extract(question, lines) if lines else None
    several = "none" if not gold else "single" if len(gold) == 1 else "multi"
    query = found.query if found is not None and level != "L1" else None
    return TimedQuestion(
        id=sample_id,
        task=task,
        gold=gold,
        level=level,
        cell=f"{level}-{several}",
        question=question,
        kind=(found.facts[0].kind if found and found.facts else kind_of(question) or ""),
        topic=found.facts[0].topic if found and found.facts else "",
        relation=query.relation if query is not None else "",
        reference=told_reference(query) if query is not None else "",
        facts=read.facts if read is not None else (),
        negatives=tuple(name for name in negatives if name not in gold),
        lines=lines,
        text=text,
        unread=tuple(map(str, read.defects)) if read is not None else (),
    )


def solver_agrees(asked: TimedQuestion) -> bool | None:
    """Whether the solver gives the published answer from the published facts; None where the
    question or its facts could not be read."""
    query = asked.query()
    if query is None or not asked.own_facts:
        return None
    answers = {normalise(name) for name in solve(asked.own_facts, query).answers}
    return answers == {normalise(name) for name in asked.gold}
