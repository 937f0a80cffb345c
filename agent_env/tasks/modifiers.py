"""Modifiers: how a condition is asked beside its parts, as its name says behind each `~`, such as
`web~auto~shifted~by-codex~on-1995-06-01~schema`; and the grid, conditions with each value of each.

Names are split and joined at `~` here alone. A modifier's value is that of a field of Condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, get_args

from agent_env.errors import ConfigError
from agent_env.protocols import ToolChoice
from agent_env.records.disturbance import AttackName, Disturbance, WebAblation
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import AgentUse
from agent_env.registry import hook
from agent_env.tasks.answer_forms import FORMATS
from agent_env.tasks.tool_registry import traits_of
from agent_env.temporal.days import iso_day

CHOICES: tuple[ToolChoice, ...] = ("required", "auto", "none")
OF_LOOP = "are of our own loop; leave them out, or the agent"
FILLED_IN = f"{ascii_uppercase}-"
CLOCK_YEARS = range(1678, 2262)
"""What a clock of nanoseconds in 64 bits can show whole."""


@dataclass(frozen=True, slots=True)
class Modifier:
    """One way in which a condition can be asked otherwise."""

    key: str
    """The field of Condition that has its value."""
    options: tuple[str, ...]
    """The options that are short for it, as Python writes them."""
    forms: tuple[str, ...]
    """How its values are written; words in capitals stand for what is to be filled in."""
    parse: Callable[[str], Any] = lambda text: text
    """The value of a text in one of the forms; ConfigError for one that cannot be."""
    format: Callable[[Any], str] = lambda value: str(value)
    applies: Callable[[Condition, Any], str | None] = lambda condition, value: None
    """Why the condition cannot have the value; None where it can."""
    plain: Any = None
    """The value that no name says."""
    is_for_some: bool = False
    """Whether its options leave alone the conditions to which it does not apply."""
    sets: tuple[tuple[str, Any], ...] = ()
    """Other fields that it sets, by their names."""

    def reads(self, text: str) -> bool:
        """Whether the text is in one of its forms."""
        return any(
            text.startswith(form.rstrip(FILLED_IN) + "-") if form[-1].isupper() else text == form
            for form in self.forms
        )

    def text_in(self, name: str) -> str | None:
        """What the condition's name says of it; None where it says nothing."""
        return next((text for text in _split(name)[1] if self.reads(text)), None)

    def cut_from(self, name: str) -> str:
        """The condition's name without what it says of this."""
        bare, texts = _split(name)
        return "~".join([bare, *(text for text in texts if not self.reads(text))])

    def is_twin(self, one: Condition, other: Condition) -> bool:
        """Whether the two are the same condition but for this modifier."""
        free = {"name", self.key, *dict(self.sets)}
        names = (name for name in Condition.model_fields if name not in free)
        return all(getattr(one, name) == getattr(other, name) for name in names)

    def on(self, condition: Condition, value: Any) -> Condition:
        """The condition with this value, and its name; ConfigError where it cannot have it."""
        bare, texts = _split(condition.name)
        name = "~".join([bare, *sorted([*texts, self.format(value)], key=_place)])
        if reason := self.applies(condition, value):
            raise ConfigError(f"condition '{name}': {reason}")
        return condition.model_copy(update={"name": name, self.key: value, **dict(self.sets)})


def _world(text: str) -> Disturbance:
    ablation = next((each for each in get_args(WebAblation) if text == each), None)
    attack = next((each for each in get_args(AttackName) if text == f"attacked-{each}"), None)
    if text.startswith("faults"):
        raise ConfigError(f"~{text} does not say which faults; add them by --faults")
    if ablation is None and attack is None:
        known = ", ".join(get_args(AttackName))
        raise ConfigError(f"~{text}: write attacked- and one of {known}")
    return Disturbance(suffix=text, ablation=ablation, attack=attack)


def _why_not_disturbed(condition: Condition, disturbance: Disturbance) -> str | None:
    """An ablation takes the evidence away, which a prompt with the dates or a tool that reads the
    tables would give again."""
    tools = traits_of(condition)
    if disturbance.faults:
        is_hit = any(fault.tool in condition.tools for fault in disturbance.faults)
        return None if is_hit else "none of its tools has such faults"
    if not any(traits.needs_web for traits in tools):
        return "it does not read our web; add --condition web"
    if condition.today is not None:
        return _of_no_day(disturbance)
    gives = condition.wording != "implicit" or any(traits.needs_table for traits in tools)
    if disturbance.ablation and gives:
        return "the prompt or a tool gives what the web is searched for; add --condition web"
    return None


def _agent(text: str) -> AgentUse:
    name = text.removeprefix("by-")
    if not re.fullmatch("[a-z0-9-]+", name):
        raise ConfigError(f"~{text}: name an agent; --agent takes files and commands, too")
    agent: AgentUse = hook("agents", "an agent of somebody else").read(name)
    return agent


