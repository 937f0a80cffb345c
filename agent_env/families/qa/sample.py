"""One question of the user's own with its accepted answers."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Literal

from pydantic import Field

from agent_env.features.answers.names import normalise
from agent_env.features.answers.notations import without_latex
from agent_env.features.answers.number_answers import value_of
from agent_env.features.facts.tables.table_files import TableOptions
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import Sample

NAME = "qa"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ScorerName = Literal[
    "exact", "normalised", "number", "date", "dates", "set", "choice", "regex", "judge"
]


class QaSample(Sample):
    """A question; `gold` has its accepted answers, of which any one is right. For `set` and `dates`
    they are one answer: all its members."""

    question: str
    """As the model gets it."""
    context: str = ""
    """A text to put before the question."""
    choices: tuple[str, ...] = ()
    """The options of a multiple-choice question, in the order of their letters A, B, C …; `gold`
    has the letters of the right ones."""
    columns: dict[str, str] = Field(default_factory=dict)
    """The file's other columns, for `compare --by` and `--where`."""


class QaOptions(TableOptions):
    """What `--option KEY=VALUE` may say."""

    scorer: ScorerName = "normalised"
    """exact; normalised (without case, accents, articles, punctuation); number; date (to the
    precision of the right one); dates and set (all members, in any order); choice (a letter or
    its text); regex (a pattern in the answer); judge (a model's verdict, by `agent-env episodes
    judge`)."""
    question: str = "question"
    """The column with the question."""
    answer: str = "answer"
    """The column with the right answer, or a list of right answers."""
    id: str = "id"
    """The column with the id; without it, questions are numbered."""
    context: str = "context"
    """The column with a text to put before the question, if there is one."""
    choices: str = "choices"
    """The column with the list of options, for multiple choice."""
    separator: str = "|"
    """Between the values of a list in CSV and TSV."""
    tolerance: float = Field(default=0.0, ge=0)
    """Largest difference of a right number, in its own unit."""
    relative_tolerance: float = Field(default=0.0, ge=0)
    """The same as a share of the right number; the larger of the two counts."""
    cluster: str = ""
    """A column whose value related questions share; they are resampled together."""
    form: str = ""
    """How the answer is to be given, in the prompt; empty for the scorer's own sentence."""


def qa_question(sample: Sample) -> QaSample:
    """The sample, typed; ConfigError for a sample of another family."""
    if not isinstance(sample, QaSample):
        raise ConfigError(f"sample {sample.id} is not a question of {NAME}")
    return sample


def as_number(text: str) -> Decimal:
    """The number in a text such as `-1,250.5`; ValueError for any other text."""
    value = value_of(text)
    if value is None:
        raise ValueError(f"'{text[:60]}' is not a number")
    return value


_ONE_MARK = (
    (re.compile(r"[−–‐‑]"), "-"),
    (re.compile(r"^(?:[-*•+]\s{1,9})?[+=]?(?=\s{0,9}[\d.])|^[-*•+]\s{1,9}(?=\S)"), ""),
    (re.compile(r"^>\s{0,9}([^\W\d].*)|^<([^<>]+)>$", re.S), r"\1\2"),
    (re.compile(r"≠"), "!="),
    (re.compile(r"<="), "≤"),
    (re.compile(r">="), "≥"),
    (re.compile(r"[-=]>|⇒"), "→"),
    (re.compile(r"(?<=\d)(?=[⁰¹²³⁴-⁹])"), "^"),
)
_MEANT = re.compile(
    r"(?<!\w)-(?=\.?\d)|\.(?=\d)|\++|[<>≤≥→^]|!=|(?<=[^\W\d_])#(?!\w)"
    r"|(?<=\d)-(?!\w)|(?<=(?<!\w)\w)-{1,2}(?!\w)|(?<=(?<!\w)\w\w)-(?!\w)"
)
"""A sign, decimal point, comparison, arrow or power, and what ends C++, F# or AB-."""
_AROUND = " .,;:!?()[]\"'“”‘’`*"


def normal_form(text: str) -> str:
    """As `normalise`, with the punctuation that carries meaning; a text that is mostly symbols
    (`+`, `!=`, `C++`) stays as it is."""
    text = without_latex(text).strip()
    for mark, becomes in _ONE_MARK:
        text = mark.sub(becomes, text)
    bare = text.strip(_AROUND).lstrip("#") or text.strip(" \"'“”‘’`") or text
    symbols = sum(not (c.isalnum() or c.isspace() or c in _AROUND) for c in bare)
    symbols -= sum(c in "%°_" or unicodedata.category(c) == "Sc" for c in bare)
    if symbols >= sum(map(str.isalnum, bare)):
        return "".join(bare.casefold().split())
    parts = re.split(f"({_MEANT.pattern})", text)
    joined = (
        normalise(part) if n % 2 == 0 else f" {part}" if part in "-<>≤≥→!=" else part
        for n, part in enumerate(parts)
    )
    return "".join(joined).strip()


def letter_of(answer: str, choices: tuple[str, ...]) -> str:
    """The letter of a right choice, given as letter or as text; ValueError if it is neither."""
    if not 2 <= len(choices) <= len(LETTERS):
        raise ValueError(f"{len(choices)} choices; a multiple-choice question has 2 to 26")
    by_text = {normal_form(text): letter for letter, text in zip(LETTERS, choices, strict=False)}
    if len(by_text) < len(choices):
        raise ValueError("two choices are the same")
    if normal_form(answer) in by_text:
        return by_text[normal_form(answer)]
    letter = answer.strip().upper()
    if len(letter) == 1 and letter in LETTERS[: len(choices)]:
        return letter
    raise ValueError(f"'{answer[:60]}' is neither a choice nor a letter of one")
