"""Reads study.toml: all mistakes at once, each with its line, before anything is begun."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_env.features.studies.plan import PLURALS, Budget, StudyPlan, budget_problem
from agent_env.sdk.commands import WHAT
from agent_env.sdk.errors import AgentEnvError, ConfigError, DatasetErrors, user_problem
from agent_env.sdk.inside import (
    MCP,
    SERVER,
    WORDS,
    Place,
    TomlLines,
    conditions_of,
    keyword_problem,
)
from agent_env.sdk.records import Condition, ModelFacts, read_file
from agent_env.sdk.run import Permit, RunOptions, keywords_of

FILE = "study.toml"
ELSEWHERE = {
    "task": "belongs in [tasks.NAME]",
    "model": "belongs in [models.NAME]",
    "api_key_envs": "is written as api_key_env in [models.NAME]",
    "api_key_env": "belongs in [models.NAME]",
    "out": "is not needed: the runs' folders are STUDY/TASK/MODEL",
}
"""Options of `run` that have a place of their own in a study, or none."""
MOST_RUNS = 10_000


def read_text(file: Path) -> str:
    """The text of study.toml."""
    try:
        return read_file(file.parent, file).decode()
    except FileNotFoundError:
        advice = f"agent-env study new {file.parent} writes one"
        raise ConfigError(f"{file.parent} is not a study: no {file.name}; {advice}") from None
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "is not UTF-8 text"
        raise ConfigError(f"cannot read {file}: {reason}") from exc


def plan_of(file: Path, text: str, permit: Permit | None) -> StudyPlan:
    """The plan in the text of this file; DatasetErrors with every mistake. Without a permit it is
    only read: what depends on this machine or on plug-ins, such as keys, is taken as it is."""
    reading = _Reading(file, TomlLines(file, text))
    plan = reading.plan()
    if permit is not None:
        reading.check_runs(plan, permit)
    if reading.mistakes or plan is None:
        lines = ((reading.toml.line(place), text) for place, text in reading.mistakes)
        raise DatasetErrors(file, sorted(dict.fromkeys(lines), key=lambda each: each[0] or 0))
    return plan


@dataclass(slots=True)
class _Reading:
    file: Path
    toml: TomlLines
    mistakes: list[tuple[Place, str]] = field(default_factory=list)

    def add(self, place: Sequence[str | int], text: str) -> None:
        self.mistakes.append((tuple(place), text))

    def plan(self) -> StudyPlan | None:
        """The plan; None where its form is wrong. The mistakes are noted."""
        data, plan = self.toml.data, None
        try:
            plan = StudyPlan.model_validate(data)
        except ValidationError as exc:
            for problem in exc.errors():
                self._add_problem(dict(problem))
        for place, table in _tables(data):
            for name, value in table.items():
                if problem_text := _option_problem(place, name, value):
                    self.add((*place, name), problem_text)
        if plan is not None and len(plan.tasks) * len(plan.models) > MOST_RUNS:
            self.add(("tasks",), f"tasks and models make more than {MOST_RUNS} runs")
        seen: dict[str, str] = {}
        models = data.get("models")
        for name, table in models.items() if isinstance(models, Mapping) else ():
            is_table = isinstance(table, Mapping)
            twin = seen.setdefault(
                repr(sorted(table.items(), key=str) if is_table else table), name
            )
            if twin != name:
                line = self.toml.line(("models", twin))
                text = f"models.{name} is the same as models.{twin} (line {line})"
                self.add(("models", name), f"{text}; use repeats to ask more than once")
        return plan

    def _sound_part(self) -> StudyPlan | None:
        """The plan without the entries that are wrong, to look for further mistakes."""
        data = deepcopy(self.toml.data)
        for place, _ in self.mistakes:
            is_missing = _at(self.toml.data, place) is None
            *above, key = place[:-1] if is_missing else place  # its table is of no use then
            if isinstance(table := _at(data, tuple(above)), dict):
                table.pop(key, None)
        try:
            return StudyPlan.model_validate(data)
        except ValidationError:
            return None

    def _add_problem(self, problem: dict[str, Any]) -> None:
        """A mistake that pydantic found, in our words."""
        place: Place = tuple(each for each in problem["loc"] if each not in ("str", "[key]"))
        if "prices" in place:
            is_table = isinstance(_at(self.toml.data, place[: place.index("prices") + 1]), Mapping)
            if is_table != ("ModelFacts" in place):
                return  # the other kind of prices
            place = tuple(each for each in place if each != "ModelFacts")
        if problem["loc"][-1:] == ("[key]",):
            text = (
                f"'{place[-1]}' is not a name for a folder; write letters, digits, '-', '_' and "
                "'.', at most 64"
            )
        elif problem["type"] == "missing":
            text = f"{'.'.join(map(str, place))} is missing"
            if len(place) == 1:
                text += f"; write a table [{place[0]}.NAME]"
        else:
            known = ModelFacts.model_fields if "prices" in place else Budget.model_fields
            text = user_problem([{**problem, "loc": place}], known)
        self.add(place, text)

    def check_runs(self, plan: StudyPlan | None, permit: Permit) -> None:
        """Notes what keeps runs from being made here: unknown tasks, conditions, models, keys that
        are not set, contrasts of conditions that do not exist."""
        from agent_env.sdk.run import make_model

        wrong = {place for place, _ in self.mistakes}
        plan = self._sound_part() if wrong else plan
        if plan is None:
            return
        folder = self.file.parent.absolute()
        if (budget := budget_problem(plan)) is not None:
            self.add(("budget", "cost_usd"), budget)
        first_task, first_model = next(iter(plan.tasks)), next(iter(plan.models))
        for name in plan.models:
            with self._noted("models", name):
                options = plan.run_options(first_task, name, folder, None, permit)
                address, plugins = plan.address(name), options.plugins
                (options,) = options.addressed([options.model])
                make_model(options.model, address, options.parameters, plugins)
        asked = dict[str, Sequence[Condition]]()
        for name in plan.tasks:
            names = plan.conditions_of(name)
            asked[name] = tuple(Condition(name=text) for text in names)
            with self._noted("tasks", name):
                options = plan.run_options(name, first_model, folder, None, permit)
                asked[name] = self._conditions(name, options) or asked[name]
        if not any("conditions" in place for place in wrong):
            self._check_contrasts(plan, {name: each for name, each in asked.items() if each})

    def _check_contrasts(self, plan: StudyPlan, asked: Mapping[str, Sequence[Condition]]) -> None:
        """Notes contrasts that no task has the conditions for."""
        from agent_env.sdk.inside import contrast_mistakes, planned_arms

        models, lacking = list(plan.models), list[dict[str, str]]()
        for conditions in asked.values():
            arms = planned_arms(models, conditions)
            lacking.append(contrast_mistakes(plan.contrasts, arms))
        for text in plan.contrasts:
            reasons = [each[text] for each in lacking if text in each]
            if reasons and len(reasons) == len(lacking):
                names = dict.fromkeys(c.name for conditions in asked.values() for c in conditions)
                known = f"known conditions: {', '.join(names)}"
                self.add(("contrasts",), f"contrasts: '{text}': {reasons[0]}; {known}")

    def _conditions(self, task: str, options: RunOptions) -> Sequence[Condition]:
        """The conditions of a run with these options; none where a mistake hides them."""
        from agent_env.sdk.inside import stand_ins
        from agent_env.sdk.run import FAMILIES

        with self._noted("tasks", task, "task"):
            family = options.plugins.find(FAMILIES, options.task)
            with self._noted("tasks", task, "options"):
                chosen = family.read_options(options.options, options.difficulty)
                prompt = options.prompt if "." not in options.prompt else "default"
                names = options.conditions or (
                    family.make_task(prompt, chosen, {}).default_conditions
                )
                with self._noted("tasks", task, "conditions"):
                    texts = [each for each in names if isinstance(each, str)]
                    return conditions_of(options, names, stand_ins(options, texts))
        return ()

    @contextmanager
    def _noted(self, kind: str, name: str, entry: str = "") -> Iterator[None]:
        """Notes an error of its body as a mistake of this table, at its entry or the top's."""
        try:
            yield
        except AgentEnvError as exc:
            entry = "api_key_env" if "--api-key-env" in str(exc) else entry
            entry = "agents" if str(exc).startswith("--agent ") else entry
            places: list[Place] = [(kind, name, entry), (entry,), (kind, name)]
            place = next(each for each in places if _at(self.toml.data, each) is not None)
            self.add(place, f"{kind}.{name}: {exc}")


