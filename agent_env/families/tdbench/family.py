"""Questions from temporal tables as a family: options, task, samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

from pydantic import JsonValue

from agent_env.families.tdbench import prompts
from agent_env.families.tdbench.prompts import answer_form
from agent_env.families.tdbench.sample import NAME, TdbenchOptions, TdbenchSample, tdbench_sample
from agent_env.families.tdbench.score import METRICS, make_scorer
from agent_env.families.tdbench.shortcuts import HIDDEN, task_shortcuts
from agent_env.features.extraction.strategies import with_orders
from agent_env.sdk.family import AnalysisHooks, CannotShift, Family, SampleSet, Task
from agent_env.sdk.models import Limits
from agent_env.sdk.records import Condition, MaterialTable, Message, Sample
from agent_env.sdk.run import hook
from agent_env.sdk.web import ChangedPage, ShiftedWorld

LOOKUP_TOOLS = frozenset({"sql", "web_search"})
"""Tools that find the rows; where a condition has one, the prompt shows no rows."""


def groups(sample: Sample) -> Mapping[str, tuple[str, ...]]:
    own = tdbench_sample(sample)
    return {
        "relation": (own.relation,),
        "cardinality": (own.cardinality,),
        "kind": (own.kind,),
        "domain": (own.domain,),
        "granularity": (own.granularity,),
        "worded_by": (own.worded_by,),
    }


HOOKS = AnalysisHooks(
    groups,
    lambda sample: tdbench_sample(sample).query,
    "query",
    statistics=("agent_env.families.tdbench.statistics:certificate",),
)
"""The phrasings of a query are one cluster."""


def proving_texts(sample: Sample) -> tuple[str, ...]:
    """Names and dates of the rows that answer."""
    own = tdbench_sample(sample)
    names = [row.answer for row in own.golds] if own.answer_type == "name" else []
    dates = (day for row in own.golds for day in (row.start, row.end) if day is not None)
    return tuple(dict.fromkeys((*names, *dates)))


def names_of(sample: TdbenchSample) -> dict[int, tuple[str, ...]]:
    """For each proof the values by which the question names its rows, such as France President."""
    if sample.hops and len(sample.proofs) == 2:  # the host of games, then the office there
        by, role = (sample.asked[key] for key in sample.asked)
        return {0: (by,), 1: (f"{sample.hops[0].gold[0]} {role}",)}
    names: dict[int, tuple[str, ...]] = {}
    for number in (proof.constraint for proof in sample.proofs):
        own = [value for key, value in sample.asked.items() if key.endswith(f" {number + 1}")]
        names[number] = (" ".join(own or sample.asked.values()),)
    return names


def make_task(prompt: str, options: TdbenchOptions, tables: Mapping[str, MaterialTable]) -> Task:
    """The task; rows are before a question in the open-book setting, unless a tool has them."""

    def is_open(sample: TdbenchSample) -> bool:
        return (options.book or sample.book) == "open"

    with_rows = prompts.make_fields(prompt, is_open, tables)
    without_rows = prompts.make_fields(prompt, lambda sample: False, tables)

    def fields(sample: Sample, condition: Condition) -> Mapping[str, str]:
        can_look_up = LOOKUP_TOOLS & set(condition.tools)
        return (without_rows if can_look_up else with_rows)(sample, condition)

    def states_evidence(sample: Sample, condition: Condition) -> bool:
        return is_open(tdbench_sample(sample)) and not LOOKUP_TOOLS & set(condition.tools)

    def first(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        return (Message(role="user", content=prompts.prompt_text(fields(sample, condition))),)

    def shift(sample: Sample, rng: Random, text_at: Callable[[str], str | None]) -> ShiftedWorld:
        from agent_env.families.tdbench.shift import shifted_world

        own = [tables[digest] for digest in sample.materials]
        return shifted_world(tdbench_sample(sample), own, rng, text_at)

    def retell(sample: Sample, at: int, *how: Any) -> tuple[ChangedPage, ...]:
        from agent_env.families.tdbench.shift import retold_pages

        own = [tables[digest] for digest in sample.materials]
        return retold_pages(tdbench_sample(sample), own, *how)

    def on_day(sample: Sample, day: date) -> Mapping[str, JsonValue]:
        own = tdbench_sample(sample)
        if own.kind != "current":
            return {}
        if is_open(own):
            raise CannotShift(
                f"their prompt shows the rows as of {own.now}; take --option book=closed"
            )
        from agent_env.families.tdbench.shift import on_day

        return on_day(own, tables[own.materials[0]], day)

    def changes(sample: Sample) -> Iterable[date]:
        from agent_env.families.tdbench.shift import changes

        own = tdbench_sample(sample)
        return changes(own, tables[own.materials[0]])

    task = Task(
        name=NAME,
        sample_type=TdbenchSample,
        prompt=first,
        scorer=make_scorer(tables),
        authors_scorer=lambda: hook("authors-of-tdbench", "--scorer authors")(tables),
        metrics=METRICS,
        default_conditions=("base",),
        limits=Limits(),
        placeholders={"question": True, "context": False, "examples": False, "wish": False},
        fields=fields,
        wording=prompts.prompt_text,
        form=lambda sample: answer_form(tdbench_sample(sample)),
        examples=prompts.examples,
        shift=shift,
        retell=retell,
        on_day=on_day,
        changes=changes,
        names=lambda sample: names_of(tdbench_sample(sample)),
        analysis=replace(HOOKS, states_evidence=states_evidence, proving_texts=proving_texts),
        shortcuts=task_shortcuts(tables),
        hidden=HIDDEN,
    )
    return with_orders(task)


def _make_samples(count: int, seed: int, options: TdbenchOptions) -> SampleSet:
    """Imported here, as only making questions needs sqlglot and DuckDB."""
    from agent_env.families.tdbench.generator import make

    return make(count, seed, options)


def _made_for(sample: Sample) -> Mapping[str, str | None]:
    own = tdbench_sample(sample)
    return {"book": own.book if own.generator is not None else None}


FAMILY = Family(
    NAME,
    make_task,
    _make_samples,
    TdbenchOptions,
    reference="agent_env.families.tdbench.reference:next_step",
    levels=Path(__file__).with_name("difficulty.toml"),
    made_for=_made_for,
)
