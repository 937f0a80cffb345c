"""Sets of questions from a seed, with what scales their errors, and the examples for few-shot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Literal

from pydantic import Field

from agent_env.families.temp_answers import arithmetic, semantic, tables
from agent_env.families.temp_answers.drafts import Draft
from agent_env.families.temp_answers.sample import NAME, SPLITS, Split, TimeQuestion
from agent_env.families.temp_answers.scoring.time_errors import scale_of
from agent_env.records.schema import MaterialTable, Record
from agent_env.tasks.family import Made

VERSION = 1
"""Of the questions: raised whenever the same seed would give others."""
EXAMPLE_SEED = "examples"


class AnswerOptions(Record):
    """What may be chosen of the family."""

    splits: tuple[Split, ...] = SPLITS
    """Kinds of questions: on tables, by arithmetic, on graphs of facts."""
    shots: int = Field(default=0, ge=0, le=8)
    """Answered examples before the question."""
    turns: Literal["chat", "one"] = "chat"
    """System, user and assistant messages, or everything in one user message."""
    prefill: bool = False
    """Begin the answer's object for the model; for servers that continue an assistant message."""


def make_samples(count: int, seed: int, options: AnswerOptions) -> Made:
    """`count` questions, the splits in turn; the same seed gives the same bytes."""
    splits = options.splits or SPLITS
    share = -(-count // len(splits))
    drafts = {split: list(islice(_drafts(split, seed, share), share)) for split in splits}
    ordered = [
        (split, drafts[split][n])
        for n in range(share)
        for split in splits
        if n < len(drafts[split])
    ]
    chosen = ordered[:count]
    questions = _scaled([_question(n, seed, *each) for n, each in enumerate(chosen, start=1)])
    found = {d.table.digest: d.table for _, d in chosen if d.table is not None}
    return Made(tuple(questions), tuple(found.values()))


def _drafts(split: Split, seed: object, count: int) -> Iterator[Draft]:
    """`count` questions, no two alike on the same table."""
    rng = Random(f"{NAME}/{split}/{seed}")
    seen: set[tuple[str, str]] = set()
    people = _people(seed, count) if split == "table" else ()
    table: MaterialTable | None = None
    for n in range(count):
        if split == "semantic" and n % semantic.PER_GRAPH == 0:
            table = semantic.make_graph(rng)
        elif split == "table":
            table = people[n // tables.PER_TABLE % len(people)]
        for attempt in range(TRIES):
            draft = _draft(rng, split, table, n + attempt)
            key = (draft.question, draft.table.digest if draft.table else "")
            if key not in seen:
                seen.add(key)
                yield draft
                break


TRIES = 50


def _draft(rng: Random, split: Split, table: MaterialTable | None, number: int) -> Draft:
    if table is None:
        return arithmetic.make(rng, number)
    maker = semantic.make if split == "semantic" else tables.make
    return maker(rng, table, number)


def _people(seed: object, count: int) -> tuple[MaterialTable, ...]:
    number = seed if isinstance(seed, int) else 0
    return tables.make_people(-(-count // tables.PER_TABLE), number)


def _question(number: int, seed: int, split: Split, draft: Draft) -> TimeQuestion:
    return TimeQuestion(
        id=f"ta-{seed}-{number:05}",
        task=NAME,
        gold=(_gold(draft),),
        materials=(draft.table.digest,) if draft.table else (),
        split=split,
        question_type=draft.question_type,
        question=draft.question,
        form=draft.form,
        kind=draft.kind,
        unit=draft.unit,
        amount=draft.amount,
        keys=dict(draft.keys),
        label=draft.label,
        answer_format=draft.answer_format,
        answer_unit=draft.answer_unit,
        years_only=draft.years_only,
        generator=VERSION,
    )


def _gold(draft: Draft) -> str:
    """What a final line or a value of the object would hold."""
    if not draft.keys:
        return draft.label
    import ast

    found = ast.literal_eval(draft.label)
    return ", ".join(f"{key} {value}" for key, value in found.items() if key != "answer") or str(
        found["answer"]
    )


def _scaled(questions: Sequence[TimeQuestion]) -> list[TimeQuestion]:
    """Each with the mean and deviation of the gold answers of its split, kind and unit."""
    golds: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for q in questions:
        golds[q.split, q.kind, q.unit].append(q.amount)
    scaled = []
    for q in questions:
        scale = scale_of(golds[q.split, q.kind, q.unit])
        assert scale is not None  # the question itself is in it
        changes = {
            "scale_mean": scale.mean,
            "scale_deviation": scale.deviation,
            "scale_items": scale.items,
        }
        scaled.append(q.model_copy(update=changes))
    return scaled


def examples(
    question: TimeQuestion, table: MaterialTable | None, shots: int
) -> tuple[tuple[TimeQuestion, MaterialTable | None], ...]:
    """Answered questions that ask for the same keys: on other tables, but on the same graph, whose
    facts stand in the system message once for all."""
    if not shots:
        return ()
    pool = _graph_pool(table) if question.split == "semantic" else _example_pool(question.split)
    found = [
        (each, own)
        for each, own in pool
        if set(each.keys) == set(question.keys) and each.question != question.question
    ]
    return tuple(found[:shots])


@lru_cache(maxsize=4)
def _example_pool(split: Split) -> tuple[tuple[TimeQuestion, MaterialTable | None], ...]:
    drafts = _drafts(split, EXAMPLE_SEED, 80)
    return tuple((_question(n, 0, split, d), d.table) for n, d in enumerate(drafts, start=1))


def _graph_pool(
    graph: MaterialTable | None,
) -> tuple[tuple[TimeQuestion, MaterialTable | None], ...]:
    assert graph is not None  # semantic questions have one
    rng = Random(f"{EXAMPLE_SEED}/{graph.digest}")
    drafts = {d.question: d for d in (semantic.make(rng, graph, n) for n in range(24))}
    made = [_question(n, 0, "semantic", d) for n, d in enumerate(drafts.values(), start=1)]
    return tuple((each, graph) for each in made)
