"""Modifiers: how a condition is asked beside its parts, as its name says behind each `~`, such as
`web~auto~shifted~by-codex~on-1995-06-01~schema`; and the grid, conditions with each value of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from agent_env.errors import ConfigError, suggestion
from agent_env.protocols import ToolChoice
from agent_env.records.schema import Condition
from agent_env.tasks.answer_forms import FORMATS
from agent_env.tasks.features import Modifier, features, joined_name, split_name

CHOICES: tuple[ToolChoice, ...] = ("required", "auto", "none")


FIRST_STEP = Modifier(
    "first_step", ("first_steps",), CHOICES,
    applies=lambda c, _: None if c.tools else "it offers no tools, so it has no choice",
)  # fmt: skip
FORMAT = Modifier(
    "answer_format", ("answer_formats",), FORMATS[1:], plain=FORMATS[0],
    applies=lambda c, _: None
    if c.agent is None
    else "answer formats are of our own loop; leave them out, or the agent",
)  # fmt: skip


@cache
def modifiers() -> tuple[Modifier, ...]:
    """All of them, those of features too, in the order of names; ConfigError for two that are
    written alike."""
    taken = {stem: "agent-env" for each in (FIRST_STEP, FORMAT) for stem in each.stems}
    of_features = []
    for feature in features():
        whose = f"the feature {feature.name}"
        for its in feature.modifiers:
            for stem in its.stems:
                if other := taken.get(stem):
                    both = f"by {other} and by {whose}; uninstall one of them"
                    raise ConfigError(f"the modifier ~{stem} is taken twice: {both}")
                taken[stem] = whose
            of_features.append(its)
    return (FIRST_STEP, *of_features, FORMAT)


def modifier_of(key: str) -> Modifier | None:
    """The one that sets this field of conditions; None where its feature is not there."""
    return next((each for each in modifiers() if each.key == key), None)


def said_in(name: str, key: str) -> str | None:
    """What the condition's name says of this field of conditions; None where it says nothing."""
    its = modifier_of(key)
    return None if its is None else its.text_in(name)


def _place(text: str) -> int:
    return next((at for at, each in enumerate(modifiers()) if each.reads(text)), -1)


def bare_name(name: str) -> str:
    """The condition's parts, joined by `+`."""
    return split_name(name)[0]


def with_modifier(condition: Condition, modifier: Modifier, value: Any) -> Condition:
    """The condition with this value, and its name; ConfigError where it cannot have it."""
    bare, texts = split_name(condition.name)
    name = joined_name(bare, sorted([*texts, modifier.format(value)], key=_place))
    if reason := modifier.applies(condition, value):
        raise ConfigError(f"condition '{name}': {reason}")
    return condition.model_copy(update={"name": name, **modifier.with_value(condition, value)})


def with_modifiers(condition: Condition, name: str) -> Condition:
    """The condition with what this name says behind its parts; ConfigError for what is unknown, or
    said twice."""
    texts: dict[str, str] = {}
    for text in split_name(name)[1]:
        key = next((each.key for each in modifiers() if each.reads(text)), None)
        if key is None:
            known = [form for each in modifiers() for form in each.forms]
            hint = suggestion(text, known)
            raise ConfigError(f"condition '{name}': no modifier '{text}'; {hint}")
        if key in texts:
            both = f"{texts[key]} and {text} both say its {key.replace('_', ' ')}"
            raise ConfigError(f"condition '{name}': {both}; take one out")
        texts[key] = text
    for modifier in (each for each in modifiers() if each.key in texts):
        try:
            value = modifier.parse(texts[modifier.key])
        except ConfigError as exc:
            raise ConfigError(f"condition '{name}': {exc}") from exc
        condition = with_modifier(condition, modifier, value)
    return condition


@dataclass(frozen=True, slots=True)
class Axis:
    """The values of one modifier that an option asks for, for every condition; without any, each
    stays as it is."""

    modifier: Modifier
    values: Sequence[Any]
    option: str

    def on(self, condition: Condition) -> list[Condition]:
        """The condition with each value, unless it has one; ConfigError where it cannot."""
        its, plain = self.modifier, self.modifier.plain
        if its.of(condition) != plain:
            return [condition]
        values = [plain, *self.values] if its.is_beside and self.values else self.values or [plain]
        return [
            condition if value == plain else with_modifier(condition, its, value)
            for value in values
            if value == plain or not (its.is_beside and its.applies(condition, value))
        ]


def grid(conditions: Iterable[Condition], axes: Iterable[Axis]) -> tuple[Condition, ...]:
    """Each condition with each value of each axis; ConfigError for one that is there twice, and for
    a value that none can have."""
    made = list(conditions)
    for axis in axes:
        its = axis.modifier
        for value in axis.values if its.is_beside else ():
            if all(reasons := [its.applies(each, value) for each in made]):
                where = f"{axis.option}: no condition can be ~{its.format(value)}"
                raise ConfigError(f"{where}: '{made[0].name}': {reasons[0]}")
        made = [each for condition in made for each in axis.on(condition)]
        names = [each.name for each in made]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ConfigError(f"condition '{twice}' is there twice by {axis.option}; name it once")
    return tuple(made)
