"""The prompts of questions from temporal tables: plain, with reasoning, with a timeline, with rows
found by search; and the form that a server can hold an answer to.

They ask (paper, section C.1) for `current` questions for the answer with `since`, month and year;
for all others for the answer with its dates, a list where there are several, `No answer`, or
`unsure`. The words are our own. The search is BM25 (k1 1.2, b 0.75) over the words of each row's
cells, without regard to time; equal scores keep the table's order.
"""

from __future__ import annotations

import calendar
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from agent_env.families.tdbench.name_answers import words
from agent_env.families.tdbench.sample import TdbenchSample, tdbench_sample
from agent_env.features.answers.schemas import DATE, INTEGER, Schema, list_of, matching
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import AnswerForm, Example
from agent_env.sdk.records import TEXT, Condition, MaterialTable, Sample, closed, or_null
from agent_env.temporal.written import MONTHS


class _Passages:
    """The rows of a table as texts, to be searched."""

    def __init__(self, table: MaterialTable) -> None:
        self.texts = []
        for row in table.rows:
            cells = zip(table.columns, row, strict=True)
            named = (f"{name}: {cell}" for name, cell in cells if cell is not None)
            self.texts.append("- " + "; ".join(named))
        self._counts = [Counter(words(text)) for text in self.texts]
        self._rows_with = Counter(word for count in self._counts for word in count)
        self._mean = sum(count.total() for count in self._counts) / max(1, len(self.texts))

    def best(self, query: Sequence[str], limit: int) -> list[tuple[float, str]]:
        """The rows of the highest scores (BM25)."""
        scored = [(self._score(count, query), n) for n, count in enumerate(self._counts)]
        scored.sort(key=lambda pair: (-pair[0], pair[1]))
        return [(score, self.texts[number]) for score, number in scored[:limit]]

    def _score(self, count: Counter[str], query: Sequence[str]) -> float:
        length, score = count.total() / self._mean, 0.0
        for word in set(query):
            if (times := count[word]) > 0:
                have = self._rows_with[word]
                rarity = math.log(1 + (len(self.texts) - have + 0.5) / (have + 0.5))
                score += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length))
        return score


class Retriever:
    """Searches tables; each is indexed at its first use."""

    def __init__(self, tables: Mapping[str, MaterialTable]) -> None:
        self._tables = tables
        self._indexed = cache(lambda digest: _Passages(tables[digest]))

    def passages(self, sample: TdbenchSample, limit: int) -> str:
        """The best rows of the sample's tables, one a line; ConfigError where it has no table."""
        hits: list[tuple[float, str]] = []
        for digest in sample.materials:
            if digest in self._tables:
                hits += self._indexed(digest).best(words(sample.question), limit)
        best = sorted(hits, key=lambda pair: -pair[0])[:limit]
        if not best:
            raise ConfigError(
                f"--prompt retrieval: sample '{sample.id}' names no table that could be searched"
            )
        return "Rows that a search found:\n" + "\n".join(text for _, text in best)


PROMPTS = ("default", "cot", "time-cot", "retrieval")
"""Names: the standard one, worked chains of thought, the same by timelines (Time-CoT), and rows
found by a search for the question's words."""
RETRIEVAL_LIMIT = 6
"""Rows that `retrieval` shows."""

TEMPLATE = "{context}{examples}Question: {question}\n\n{wish}"
"""What a prompt is made of; a user's own may leave out all but the question."""

_TEXTS = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
CURRENT_WISH: str = _TEXTS["current_wish"]
WISH: str = _TEXTS["wish"]
CLOSED_AS_OF = 4
"""Since this version of the generator closed-book prompts state the day of the tables."""
FINISH: str = _TEXTS["finish"]
THINK: str = _TEXTS["think"]
TIMELINE: str = _TEXTS["timeline"]


def make_fields(
    name: str, is_open: Callable[[TdbenchSample], bool], tables: Mapping[str, MaterialTable]
) -> Callable[[Sample, Condition], Mapping[str, str]]:
    """The placeholders' texts of a sample: question, context, examples, wish. `retrieval` shows the
    rows that it finds, whether the book is open or not."""
    if name not in PROMPTS:
        raise ConfigError(f"unknown prompt '{name}'; known: {', '.join(PROMPTS)}")
    search = Retriever(tables) if name == "retrieval" else None

    def fields(sample: Sample, condition: Condition) -> Mapping[str, str]:
        own = tdbench_sample(sample)
        if search is not None:
            context = search.passages(own, RETRIEVAL_LIMIT)
        else:
            context = rows_texts(own, tables) if is_open(own) else ""
        return {
            "question": own.question,
            "context": f"{context}\n\n" if context else "",
            "examples": _worked_examples(name, own),
            "wish": wish(own, name),
        }

    return fields


def prompt_text(fields: Mapping[str, str]) -> str:
    return TEMPLATE.format(**fields)


