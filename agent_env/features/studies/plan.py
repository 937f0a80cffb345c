"""What a study asks: models, tasks, conditions, budgets, contrasts; the records of study.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, JsonValue, model_validator

from agent_env.sdk.family import option_texts
from agent_env.sdk.inside import (
    COMPATIBLE,
    METRICS,
    NO_KEY,
    SANDBOXES,
    SCORERS,
    STRATEGIES,
    TOOLS,
    UNSAFE,
    ByName,
    Code,
    Key,
    Money,
    Plain,
    RunLimits,
    StudyUse,
    bare_name,
    base_url_of,
    reach_of,
    said_in,
    scripts,
    sources,
    text_of,
    values_of,
    with_files,
    with_variable,
)
from agent_env.sdk.records import ModelFacts, Reach, Record
from agent_env.sdk.run import FAMILIES, Permit, RunOptions, from_arguments, keywords_of

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""Of a task or model of the study: a folder's name and a label."""
Texts = tuple[str, ...]


OPTIONS_OF_RUN = ByName(
    {name: reach_of(key.option) or Reach.CODE for name, key in keywords_of(RunOptions).items()},
    others=Reach.CODE,
)
PLURALS = {key.option.keyword: name for name, key in keywords_of(RunOptions).items()}
"""By the flag with underscores (`answer_format`), the keyword of an option (`answer_formats`)."""


class Budget(Record):
    """Limits of several runs together; None for no limit."""

    tokens: Plain[int | None] = Field(default=None, ge=1)
    """Input and output of all calls, those of earlier starts included."""
    cost_usd: Plain[float | None] = Field(default=None, ge=0)
    """Of all calls, those of earlier starts included; needs prices."""
    time_s: Plain[float | None] = Field(default=None, gt=0)
    """Wall time of one start."""

    def as_limits(self) -> RunLimits:
        return RunLimits(**self.model_dump())


