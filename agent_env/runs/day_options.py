"""Which day it is in the world of a run's conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from agent_env.errors import ConfigError
from agent_env.records.options import DISTURBANCES, Opt
from agent_env.records.reach import Reach
from agent_env.records.schema import Condition
from agent_env.tasks.conditions import on_day

if TYPE_CHECKING:
    from agent_env.runs.options import RunOptions


@dataclass(frozen=True, slots=True)
class DayOptions:
    """The day, and whether the prompt says it."""

    today: Annotated[
        tuple[str, ...],
        Opt(
            "The day that it is in the world: for the sealed web, for calendars, for the clock of "
            "python, and for questions about the present. Repeatable: each condition once for "
            "each day, as web~on-1995-06-01. Default: no such day, the real clock.",
            DISTURBANCES,
            metavar="YYYY-MM-DD",
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = ()
    say_today: Annotated[
        bool,
        Opt(
            "Begin each question with the day of --today.",
            DISTURBANCES,
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = False

    def on_days(
        self, conditions: Sequence[Condition], options: RunOptions
    ) -> tuple[Condition, ...]:
        """Each condition on each day; one whose name has a day stays. ConfigError for what cannot
        have a day."""
        days = dict.fromkeys(self.today)
        dated = tuple(
            self._said(each)
            for condition in conditions
            for each in (
                [on_day(condition, day, f"--today {day}") for day in days]
                if days and condition.today is None
                else [condition]
            )
        )
        names = [each.name for each in dated]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ConfigError(f"condition '{twice}' is there twice by --today; name it once")
        if (first := next((each for each in dated if each.today is not None), None)) is None:
            if self.say_today:
                raise ConfigError("--say-today says a day: add --today YYYY-MM-DD")
            return dated
        _check(first, options)
        return dated

    def _said(self, condition: Condition) -> Condition:
        is_said = condition.says_today or (self.say_today and condition.today is not None)
        return condition.model_copy(update={"says_today": is_said})


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
    if options.web_mode == "hosted":
        raise ConfigError(
            f"condition '{condition.name}': the provider's own tools have the real clock; leave "
            "--hosted-tools out"
        )