def _day(text: str) -> str:
    day = text.removeprefix("on-")
    if (parsed := iso_day(day)) is None or parsed.year not in CLOCK_YEARS:
        raise ConfigError(
            f"'{day}' is not a day that a clock can show; write YYYY-MM-DD (Gregorian, without a "
            f"time or zone), from {CLOCK_YEARS[0]} to {CLOCK_YEARS[-1]}"
        )
    return day


def _why_no_day(condition: Condition, day: str) -> str | None:
    if condition.disturbance is not None and not condition.disturbance.faults:
        return _of_no_day(condition.disturbance)
    if table := next((each.name for each in traits_of(condition) if each.needs_table), None):
        return f"{table} shows whole tables, with what came later; leave it out, or the day"
    return None


def _of_no_day(world: Disturbance) -> str:
    option = "--attack" if world.attack else "--web-ablation"
    return f"the pages and answers that it changes are those of no day; leave {option} out"


FIRST_STEP = Modifier(
    "first_step", ("first_steps",), CHOICES,
    applies=lambda c, _: None if c.tools else "it offers no tools, so it has no choice",
)  # fmt: skip
WORLD = Modifier(
    "disturbance", ("faults", "attacks", "web_ablations"),
    (*get_args(WebAblation), "attacked-NAME", "faults", "faults-RATE"), _world,
    lambda value: str(value.suffix), _why_not_disturbed, is_for_some=True,
)  # fmt: skip
AGENT = Modifier(
    "agent", ("agents",), ("by-NAME",), _agent, lambda agent: f"by-{agent.name}",
    lambda c, _: None if c.strategy == "tool-loop" else f"strategies {OF_LOOP}",
    sets=(("first_step", "auto"),),  # which an agent makes as it likes
)  # fmt: skip
DAY = Modifier("today", ("today",), ("on-YYYY-MM-DD",), _day, lambda day: f"on-{day}", _why_no_day)
FORMAT = Modifier(
    "answer_format", ("answer_formats",), FORMATS[1:], plain=FORMATS[0],
    applies=lambda c, _: None if c.agent is None else f"answer formats {OF_LOOP}",
)  # fmt: skip
MODIFIERS = (FIRST_STEP, WORLD, AGENT, DAY, FORMAT)
"""In the order of names."""


def _split(name: str) -> tuple[str, list[str]]:
    bare, *texts = (text.strip() for text in name.split("~"))
    return bare, texts


def _place(text: str) -> int:
    return next((at for at, each in enumerate(MODIFIERS) if each.reads(text)), -1)


def bare_name(name: str) -> str:
    """The condition's parts, joined by `+`."""
    return _split(name)[0]


def with_modifiers(condition: Condition, name: str) -> Condition:
    """The condition with what this name says behind its parts; ConfigError for what is unknown, or
    said twice."""
    texts: dict[str, str] = {}
    for text in _split(name)[1]:
        key = next((each.key for each in MODIFIERS if each.reads(text)), None)
        if key is None:
            known = ", ".join(form for each in MODIFIERS for form in each.forms)
            raise ConfigError(f"condition '{name}': no modifier '{text}'; known: {known}")
        if key in texts:
            both = f"{texts[key]} and {text} both say its {key.replace('_', ' ')}"
            raise ConfigError(f"condition '{name}': {both}; take one out")
        texts[key] = text
    for modifier in (each for each in MODIFIERS if each.key in texts):
        try:
            value = modifier.parse(texts[modifier.key])
        except ConfigError as exc:
            raise ConfigError(f"condition '{name}': {exc}") from exc
        condition = modifier.on(condition, value)
    return condition


@dataclass(frozen=True, slots=True)
class Axis:
    """The values of one modifier that an option asks for, for every condition."""

    modifier: Modifier
    values: Sequence[Any]
    option: str

    def on(self, condition: Condition) -> list[Condition]:
        """The condition with each value, unless it has one; ConfigError where it cannot."""
        its, plain = self.modifier, self.modifier.plain
        if getattr(condition, its.key) != plain:
            return [condition]
        return [
            condition if value == plain else its.on(condition, value)
            for value in self.values
            if value == plain or not (its.is_for_some and its.applies(condition, value))
        ]


def grid(conditions: Iterable[Condition], axes: Iterable[Axis]) -> tuple[Condition, ...]:
    """Each condition with each value of each axis; ConfigError for one that is there twice, and for
    a value that none can have."""
    made = list(conditions)
    for axis in axes:
        its = axis.modifier
        for value in axis.values if its.is_for_some else ():
            if value != its.plain and all(reasons := [its.applies(each, value) for each in made]):
                where = f"{axis.option}: no condition can be ~{its.format(value)}"
                raise ConfigError(f"{where}: '{made[0].name}': {reasons[0]}")
        made = [each for condition in made for each in axis.on(condition)]
        names = [each.name for each in made]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ConfigError(f"condition '{twice}' is there twice by {axis.option}; name it once")
    return tuple(made)
