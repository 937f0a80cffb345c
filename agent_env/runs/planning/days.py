"""Which day it is in the world of a run's conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date

from pydantic import JsonValue

from agent_env.errors import ConfigError
from agent_env.records.schema import Condition, Sample
from agent_env.runs.options.run_options import RunOptions
from agent_env.tasks.conditions import on_day
from agent_env.tasks.family import SampleSet
from agent_env.tasks.task import CannotShift, Task
from agent_env.tasks.tool_registry import traits_of


def on_days(conditions: Sequence[Condition], options: RunOptions) -> tuple[Condition, ...]:
    """Each condition on each day; ConfigError for what cannot have a day."""
    days = dict.fromkeys(options.clock.today)
    dated = tuple(
        _said(each, options)
        for condition in conditions
        for each in (
            [on_day(condition, day, f"--today {day}") for day in days]
            if days and condition.today is None
            else [condition]
        )
    )
    names = [each.name for each in dated]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"condition '{twice}' is named twice with --today; name it once")
    if (first := next((each for each in dated if each.today is not None), None)) is None:
        if options.clock.say_today:
            raise ConfigError("--say-today needs a day: add --today YYYY-MM-DD")
        return dated
    _check(first, options)
    cited = (each.name for each in dated if each.today and each.context == "cited")
    if (name := next(cited, None)) is not None and not options.cited_from:
        raise ConfigError(
            f"condition '{name}': the pages that it would show are those of no day; name with "
            "--cited-from a run of that day"
        )
    return dated


def _said(condition: Condition, options: RunOptions) -> Condition:
    is_said = condition.says_today or (options.clock.say_today and condition.today is not None)
    return condition.model_copy(update={"says_today": is_said})


def check_days(samples: Sequence[Sample], conditions: Sequence[Condition], task: Task) -> None:
    """ConfigError for a condition without a day, where a question asks about the present."""
    dayless = next((each.name for each in conditions if each.today is None), None)
    asking = (each.id for each in samples if task.needs_day and task.needs_day(each))
    if dayless is not None and (name := next(asking, None)) is not None:
        raise ConfigError(
            f"condition '{dayless}': question {name} asks about the present, so its answer is that "
            "of a day; name the day with --today YYYY-MM-DD"
        )


def on_their_days(
    sample_set: SampleSet, conditions: Sequence[Condition], task: Task, note: Callable[[str], None]
) -> tuple[SampleSet, dict[str, str]]:
    """The samples as asked on these days, and why others are left out; ConfigError: all are."""
    days = dict.fromkeys(each.today for each in conditions if each.today is not None)
    if not days:
        return sample_set, {}
    tools = [tool.name for each in conditions if each.today for tool in each.own_tools]
    if tools:
        note(f"{', '.join(dict.fromkeys(tools))}: not of ours, so with the real clock on each day")
    samples, left_out = list[Sample](), dict[str, str]()
    for sample in sample_set.samples:
        try:
            fields: dict[str, dict[str, JsonValue]] = {}
            for day in days:
                on = task.on_day(sample, date.fromisoformat(day)) if task.on_day else {}
                later = (d for proof in sample.proofs for d in proof.dates if d > day[: len(d)])
                if not on and any(later):  # it does not depend on the day
                    raise CannotShift(f"what they ask about comes after {day}")
                fields[day] = dict(on)
            moving = {day: others for day, others in fields.items() if others}
            if moving and all(others["gold"] == list(sample.gold) for others in moving.values()):
                raise CannotShift("the answer is the same on each of the days as in the present")
            samples.append(sample.model_copy(update={"by_day": moving}))
        except CannotShift as exc:
            left_out[sample.id] = str(exc)
    for reason, count in Counter(left_out.values()).items():
        note(f"left {count} of {len(sample_set.samples)} samples out for --today: {reason}")
    if not samples:
        raise ConfigError(f"--today: no sample can be asked: {next(iter(left_out.values()))}")
    return replace(sample_set, samples=tuple(samples)), left_out


def _check(condition: Condition, options: RunOptions) -> None:
    """ConfigError for options that do not go with a day."""
    changes = {
        "--web-ablation": options.web_ablations,
        "--attack": options.disturbance.attacks,
        "--as-of": options.web.as_of,
    }
    if option := next((name for name, value in changes.items() if value), None):
        why = (
            "--today is the day of the pages, too"
            if option == "--as-of"
            else "the pages and answers that it changes are those of no day"
        )
        raise ConfigError(f"condition '{condition.name}': {why}; leave {option} out")
    if table := next((each.name for each in traits_of(condition) if each.needs_table), None):
        raise ConfigError(
            f"condition '{condition.name}': {table} shows whole tables, with what came later; "
            "leave it out, or the day"
        )
    if options.web_mode == "hosted":
        raise ConfigError(
            f"condition '{condition.name}': the provider's own tools have the real clock; leave "
            "--hosted-tools out"
        )
