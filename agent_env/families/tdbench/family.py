"""Questions from temporal tables as a family: options, task, samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent_env.families.tdbench import prompts
from agent_env.families.tdbench.hooks import HOOKS
from agent_env.families.tdbench.options import TdbenchOptions
from agent_env.families.tdbench.sample import NAME, TdbenchSample
from agent_env.families.tdbench.score import METRICS, make_scorer
from agent_env.families.timed_facts.orders import with_orders
from agent_env.protocols import Limits
from agent_env.records.schema import Condition, Message, Sample
from agent_env.tasks.family import Family, Made, Materials
from agent_env.tasks.task import Task

LOOKING_UP = frozenset({"sql", "web_search"})
"""Tools by which the rows are to be found; beside them the prompt shows none."""

Fields = Callable[[Sample, Condition], Mapping[str, str]]


def make_task(prompt: str, options: TdbenchOptions, tables: Materials) -> Task:
    """The task; rows stand before a question in the open-book setting, unless a tool has them."""
    fields = _by_condition(prompt, options, tables)

    def first(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        return (Message(role="user", content=prompts.worded(fields(sample, condition))),)

    task = Task(
        name=NAME,
        sample_type=TdbenchSample,
        prompt=first,
        scorer=make_scorer(tables),
        metrics=METRICS,
        default_conditions=("base",),
        limits=Limits(),
        placeholders={"question": True, "context": False, "examples": False, "wish": False},
        fields=fields,
        wording=prompts.worded,
        examples=prompts.examples,
        analysis=HOOKS,
    )
    return with_orders(task)


def _by_condition(prompt: str, options: TdbenchOptions, tables: Materials) -> Fields:
    is_open = options.book == "open"
    shown = prompts.make_fields(prompt, is_open, tables)
    hidden = prompts.make_fields(prompt, False, tables) if is_open else shown

    def fields(sample: Sample, condition: Condition) -> Mapping[str, str]:
        chosen = hidden if LOOKING_UP & set(condition.tools) else shown
        return chosen(sample, condition)

    return fields


def _make_samples(count: int, seed: int, options: TdbenchOptions) -> Made:
    """Imported here: only making questions needs sqlglot and DuckDB, asking them does not."""
    from agent_env.families.tdbench.generator import make

    return make(count, seed, options)


FAMILY = Family(
    NAME,
    make_task,
    _make_samples,
    TdbenchOptions,
    reference="agent_env.families.tdbench.reference:next_step",
    rewording="agent_env.families.tdbench.model_wording:REWORDING",
)
