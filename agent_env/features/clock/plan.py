"""A run on days: what is checked, and which samples are asked on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from pydantic import JsonValue

from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import CannotShift, SampleSet, Task
from agent_env.sdk.records import Condition, Sample

if TYPE_CHECKING:
    from agent_env.features.clock import ClockOptions
    from agent_env.sdk.run import Draft


def on_days(draft: Draft, options: ClockOptions) -> Draft:
    """The run on the days of its conditions; ConfigError for options that do not go with a
    day."""
    conditions = draft.conditions
    if not draft.is_again:
        conditions = _with_said_days(draft, options)
    samples, left_out = on_their_days(draft.sample_set, conditions, draft.task, draft.note)
    used: dict[str, object] = {"clock": {}} if any(each.today for each in conditions) else {}
    return replace(
        draft,
        conditions=conditions,
        sample_set=samples,
        left_out={**draft.left_out, **left_out},
        settings={**draft.settings, **used},
    )


def _with_said_days(draft: Draft, options: ClockOptions) -> tuple[Condition, ...]:
    """The conditions, which say their day where that is asked for."""
    of_run, dated = draft.options, [each for each in draft.conditions if each.today is not None]
    if options.say_today and not dated:
        raise ConfigError("--say-today needs a day: add --today YYYY-MM-DD")
    for condition in dated:
        reason = None
        if of_run.web.as_of:
            reason = "--today is the day of the pages, too; leave --as-of out"
        elif of_run.web_mode == "hosted":
            reason = "the provider's own tools have the real clock; leave --hosted-tools out"
        elif condition.context == "cited" and not of_run.cited_from:
            reason = "its pages would be those of no day; name with --cited-from a run of that day"
        if reason is not None:
            raise ConfigError(f"condition '{condition.name}': {reason}")
    said = {"says_today": True} if options.say_today else {}
    return tuple(each.model_copy(update=said if each.today else {}) for each in draft.conditions)


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
