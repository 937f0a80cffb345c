"""TimeQA: easy and hard questions on facts, some without an answer; own questions from a seed,
published files, and the authors' scorer.

Published are JSON lines, an annotated array, and the lines of TimeBench, each also packed by gzip.
`targets == [""]`, or TimeBench's `answer == ["unanswerable"]`, means that the question has no
answer. The level is taken from the file's name (easy, hard), else from TimeBench's question_type
(explicit, implicit), else from the question: easy ones give a span.

The authors score by the rules of SQuAD: the whole response against the best of the gold answers,
without case, punctuation and English articles.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from agent_env.families.timed_facts.generating import (
    Draw,
    SetSpec,
    draw_hard,
    draw_own_span,
    make_questions,
)
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
from agent_env.families.timed_facts.task import make_task
from agent_env.sdk.errors import DatasetError
from agent_env.sdk.family import Family, Materials, PublishedScorer, SampleSet, Task
from agent_env.sdk.records import Episode, Record, Sample, Score
from agent_env.sdk.scoring import episode_score

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


METRICS = ("squad_em", "squad_f1")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def score(sample: Sample, episode: Episode) -> Score:
    """Exact match and token F1."""
    return episode_score(sample, episode, lambda text: measure(sample.gold, text or ""))


def measure(gold: tuple[str, ...], text: str) -> dict[str, object]:
    """Outcome and metrics of a response; a question without an answer wants an empty one."""
    answer, golds = _words(text), [_words(name) for name in gold] or [[]]
    metrics = {
        "squad_em": float(answer in golds),
        "squad_f1": max(_token_f1(own, answer) for own in golds),
    }
    return {"outcome": "read", "metrics": metrics}


def _words(text: str) -> list[str]:
    return _ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def _token_f1(gold: list[str], answer: list[str]) -> float:
    both = sum((Counter(gold) & Counter(answer)).values())
    return 2 * both / (len(gold) + len(answer)) if gold and answer else float(gold == answer)


SCORER = PublishedScorer(score, METRICS)


DRAWS: dict[Level, Draw] = {"easy": draw_own_span, "hard": draw_hard}


class TimeQAOptions(Record):
    """What `--option KEY=VALUE` may say."""

    setting: Literal["open-book", "reasonqa", "closed-book"] = "open-book"
    """open-book (running text), reasonqa (facts as lines, as in the paper) or closed-book."""
    levels: tuple[Literal["easy", "hard"], ...] = ("easy", "hard")
    """Of difficulty; each in equal numbers."""
    answers: tuple[Literal["single", "multi", "none"], ...] = ("single", "multi", "none")
    """How many answers questions have; easy ones always have some."""
    per_cell: int | None = Field(default=None, ge=1)
    """So many questions of each level and number of answers; None shares out the count."""
    kinds: tuple[str, ...] = ()
    """Relations, such as team,employer; empty for all eight."""
    distractors: int = Field(default=2, ge=0, le=7)
    """Facts on another topic in the context."""
    years: float = Field(default=0.3, ge=0, le=1)
    """Part of the facts that are told by years alone."""
    intervals: Path | None = None
    """A CSV of subject,relation,object,start,end to draw from; None invents stories, except for
    closed-book, which then asks for US presidents."""


def _make(count: int, seed: int, options: TimeQAOptions) -> SampleSet:
    questions: list[TimedQuestion] = []
    cells = [(level, n) for level in options.levels for n in options.answers]
    cells = [cell for cell in cells if cell != ("easy", "none")]
    share, rest = divmod(count, len(cells)) if cells else (0, 0)
    for place, (level, many) in enumerate(cells):
        plan = SetSpec(
            task=NAME,
            prefix=f"tq-{level}-{many}",
            draws=((level, DRAWS[level]),),
            several=(many,),
            count=share + (place < rest),
            seed=seed,
            per_cell=options.per_cell,
            distractors=options.distractors,
            years=options.years,
            kinds=options.kinds,
            intervals=options.intervals,
            real=options.setting == "closed-book",
        )
        questions += make_questions(plan)
    return SampleSet(tuple(questions))


def _task(prompt: str, options: TimeQAOptions, tables: Materials) -> Task:
    return replace(make_task(NAME, prompt, options.setting), authors_scorer=SCORER)


FAMILY = Family(
    NAME,
    _task,
    _make,
    TimeQAOptions,
    read_foreign,
    reference="agent_env.families.timed_facts.reference:next_step",
)