def wish(sample: TdbenchSample, name: str) -> str:
    """The instruction on reasoning and on the form of the answer."""
    reasons = {"cot": THINK, "time-cot": TIMELINE}.get(name, _TEXTS["hops"] if sample.hops else "")
    if sample.answer_type == "number":
        form = _TEXTS["number_wish"]
    elif sample.kind == "current":
        form = CURRENT_WISH.format(now="today" if sample.now in sample.by_day else sample.now)
    else:
        form = WISH.format(precision=f"to the {sample.granularity}", unit=sample.granularity)
        if sample.book == "closed" and (sample.generator or 0) >= CLOSED_AS_OF:
            form = f"Answer as of {sample.now}. {form}"
    return f"{reasons}{FINISH}\n\n{form}" if reasons else form


# Rows before the question ----------------------------------------------------------------------


def rows_texts(sample: TdbenchSample, tables: Mapping[str, MaterialTable]) -> str:
    return "\n\n".join(
        rows_text(tables[digest], rows)
        for digest, rows in zip(sample.materials, sample.context, strict=False)
        if rows
    )


def rows_text(table: MaterialTable, rows: Sequence[int]) -> str:
    """The rows of a table as text, in this order; an empty end means that the row still lasts."""
    head = " | ".join(table.columns)
    lines = [f"| {head} |", "|" + "---|" * len(table.columns)]
    for number in rows:
        texts = ("" if cell is None else str(cell) for cell in table.rows[number])
        cells = (text.replace("|", "\\|").replace("\n", " ") for text in texts)
        lines.append("| " + " | ".join(cells) + " |")
    return f"Rows of the table {table.name}:\n" + "\n".join(lines)


# Worked examples --------------------------------------------------------------------------------


def _read_examples() -> dict[str, tuple[tuple[str, str], ...]]:
    """Questions and answers of the file beside this one, by form."""
    text = Path(__file__).with_name("examples.toml").read_text(encoding="utf-8")
    forms = tomllib.loads(text).items()
    return {form: tuple((each["question"], each["answer"]) for each in own) for form, own in forms}


EXAMPLES = _read_examples()


def _worked_examples(name: str, sample: TdbenchSample) -> str:
    """The worked examples of a prompt that reasons, of the same form as the question."""
    if name not in ("cot", "time-cot") or sample.answer_type == "number":
        return ""
    pairs = EXAMPLES["current" if sample.kind == "current" else name]
    text = "\n\n".join(f"Question: {question}\n{answer}" for question, answer in pairs)
    return f"Worked examples, about other matters:\n\n{text}\n\nNow yours.\n\n"


def examples(sample: Sample, condition: Condition) -> tuple[Example, ...]:
    """The same for the strategy `few-shot`, as turns."""
    own = tdbench_sample(sample)
    pairs = EXAMPLES["current" if own.kind == "current" else "cot"]
    empty = {"context": "", "examples": "", "wish": wish(own, "cot")}
    return tuple(Example({**empty, "question": q}, answer) for q, answer in pairs)


DATES: dict[str, Schema] = {
    "year": matching("[0-9]{4}"), "month": matching("[0-9]{4}-[0-9]{2}"), "day": DATE,
}  # fmt: skip
MONTH = matching(f"({'|'.join(MONTHS)}) [0-9]{{4}}")
_MOST = 31


def answer_form(sample: TdbenchSample) -> AnswerForm:
    """As the prompt asks for it; an end that is null still lasts."""
    if sample.answer_type == "number":
        return AnswerForm(or_null(INTEGER), lambda number: _or_unsure(number, str))
    if sample.kind == "current":
        entry = closed({"name": TEXT, "since": MONTH})
        return AnswerForm(
            or_null(entry), lambda one: _or_unsure(one, "{0[name]}, since {0[since]}".format)
        )
    date = DATES[sample.granularity]
    entries = or_null(list_of(closed({"name": TEXT, "start": date, "end": or_null(date)}), _MOST))
    if not sample.hops:
        return AnswerForm(entries, lambda found: _or_unsure(found, _lines))
    facts = closed({"facts": list_of(TEXT, _MOST), "answer": entries})
    return AnswerForm(
        facts,
        lambda found: "\n".join(
            [*found["facts"], f"ANSWER: {_or_unsure(found['answer'], _lines)}"]
        ),
    )


def _or_unsure(value: Any, text: Any) -> str:
    return "unsure" if value is None else text(value)


def _lines(entries: list[dict[str, str]]) -> str:
    return answer_lines((each["name"], each["start"], each["end"]) for each in entries)


def answer_lines(entries: Iterable[tuple[str, str, str | None]], is_current: bool = False) -> str:
    """Names with their start and end as the prompt asks for them; no end while it lasts."""
    if is_current:
        lines = [f"{name}, since {_month(start)}" for name, start, _ in entries]
        return "\n".join(lines) or "No answer"
    lines = [f"{name}, from {start} to {end or 'present'}" for name, start, end in entries]
    if len(lines) < 2:
        return lines[0] if lines else "No answer"
    return "\n".join(f"- {line}" for line in lines)


def _month(day: str) -> str:
    return day if len(day) < 7 else f"{calendar.month_name[int(day[5:7])]} {day[:4]}"