def _tables(data: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """The tables that may hold options of `run`, without their own entries."""
    entry_names = {
        "": {"name", "contrasts", "budget", "tasks", "models"},
        "tasks": {"task"},
        "models": {"model", "api_key_env", "prices", "budget"},
    }
    yield (), {key: value for key, value in data.items() if key not in entry_names[""]}
    for kind in ("tasks", "models"):
        tables = data.get(kind)
        for name, table in tables.items() if isinstance(tables, Mapping) else ():
            if isinstance(table, Mapping):
                yield (kind, name), {k: v for k, v in table.items() if k not in entry_names[kind]}


def _option_problem(place: Place, name: str, value: Any) -> str | None:
    """Why an option may not be in this table with this value; None where it may."""
    known = keywords_of(RunOptions)
    where = f"{'.'.join(map(str, place))}." if place else ""
    if ELSEWHERE.get(name):
        return f"{where}{name} {ELSEWHERE[name]}"
    name = PLURALS.get(name, name)
    if name not in known:
        near = get_close_matches(name, [*known, "api_key_env", "contrasts", "budget"], n=1)
        hint = f"; did you mean '{near[0]}'?" if near else "; known: the options of run, with _"
        return f"unknown field '{where}{name}'{hint}"
    panel = known[name].option.opt.panel
    if place[:1] == ("models",) and panel in (WHAT, WORDS, MCP):
        return (
            f"{where}{name} belongs to a task or to the top, so that all models are asked the same"
        )
    if place[:1] == ("tasks",) and panel == SERVER:
        return f"{where}{name} belongs to a model or to the top"
    if name == "options" and isinstance(value, Mapping):
        return None  # read with the task
    problem = keyword_problem(known[name], value)
    return None if problem is None else f"{where}{name}: {problem}"


def _at(data: Any, place: Place) -> Any:
    for key in place:
        data = data[key] if isinstance(data, Mapping) and key in data else None
    return data
