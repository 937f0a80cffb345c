"""Reads a user's file of questions: any table file of `features.facts.tables.table_files`.

All problems of the questions that are asked are reported at once, by line and field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import regex

from agent_env.families.qa.sample import NAME, QaOptions, QaSample, as_number, letter_of
from agent_env.features.facts.tables.table_files import (
    FileRow,
    cell_text,
    checked_rows,
    read_table_file,
)
from agent_env.sdk.errors import DatasetError
from agent_env.sdk.family import SampleSet
from agent_env.temporal.date_text import DateReader, date_reader

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


def read_questions(file: Path, options: Any) -> SampleSet | None:
    """The questions of the file; None for a file of samples that this project wrote. Problems are
    the set's `defects`, by question, so that those that no run selects do no harm."""
    assert isinstance(options, QaOptions)
    source = read_table_file(file, options)
    if source.rows and source.rows[0].cells.get("task") == NAME and "gold" in source.columns:
        return None
    if not source.rows:
        raise DatasetError(file, None, "holds no question")
    found = _columns_of(file, source.columns, options)
    options = options.model_copy(update=found)
    dates = DateReader()
    if options.scorer in ("date", "dates"):
        values = (row.cells.get(options.answer) for row in source.rows)
        texts = (
            part
            for value in values
            for each in (value if isinstance(value, list) else [value])
            for part in _parts(cell_text(each), options)
        )
        dates = date_reader(texts, options.date_format, str(file))
    questions: list[QaSample] = []
    defects: dict[str, tuple[tuple[int | None, str], ...]] = {}
    lines_by_id: dict[str, int] = {}
    for number, row in enumerate(checked_rows(file, source), start=1):
        draft = _Draft(row, source.is_text, dates, options)
        name = draft.id(default := f"qa-{number:05d}")
        if name in lines_by_id:
            other = lines_by_id[name]
            draft.problems.append(f"field '{options.id}': '{name}' is also on line {other}")
            name = default
        lines_by_id[name] = row.line
        questions.append(draft.question(name))
        if draft.problems:
            defects[name] = tuple((row.line, problem) for problem in draft.problems)
    remarks = [*source.notes]
    remarks += [f"the column '{name}' is taken as the {role}" for role, name in found.items()]
    if names := [name for name in source.columns if name not in _own_columns(options)]:
        remarks.append(
            f"no prompt shows the columns {', '.join(names)}; they serve --where and --by"
        )
    if options.scorer == "normalised" and "scorer" not in options.model_fields_set:
        remarks += _fitting_scorer(questions)
    notes = tuple(f"{file.name}: {note}" for note in remarks)
    return SampleSet(tuple(questions), notes=notes, defects=defects)


USUAL = {
    "question": ("question", "prompt", "query", "input", "problem", "q"),
    "answer": (
        "answer",
        "answers",
        "label",
        "target",
        "gold",
        "solution",
        "expected",
        "output",
        "a",
    ),
}
"""What columns are called elsewhere, in lower case, the likelier name first."""


def _columns_of(file: Path, columns: Sequence[str], options: QaOptions) -> dict[str, str]:
    """The columns of question and answer where they have another usual name than ours; DatasetError
    where there is none, or none of the name that the user gave."""
    lower = {name.lower(): name for name in reversed(columns)}
    found: dict[str, str] = {}
    problems, hints = [], []
    for role, usual in USUAL.items():
        wanted = getattr(options, role)
        if wanted in columns:
            continue
        names = [lower[name] for name in usual if name in lower] if wanted == role else []
        if names:
            found[role] = names[0]
            continue
        problems.append((role, wanted))
        if near := get_close_matches(wanted.lower(), lower, n=1):
            hints.append(f"did you mean '{lower[near[0]]}'? ")
    if problems:
        missing = " and no column ".join(f"'{wanted}'" for _, wanted in problems)
        again = " ".join(f"--option {role}=COLUMN" for role, _ in problems)
        known = ", ".join(columns)[:200] or "none"
        raise DatasetError(
            file, None, f"no column {missing} among {known}; {''.join(hints)}name it by {again}"
        )
    return found


def _fitting_scorer(questions: Sequence[QaSample]) -> list[str]:
    """A note where all right answers are of one kind that another scorer compares."""
    kinds: dict[str, tuple[str, str, Callable[[QaSample, str], object]]] = {
        "choice": ("choices", "takes a letter or its text", lambda q, a: letter_of(a, q.choices)),
        "number": ("numbers", "compares them as numbers", lambda _, a: as_number(a)),
        "date": ("dates", "compares them as dates", lambda _, a: DateReader().read(a)),
    }
    for scorer, (kind, effect, check) in kinds.items():
        try:
            if [check(question, answer) for question in questions for answer in question.gold]:
                return [f"all answers are {kind}: --option scorer={scorer} {effect}"]
        except ValueError:
            continue
    return []


def _own_columns(options: QaOptions) -> tuple[str, ...]:
    return options.question, options.answer, options.id, options.context, options.choices


def _parts(text: str, options: QaOptions) -> list[str]:
    return [part.strip() for part in text.split(options.separator)]


class _Draft:
    """One row on its way to a question, with its problems."""

    def __init__(self, row: FileRow, is_text: bool, dates: DateReader, options: QaOptions) -> None:
        self.row, self.is_text, self.dates, self.options = row.cells, is_text, dates, options
        self.problems: list[str] = []

    def id(self, default: str) -> str:
        value = self.row.get(self.options.id)
        if value is None or value == "":
            return default
        name = str(value)
        if not _ID.fullmatch(name):
            self.problems.append(
                f"field '{self.options.id}': '{name[:60]}' is not an id; use letters, digits, . _ -"
            )
            return default
        return name

    def question(self, name: str) -> QaSample:
        text = self._text(self.options.question, is_required=True)
        context = self._text(self.options.context)
        choices = self._list(self.options.choices)
        gold = self._gold(choices)
        columns = {
            key: value if isinstance(value, str) else cell_text(value)
            for key, value in self.row.items()
            if key not in _own_columns(self.options)
            and isinstance(value, str | int | float | bool | date)
        }
        return QaSample(
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
            return tuple(_parts(value, self.options))
        if isinstance(value, bool | int | float | date):
            return (cell_text(value),)
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
        if isinstance(value, str) and scorer not in ("set", "dates") and not self.is_text:
            answers: tuple[str, ...] = (value.strip(),) if value.strip() else ()
        else:
            answers = self._list(field)
        if not answers and not self.problems and scorer not in ("set", "dates"):
            self.problems.append(f"field '{field}' is empty; only scorer=set and dates allow it")
        checked = [self._checked(answer, choices) for answer in answers]
        return tuple(dict.fromkeys(checked))

    def _checked(self, answer: str, choices: tuple[str, ...]) -> str:
        """The right answer in the scorer's form."""
        field, scorer = self.options.answer, self.options.scorer
        try:
            if scorer == "number":
                return str(as_number(answer))
            if scorer in ("date", "dates"):
                day = self.dates.read(answer)
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
