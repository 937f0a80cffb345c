"""A run while it is planned: what features check and change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_env.errors import ConfigError
from agent_env.tasks.features import Feature, features
from agent_env.tasks.modifiers import Axis, modifiers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_env.records.schema import Condition
    from agent_env.runs.options.run_options import RunOptions
    from agent_env.tasks.family import SampleSet
    from agent_env.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Draft:
    """What a run is to ask; nothing of it is on the disk."""

    options: RunOptions
    task: Task
    conditions: tuple[Condition, ...]
    sample_set: SampleSet
    """The samples that are asked, with their tables."""
    note: Callable[[str], None]
    """Tells the user."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Samples that not every condition can ask, with the reason."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What run.json records of features, by their names: a record of their settings, or {}. The
    episodes of a run are opened by the features that are here."""
    is_again: bool = False
    """Whether a run that was made is only made again, to be checked."""

    @property
    def recorded(self) -> dict[str, Any]:
        """The settings as run.json has them."""
        return {
            name: its if isinstance(its, dict) else its.model_dump(mode="json")
            for name, its in self.settings.items()
        }


def drafted(draft: Draft) -> Draft:
    """The draft by every installed feature, in their order; an error begins with the name of the
    feature, where it is none of the user's."""
    for feature in features():
        if feature.plan is None:
            continue
        try:
            draft = feature.plan(draft, options_for(feature, draft.options))
        except ConfigError:
            raise
        except Exception as exc:
            raise ConfigError(
                f"the feature {feature.name} failed to plan the run: {type(exc).__name__}: {exc}"
            ) from exc
        if not isinstance(draft, Draft):
            gave = type(draft).__name__
            raise ConfigError(f"the feature {feature.name} gave {gave} for a Draft")
    return draft


def options_for(feature: Feature, options: RunOptions) -> Any:
    """The feature's options, its defaults where none was given; None for one without."""
    if feature.options is None:
        return None
    return options.features.get(feature.name) or feature.options()


def axes_of_features(options: RunOptions) -> Iterator[Axis]:
    """What the options of features ask of every condition; ConfigError for modifiers that are
    written alike."""
    modifiers()
    for feature in features():
        its = options_for(feature, options)
        for modifier in feature.modifiers:
            for name in modifier.options:
                flag = f"--{name.replace('_', '-')}"
                values = [_parsed(modifier, flag, each) for each in _asked(getattr(its, name))]
                yield Axis(modifier, list(dict.fromkeys(values)), flag)


def _asked(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return list(value)
    return [] if value in (None, False) else [value]


def _parsed(modifier: Any, flag: str, value: Any) -> Any:
    if value is True:
        return modifier.parse(modifier.forms[0])
    try:
        return modifier.parse(value)
    except ConfigError as exc:
        raise ConfigError(f"{flag} {value}: {exc}") from exc
