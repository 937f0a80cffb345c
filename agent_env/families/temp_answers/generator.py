"""Question sets from a seed, with the scale of their errors, and few-shot examples."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Literal

from pydantic import Field

from agent_env.families.temp_answers import arithmetic, semantic, tables
from agent_env.families.temp_answers.drafts import Draft
from agent_env.families.temp_answers.sample import NAME, SPLITS, Split, TimeQuestion
from agent_env.families.temp_answers.scoring.time_errors import scale_of
from agent_env.sdk.family import SampleSet
from agent_env.sdk.records import MaterialTable, Record

VERSION = 5
"""Raised whenever the same seed gives other questions."""
EXAMPLE_SEED = "examples"
ATTEMPTS = 50
"""At a question that differs from those before it."""
AnsweredQuestion = tuple[TimeQuestion, MaterialTable | None]
"""A few-shot example: a question and its table or graph."""


class AnswerOptions(Record):
    """Options of the family."""

    splits: tuple[Split, ...] = SPLITS
    """Kinds of questions: about tables, arithmetic, about graphs of facts."""
    shots: int = Field(default=0, ge=0, le=8)
    """Answered examples before the question."""
    turns: Literal["chat", "one"] = "chat"
    """System, user and assistant messages, or everything in one user message."""
    level: Literal["all", "easy"] = "all"
    """easy: one entry of a table or graph of three is to be read, or days of one month counted; for
    weak models."""
    prefill: bool = False
    """Write the start of the answer's object into the prompt; for servers that continue it."""


def make_samples(count: int, seed: int, options: AnswerOptions) -> SampleSet:
    """`count` questions, splits in turn; the same seed gives the same bytes."""
    splits = options.splits or SPLITS
    share = -(-count // len(splits))
    easy = options.level == "easy"
    drafts = {split: list(islice(_drafts(split, seed, share, easy), share)) for split in splits}
    ordered = [
        (split, drafts[split][n])
        for n in range(share)
        for split in splits
        if n < len(drafts[split])
    ]
    selection = ordered[:count]
    questions = _scaled([_question(n, seed, *each) for n, each in enumerate(selection, start=1)])
    used_tables = {d.table.digest: d.table for _, d in selection if d.table is not None}
    return SampleSet(tuple(questions), tuple(used_tables.values()))


def _drafts(split: Split, seed: object, count: int, easy: bool) -> Iterator[Draft]:
    """`count` questions, all different for the same table."""
    rng = Random(f"{NAME}/{split}/{seed}{'/easy' if easy else ''}")
    keys: set[tuple[str, str]] = set()
    people: tuple[MaterialTable, ...] = ()
    if split == "table":
        number = seed if isinstance(seed, int) else 0
        people = tables.make_people(-(-count // tables.PER_TABLE), number)
    table: MaterialTable | None = None
    for n in range(count):
        if split == "semantic" and n % semantic.PER_GRAPH == 0:
            table = semantic.make_graph(rng)
        elif split == "table":
            table = people[n // tables.PER_TABLE % len(people)]
        for attempt in range(ATTEMPTS):
            draft = _draft(rng, split, table, n + attempt, easy)
            key = (draft.question, draft.table.digest if draft.table else "")
            if key not in keys:
                keys.add(key)
                yield draft
                break


def _draft(
    rng: Random, split: Split, table: MaterialTable | None, number: int, easy: bool
) -> Draft:
    if table is None:
        return arithmetic.few_days(rng) if easy else arithmetic.make(rng, number)
    if split == "semantic":
        return semantic.make_easy(rng, table) if easy else semantic.make(rng, table, number)
    return tables.make_easy(rng, table) if easy else tables.make(rng, table, number)


def _question(number: int, seed: int, split: Split, draft: Draft) -> TimeQuestion:
    return TimeQuestion(
        id=f"ta-{seed}-{number:05}",
        task=NAME,
        gold=(_gold(draft),),
        materials=(draft.table.digest,) if draft.table else (),
        split=split,
        generator=VERSION,
        **{f.name: getattr(draft, f.name) for f in fields(draft) if f.name != "table"},
    )


def _gold(draft: Draft) -> str:
    """The text of the final line, or of the object's values."""
    if not draft.keys:
        return draft.label
    parts = ast.literal_eval(draft.label)
    return ", ".join(f"{key} {value}" for key, value in parts.items() if key != "answer") or str(
        parts["answer"]
    )


def _scaled(questions: Sequence[TimeQuestion]) -> list[TimeQuestion]:
    """The questions with mean and deviation of the gold answers of their split, kind and unit."""
    golds: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for q in questions:
        golds[q.split, q.kind, q.unit].append(q.amount)
    scaled = []
    for q in questions:
        scale = scale_of(golds[q.split, q.kind, q.unit])
        assert scale is not None  # the question itself is in it
        scaled.append(q.model_copy(update={f"scale_{k}": v for k, v in asdict(scale).items()}))
    return scaled


def examples(
    question: TimeQuestion, table: MaterialTable | None, shots: int, easy: bool = False
) -> tuple[AnsweredQuestion, ...]:
    """Answered questions with the same keys, about other tables or the same graph (whose facts are
    in the system message once)."""
    if not shots:
        return ()
    if question.split == "semantic":
        pool = _graph_pool(table, easy)
    else:
        pool = _example_pool(question.split, easy)
    matching = [
        (each, own)
        for each, own in pool
        if set(each.keys) == set(question.keys) and each.question != question.question
    ]
    return tuple(matching[:shots])


@lru_cache(maxsize=4)
def _example_pool(split: Split, easy: bool) -> tuple[AnsweredQuestion, ...]:
    drafts = _drafts(split, EXAMPLE_SEED, 80, easy)
    return tuple((_question(n, 0, split, d), d.table) for n, d in enumerate(drafts, start=1))


def _graph_pool(graph: MaterialTable | None, easy: bool) -> tuple[AnsweredQuestion, ...]:
    assert graph is not None  # semantic questions have one
    rng = Random(f"{EXAMPLE_SEED}/{graph.digest}")
    made = (_draft(rng, "semantic", graph, n, easy) for n in range(24))
    drafts = {draft.question: draft for draft in made}
    pool = [_question(n, 0, "semantic", d) for n, d in enumerate(drafts.values(), start=1)]
    return tuple((each, graph) for each in pool)
