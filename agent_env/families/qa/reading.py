"""Reads a user's file of questions: JSON lines, a JSON array, CSV, TSV or Parquet.

All problems of a file are reported at once, by line and field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import regex

from agent_env.errors import DatasetError, DatasetErrors
from agent_env.families.qa.sample import NAME, QaOptions, Question, as_number, letter_of
from agent_env.tasks.family import SampleSet
from agent_env.tasks.file_rows import Row, TableRow, file_rows
from agent_env.temporal.partial import PartialDate

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


def read_questions(file: Path, options: Any) -> SampleSet | None:
    """The questions of the file; None for a file of samples that this project wrote. DatasetError
    names each problem with its line and field."""
    assert isinstance(options, QaOptions)
    rows = list(file_rows(file))
    if rows and rows[0][1].get("task") == NAME and "gold" in rows[0][1]:
        return None
    if not rows:
        raise DatasetError(file, None, "holds no question")
    _check_columns(file, rows, options)
    defects: list[tuple[int | None, str]] = []
    questions: list[Question] = []
    lines_by_id: dict[str, int] = {}
    for number, (line, row) in enumerate(rows, start=1):
        if isinstance(row, TableRow) and not row.is_whole:
            defects.append((line, row.problem))
            continue
        draft = _Draft(row, options)
        name = draft.id(f"qa-{number:05d}")
        if name in lines_by_id:
            draft.problems.append(
                f"field '{options.id}': '{name}' is also on line {lines_by_id[name]}"
            )
        lines_by_id.setdefault(name, line)
        question = draft.question(name)
        defects += [(line, problem) for problem in draft.problems]
        if question is not None:
            questions.append(question)
    if defects:
        raise DatasetErrors(file, defects)
    return SampleSet(tuple(questions))


def _check_columns(file: Path, rows: Sequence[tuple[int, Row]], options: QaOptions) -> None:
    """DatasetError for a column that no row has."""
    names = list(dict.fromkeys(str(key) for _, row in rows for key in row))
    for option in ("question", "answer"):
        column = getattr(options, option)
        if column not in names:
            known = ", ".join(names)[:200]
            reason = f"no column '{column}'; name the {option} by --option {option}=COLUMN: {known}"
            raise DatasetError(file, None, reason)


class _Draft:
    """One row on its way to a question, with its problems."""

    def __init__(self, row: Row, options: QaOptions) -> None:
        self.row, self.options = row, options
        self.problems: list[str] = []

    def id(self, default: str) -> str:
        value = self.row.get(self.options.id)
        if value is None or value == "":
            return default
        name = str(value)
        if not _ID.fullmatch(name):
            self.problems.append(
                f"field '{self.options.id}': '{name[:60]}' is no id; use letters, digits, . _ -"
            )
        return name

    def question(self, name: str) -> Question | None:
        text = self._text(self.options.question, is_required=True)
        context = self._text(self.options.context)
        choices = self._list(self.options.choices)
        gold = self._gold(choices)
        if self.problems:
            return None
        own = {self.options.question, self.options.answer, self.options.id, self.options.context,
               self.options.choices}  # fmt: skip
        columns = {
            key: str(value)
            for key, value in self.row.items()
            if key not in own and isinstance(value, str | int | float | bool)
        }
        return Question(
            id=name,
            task=NAME,
            gold=gold,
            question=text,
            context=context,
            choices=choices,
            columns=columns,
        )

    def _text(self, field: str, is_required: bool = False) -> str:
        value = self.row.get(field)
        if value is None or (isinstance(value, str) and not value.strip()):
            if is_required:
                self.problems.append(
                    f"field '{field}' is {'empty' if field in self.row else 'missing'}"
                )
            return ""
        if not isinstance(value, str):
            self.problems.append(f"field '{field}': {json.dumps(value)[:60]} is not a text")
            return ""
        return value

    def _list(self, field: str) -> tuple[str, ...]:
        value = self.row.get(field)
        if value is None or value == "":
            return ()
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(self.options.separator))
        if isinstance(value, bool | int | float):
            return (str(value),)
        if isinstance(value, list) and all(isinstance(v, str | int | float) for v in value):
            return tuple(str(v) for v in value)
        self.problems.append(f"field '{field}': {str(value)[:60]} is not a text, number or list")
        return ()

    def _gold(self, choices: tuple[str, ...]) -> tuple[str, ...]:
        field, scorer = self.options.answer, self.options.scorer
        if field not in self.row:
            self.problems.append(f"field '{field}' is missing")
            return ()
        value = self.row[field]
        if isinstance(value, str) and scorer not in ("set", "dates") and not self._is_table:
            answers: tuple[str, ...] = (value.strip(),) if value.strip() else ()
        else:
            answers = self._list(field)
        if not answers and not self.problems and scorer not in ("set", "dates"):
            self.problems.append(f"field '{field}' is empty; only scorer=set and dates allow it")
        checked = [self._checked(answer, choices) for answer in answers]
        return tuple(dict.fromkeys(checked))

    @property
    def _is_table(self) -> bool:
        return isinstance(self.row, TableRow)

    def _checked(self, answer: str, choices: tuple[str, ...]) -> str:
        """The right answer in the scorer's form."""
        field, scorer = self.options.answer, self.options.scorer
        try:
            if scorer == "number":
                return str(as_number(answer))
            if scorer in ("date", "dates"):
                day = PartialDate.parse(answer)
                if scorer == "dates" and day.day is None:
                    raise ValueError(f"'{answer}' is not a day; write YYYY-MM-DD")
                return str(day)
            if scorer == "regex":
                regex.compile(answer)
            if scorer == "choice":
                return letter_of(answer, choices)
        except (ValueError, regex.error) as exc:
            self.problems.append(f"field '{field}': {exc}")
        return answer
