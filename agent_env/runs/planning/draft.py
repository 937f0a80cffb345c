"""A run while it is planned: what features check and change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_env.errors import AgentEnvError, ConfigError
from agent_env.records.options import options_of
from agent_env.tasks.features import Feature, Modifier, features
from agent_env.tasks.modifiers import Axis, modifiers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_env.records.schema import Condition
    from agent_env.records.tool_traits import ToolTraits
    from agent_env.runs.options.run_options import RunOptions
    from agent_env.tasks.family import SampleSet
    from agent_env.tasks.task import Task
    from agent_env.web.page_store import SqlitePages


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
    pages: Callable[[], AbstractContextManager[SqlitePages | None]] = nullcontext
    """Opens the store of the run's web; None where it is yet to be recorded."""
    tier: str | None = None
    """The service tier of its calls, where no parameter of the model says it."""
    is_call_by_call: bool = True
    """Whether a model answers call by call: not in batches, and no other program for it."""
    is_again: bool = False
    """Whether a run that was made is only made again, to be checked."""

    @property
    def recorded(self) -> dict[str, Any]:
        """The settings as run.json has them."""
        return {
            name: its if isinstance(its, dict) else its.model_dump(mode="json")
            for name, its in self.settings.items()
        }


def with_server(
    options: RunOptions, note: Callable[[str], None] = lambda text: None
) -> tuple[RunOptions, dict[str, Any]]:
    """The options as the model's server needs them, and the settings of the feature that starts it;
    ConfigError where it cannot be started."""
    settings: dict[str, Any] = {}
    for feature in features():
        if feature.servers is not None:
            with _named(feature):
                its = options_for(feature, options)
                options, started = feature.servers.of_run(options, its, note)
            if started is not None:
                settings[feature.name] = started
    return options, settings


async def read_tools(
    options: RunOptions, note: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, ToolTraits]]:
    """The settings of features whose tools are asked for now, and all these tools, by the names
    that models use."""
    settings: dict[str, Any] = {}
    tools: dict[str, ToolTraits] = {}
    for feature in features():
        if feature.tools is not None:
            with _named(feature):
                its = await feature.tools.read(options_for(feature, options), note, options.plugins)
                if its is not None:
                    settings[feature.name] = its
                    tools |= feature.tools.tools(its)
    return settings, tools


def stand_ins(options: RunOptions, conditions: Sequence[str]) -> dict[str, ToolTraits]:
    """What stands for the tools that nobody was asked for, to check the conditions' names."""
    return {
        name: traits
        for each in features()
        if each.tools is not None
        for name, traits in each.tools.stand_ins(options_for(each, options), conditions).items()
    }


def with_features(draft: Draft) -> Draft:
    """The draft by every installed feature, in their order."""
    for feature in features():
        if feature.plan is None:
            continue
        with _named(feature):
            draft = feature.plan(draft, options_for(feature, draft.options))
        if not isinstance(draft, Draft):
            gave = type(draft).__name__
            raise ConfigError(f"the feature {feature.name} gave {gave} for a Draft")
    return draft


@contextmanager
def _named(feature: Feature) -> Iterator[None]:
    """Names the feature in an error that is none of the user's."""
    try:
        yield
    except AgentEnvError:
        raise
    except Exception as exc:
        raise ConfigError(
            f"the feature {feature.name} failed to plan the run: {type(exc).__name__}: {exc}"
        ) from exc


def options_for(feature: Feature, options: RunOptions) -> Any:
    """The feature's options, its defaults where none was given; None for one without."""
    if feature.options is None:
        return None
    return options.features.get(feature.name) or feature.options()


def axes_of_features(options: RunOptions, conditions: Sequence[Condition]) -> Iterator[Axis]:
    """What the options of features ask of these conditions; ConfigError for modifiers that are
    written alike."""
    modifiers()
    for feature in features():
        its = options_for(feature, options)
        with _named(feature):
            asked = feature.values and feature.values(its, options, conditions)
        for modifier in feature.modifiers:
            flags = [flag_of(feature, name) for name in modifier.options]
            values = _parsed(modifier, its, flags) if asked is None else asked.get(modifier.key, ())
            *before, last = flags or [f"the feature {feature.name}"]
            where = f"{', '.join(before)} or {last}" if before else last
            yield Axis(modifier, list(values), where)


def flag_of(feature: Feature, name: str) -> str:
    """The flag of a feature's option, by its field."""
    known = options_of(feature.options) if feature.options is not None else ()
    keyword = next((each.keyword for each in known if each.path == (name,)), name)
    return f"--{keyword.replace('_', '-')}"


def _parsed(modifier: Modifier, options: Any, flags: Sequence[str]) -> list[Any]:
    """The values of its options, each once, from texts in one of its forms; of a flag, from its
    first form."""
    values = []
    for name, flag in zip(modifier.options, flags, strict=True):
        given = getattr(options, name)
        for text in given if isinstance(given, tuple | list) else [given]:
            if text in (None, False):
                continue
            try:
                values.append(modifier.parse(modifier.forms[0] if text is True else text))
            except ConfigError as exc:
                raise ConfigError(f"{flag} {text}: {exc}") from exc
    return list(dict.fromkeys(values))