class Scope(Record):
    """A table of study.toml: entries of its own, all others are options of `run`."""

    options_of_run: Annotated[dict[str, JsonValue], OPTIONS_OF_RUN] = Field(default_factory=dict)
    """By the keywords of `agent_env.run`."""

    @model_validator(mode="before")
    @classmethod
    def _set_options_apart(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        names = cls.model_fields.keys() - {"options_of_run"}
        rest = {PLURALS.get(key, key): value for key, value in data.items() if key not in names}
        return {key: value for key, value in data.items() if key in names} | {
            "options_of_run": rest
        }


class ModelPlan(Scope):
    """`[models.NAME]`: a model with its own server, key, prices, budget and parameters."""

    model: Code[str]
    """As for `run --model`."""
    api_key_env: Key[str | None] = None
    """The environment variable with its key; None for the usual one."""
    prices: Money[ModelFacts | str | None] = None
    """Its row of a price table, or the file of one."""
    budget: Budget = Budget()
    """Of all its runs together."""


class TaskPlan(Scope):
    """`[tasks.NAME]`: a task and which of its questions are asked."""

    task: Code[str]
    """As for `run`."""


class StudyPlan(Scope):
    name: Plain[str | None] = None
    """None for the folder's name."""
    contrasts: Plain[Texts] = ()
    """Planned comparisons, as for `compare --contrast`."""
    budget: Budget = Budget()
    """Of all runs together."""
    tasks: dict[Name, TaskPlan] = Field(min_length=1)
    models: dict[Name, ModelPlan] = Field(min_length=1)

    def scopes(self) -> Iterator[tuple[tuple[str, ...], Scope]]:
        """Every table with options of `run`, by its place in the file."""
        yield (), self
        yield from ((("tasks", name), task) for name, task in self.tasks.items())
        yield from ((("models", name), model) for name, model in self.models.items())

    def outside(self) -> list[tuple[str, str]]:
        """What the file asks for outside the study's folder, for users, and what that reaches."""
        asked = []
        for place, scope in self.scopes():
            for each in values_of(scope):
                name, reach = each.path.removeprefix("options_of_run."), each.reach or Reach.CODE
                if name.startswith(("tasks.", "models.")) or not each.value:
                    continue
                if reach is Reach.CODE and not _names_code(each.value):
                    if name != "model":
                        continue
                    reach = Reach.ADDRESS
                if reach is not Reach.NOTHING and str(each.value) not in scripts():
                    where = ".".join((*place, name))
                    asked.append((f"{where} {text_of(each.value)}", reach.value))
        return asked

    def run_options(
        self, task: str, model: str, folder: Path, use: StudyUse | None, permit: Permit
    ) -> RunOptions:
        """The options of the run of this task by this model, within the permit."""
        asked, answering = self.tasks[task], self.models[model]
        values = self.options_of_run | asked.options_of_run | answering.options_of_run
        values = {name: with_files(folder, value) for name, value in values.items()}
        if isinstance(texts := values.get("options"), Mapping):
            values["options"] = list(option_texts(texts))
        names = {
            "task": with_files(folder, asked.task),
            "model": with_files(folder, answering.model),
        }
        values |= {**names, "out": str(folder / task / model)}
        if answering.api_key_env is not None:
            values["api_key_envs"] = answering.api_key_env
        if isinstance(answering.prices, str):
            values["prices"] = with_files(folder, answering.prices)
        if "difficulty" not in asked.options_of_run and self.has_no_levels(task, permit):
            values.pop("difficulty", None)
        options: RunOptions = from_arguments(RunOptions, values, "study")
        if isinstance(answering.prices, ModelFacts):
            options = replace(options, calls=replace(options.calls, prices=answering.prices))
        addresses = {self.address(name) for name in self.models} - {None}
        scope = self.models[model]
        is_compatible = scope.model.startswith(COMPATIBLE)
        if is_compatible and scope.api_key_env is None and len(addresses) > 1:
            options = replace(options, parameters=with_variable(options.parameters, NO_KEY))
        return replace(options, study=use, preflight="on", permit=permit)

    def has_no_levels(self, task: str, permit: Permit) -> bool:
        """Whether the difficulty of the top means nothing for the task, of a family of ours."""
        name = self.tasks[task].task
        return FAMILIES.is_built_in(name) and FAMILIES.find(name, permit).levels is None

    def conditions_of(self, task: str) -> Texts:
        """The task's `conditions`, as far as they are named."""
        names = (self.options_of_run | self.tasks[task].options_of_run).get("conditions") or ()
        return (names,) if isinstance(names, str) else tuple(map(str, names))  # type: ignore[arg-type]

    def address(self, model: str) -> str | None:
        """Where a compatible model's server is; None for others, and where none is named."""
        plan = self.models[model]
        if not plan.model.startswith(COMPATIBLE):
            return None
        url = plan.options_of_run.get("base_url", self.options_of_run.get("base_url"))
        return base_url_of(plan.model, str(url) if url else None)


def _names_code(value: JsonValue) -> bool:
    """Whether the value may name code that is not ours."""
    texts = [str(each) for each in (value if isinstance(value, list) else [value])]
    parts = [part for text in texts for part in text.split("+")]
    prefixes = tuple(each.prefix for each in sources())
    return any(said_in(text, "agent") for text in texts) or any(
        (":" in part.removeprefix("cited:") and not part.startswith(prefixes))
        or (name := bare_name(part)) == UNSAFE
        or any(
            name in registry.names() and not registry.is_built_in(name)
            for registry in (FAMILIES, TOOLS, SANDBOXES, SCORERS, METRICS, STRATEGIES)
        )
        for part in parts
    )


def budget_problem(plan: StudyPlan) -> str | None:
    """Why the study's limit of money cannot hold; None where it can."""
    unpriced = [name for name, model in plan.models.items() if model.prices is None]
    if plan.budget.cost_usd is None or not unpriced:
        return None
    return (
        f"budget.cost_usd needs the prices of every model, and {unpriced[0]} has none; write "
        f"prices in [models.{unpriced[0]}]"
    )
