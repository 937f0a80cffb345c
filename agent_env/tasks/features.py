"""Features: what not every run needs, each in one place that can be left out; and modifiers, how a
condition is asked beside its parts.

A feature is found by an entry point of the group `agent_env.features`. The engine names none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, partial
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agent_env.errors import ConfigError
from agent_env.permits import OutsideSetting, Permit
from agent_env.records.options import options_of
from agent_env.records.schema import Condition
from agent_env.registry import Plugins, Registry, ours

if TYPE_CHECKING:
    from agent_env.protocols import Tool
    from agent_env.records.tool_traits import ToolTraits

FILLED_IN = f"{ascii_uppercase}-"


def split_name(name: str) -> tuple[str, list[str]]:
    """The parts of a condition's name, joined by `+`, and the text of each modifier. Here alone
    names are split and joined at `~`."""
    bare, *texts = (text.strip() for text in name.split("~"))
    return bare, texts


def joined_name(bare: str, texts: Iterable[str]) -> str:
    """The condition's name."""
    return "~".join([bare, *texts])


@dataclass(frozen=True, slots=True)
class Modifier:
    """One way in which a condition can be asked otherwise."""

    key: str
    """The field of Condition that has its value; for another key, that is read from the text in
    `Condition.features`."""
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
    compared_with: Literal["plain", "first"] = "plain"
    """What comparisons hold each value against: the plain one, or the run's first."""
    is_beside: bool = False
    """Whether its options add conditions beside the plain ones, of those to which it applies; else
    they change each condition."""
    sets: tuple[tuple[str, Any], ...] = ()
    """Other fields that it sets, by their names."""

    def of(self, condition: Condition) -> Any:
        """The condition's value of it."""
        if self.key in Condition.model_fields:
            return getattr(condition, self.key)
        texts = (text for text in condition.features if self.reads(text))
        return next(map(self.parse, texts), self.plain)

    def reads(self, text: str) -> bool:
        """Whether the text is in one of its forms."""
        return any(
            text.startswith(stem) if stem.endswith("-") else text == stem for stem in self.stems
        )

    @property
    def stems(self) -> tuple[str, ...]:
        """The forms, or how they begin where a part is to be filled in."""
        return tuple(
            form.rstrip(FILLED_IN) + "-" if form[-1].isupper() else form for form in self.forms
        )

    def text_in(self, name: str) -> str | None:
        """What the condition's name says of it; None where it says nothing."""
        return next((text for text in split_name(name)[1] if self.reads(text)), None)

    def cut_from(self, name: str) -> str:
        """The condition's name without what it says of this."""
        bare, texts = split_name(name)
        return joined_name(bare, [text for text in texts if not self.reads(text)])

    def is_twin(self, one: Condition, other: Condition) -> bool:
        """Whether the two are the same condition but for this modifier."""
        return self._rest(one) == self._rest(other)

    def with_value(self, condition: Condition, value: Any) -> dict[str, Any]:
        """The condition's fields that have this value."""
        if self.key in Condition.model_fields:
            return {self.key: value, **dict(self.sets)}
        return {"features": (*condition.features, self.format(value)), **dict(self.sets)}

    def _rest(self, condition: Condition) -> dict[str, Any]:
        free = {"name", self.key, *dict(self.sets)}
        rest = {name: getattr(condition, name) for name in Condition.model_fields}
        rest["features"] = {text for text in condition.features if not self.reads(text)}
        return {name: value for name, value in rest.items() if name not in free}


class ToolSource(Protocol):
    """Tools that are known only once somebody was asked for them; their traits name the source."""

    prefix: str
    """Begins the parts of conditions that name them, such as `mcp:`."""

    def stand_ins(self, options: Any, conditions: Iterable[str]) -> Mapping[str, ToolTraits]:
        """What stands for them, by name, while nobody is asked: enough to check that the conditions
        can be read."""
        ...

    def part(
        self, part: str, text: str, tools: Mapping[str, ToolTraits]
    ) -> tuple[str, tuple[ToolTraits, ...]]:
        """The name and tools of a part of the condition `text`; ConfigError where it has none."""
        ...

    async def read(self, options: Any, note: Callable[[str], None], plugins: Plugins) -> Any:
        """The settings of a run, with the tools as they are described now; None without any."""
        ...

    def tools(self, settings: Any) -> Mapping[str, ToolTraits]:
        """By the names that models use."""
        ...

    def open(
        self,
        folder: Any,
        settings: Any,
        stack: AsyncExitStack,
        note: Callable[[str], None],
        permit: Permit,
    ) -> OpenSource:
        """For all episodes of the run in this folder; closed with the stack."""
        ...


class OpenSource(Protocol):
    """A source of tools while a run goes on."""

    def episode(self) -> AbstractAsyncContextManager[SourceOfEpisode]:
        """For one episode."""
        ...


class SourceOfEpisode(Protocol):
    def tool(self, traits: ToolTraits) -> Tool | None:
        """None for a tool that is there no more."""
        ...


@dataclass(frozen=True, slots=True)
class StartedServer:
    """A model's server that a run has started."""

    url: str
    """Its address; another one than recorded, where that is taken."""
    settings: Any
    """The feature's, with what the server says of itself."""
    is_up: Callable[[], Awaitable[bool]]
    """Whether calls are worth a try; RunStopped where they never will be again."""
    is_known: bool = False
    """Whether what it can do is known, so that it needs no preflight."""


class ServerSource(Protocol):
    """Servers of models that a run starts, and ends with itself."""

    def has(self, model: str) -> bool:
        """Whether the model, as a user names it, brings its server."""
        ...

    def of_run(self, options: Any, its: Any, note: Callable[[str], None]) -> tuple[Any, Any]:
        """The run's options, by the feature's own, with the model's name, address and parameters as
        its server needs them; and the settings, None where no server is started. ConfigError where
        it cannot be."""
        ...

    async def start(
        self,
        run: Any,
        model: str,
        url: str,
        settings: Any,
        note: Callable[[str], None],
        stack: AsyncExitStack,
    ) -> StartedServer:
        """The server, when it is ready; it is ended with the stack."""
        ...


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that works on this machine or does not."""

    name: str
    ok: bool
    says: str


@dataclass(frozen=True, slots=True)
class Feature:
    """An optional capability of runs; each of its parts may be missing."""

    name: str
    """Also its key under run.json's `features`, and among the options of a run."""
    _: KW_ONLY
    options: type | None = None
    """A frozen dataclass whose fields say by an `Opt` all that is to be said of them; what `resume`
    may change of it makes no other run."""
    settings: type | None = None
    """What run.json records of it: a `Record`, whose fields say what they reach."""
    outside: Callable[[Any], Iterable[OutsideSetting]] | None = None
    """(Its settings) → what they reach outside the run's folder, in words for whoever is to trust
    it. Each field that they do not tell of is asked for by its name."""
    modifiers: tuple[Modifier, ...] = ()
    """What it adds to conditions; their `options` are fields of its own."""
    values: Callable[[Any, Any, Any], Mapping[str, Any]] | None = None
    """(Its options, the run's options, the conditions so far) → the values of each modifier, by its
    key, where the options are more than texts in its forms."""
    plan: Callable[[Any, Any], Any] | None = None
    """(Draft, its options) → Draft: checks, and changes of samples, conditions and settings, before
    anything is written. Called for each run; with the defaults where no option was given."""
    open: Callable[[Any, Any, Condition, Any], Any] | None = None
    """(Seams, sample, condition, its settings) → Seams: the concrete objects of one episode, some
    of them wrapped. Called for the conditions of runs that have its settings."""
    drive: Callable[[Any, Any, Any], Awaitable[None]] | None = None
    """(Start, Runner, its settings) → runs the episodes, in place of `Runner.run`. Called for runs
    that have its settings."""
    tools: ToolSource | None = None
    """Tools that conditions may name; what `read` gives are its settings."""
    servers: ServerSource | None = None
    """Servers of models that the run starts; what `of_run` gives are its settings."""
    read_again: Callable[[Any, Callable[[str], None], Plugins], Awaitable[Any]] | None = None
    """(Its settings, a function that tells the user, what finds plug-ins) → the settings as they
    are now, when episodes of the run are still missing."""
    changes: Callable[[Any, Any], list[str]] | None = None
    """(Its settings before, and now; None for none) → a line for each difference that makes it
    another run; without it, they are compared as they are recorded."""
    addresses: Callable[[Any, Mapping[str, str | None]], Mapping[str, str | None]] | None = None
    """(Its options, by model the address of its server) → the addresses, where the feature stands
    for a server. Called where one of its options was given."""
    score: Callable[[Any, Any, Any, Any], Any] | None = None
    """(Task, plain sample, episode, Score) → Score: further metrics."""
    checks: Callable[[], Iterable[Check]] | None = None
    """What `doctor` says of it."""
    tables: tuple[str, ...] = ()
    """MODULE:NAME of each Statistic that `compare` and `show` have of it."""
    after: tuple[str, ...] = ()
    """Names of features that come before it where they are there."""


FEATURES = Registry(
    "feature",
    "features",
    "a Feature",
    lambda thing, name: replace(thing, name=name) if isinstance(thing, Feature) else None,
    partial(ours, "features"),
)


@cache
def features() -> tuple[Feature, ...]:
    """Every installed feature, each behind those that it names by `after`; ConfigError for a name
    that two take."""
    taken: dict[str, str] = {}
    by_name: dict[str, Feature] = {}
    for entry in FEATURES.installed_entries():
        feature = FEATURES.loaded(entry)
        if (other := taken.get(feature.name)) is not None:
            raise ConfigError(
                f"the feature {feature.name} is taken twice: by {other} and by {entry.origin}; "
                "uninstall one of them"
            )
        taken[feature.name] = entry.origin
        by_name[feature.name] = feature
    ordered: dict[str, Feature] = {}
    while waiting := [each for name, each in by_name.items() if name not in ordered]:
        ready = [each for each in waiting if not (by_name.keys() - ordered.keys()) & {*each.after}]
        if not ready:
            names = ", ".join(each.name for each in waiting)
            raise ConfigError(f"these features each come after another of them: {names}")
        ordered |= {each.name: each for each in ready}
    return tuple(ordered.values())


def sources() -> tuple[ToolSource, ...]:
    """Where tools can come from that are not built in and no plug-ins."""
    return tuple(each.tools for each in features() if each.tools is not None)


def servers() -> Mapping[str, ServerSource]:
    """What can start the server of a run's model, by the names of features."""
    return {each.name: each.servers for each in features() if each.servers is not None}


def server_of(settings: Mapping[str, Any]) -> str | None:
    """The feature that starts the server of a run with these settings of features; None for a run
    that starts none."""
    return next((name for name in servers() if name in settings), None)


def server_with(model: str | None) -> str | None:
    """The feature that brings the model with its server; None for any other model."""
    return next((name for name, each in servers().items() if model and each.has(model)), None)


def driver_of(settings: Mapping[str, Any]) -> Feature | None:
    """The feature that runs the episodes of a run with these settings of features; None for our own
    runner."""
    return next((each for each in features() if each.drive and each.name in settings), None)


def settings_to_compare(name: str, settings: Any) -> Any:
    """The settings of the feature that make a run another one: all but those whose options `resume`
    may change; None where it says itself what changed."""
    feature = next((each for each in features() if each.name == name), None)
    if feature is not None and feature.changes is not None:
        return None
    if feature is None or feature.options is None or not isinstance(settings, Mapping):
        return settings
    places = {each.manifest for each in options_of(feature.options) if each.opt.resume}
    return {key: its for key, its in settings.items() if f"features.{name}.{key}" not in places}


def changes_of_features(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """A line for each difference that features tell of two runs' settings."""
    was, its = settings_of_features(before, "the run"), settings_of_features(now, "the run")
    return [
        line
        for each in features()
        if each.changes is not None and each.name in {*was, *its}
        for line in each.changes(was.get(each.name), its.get(each.name))
    ]


def feature_named(name: str, where: str) -> Feature:
    """The feature that a run was made with; ConfigError, which begins with `where`, for one that is
    not installed."""
    found = next((each for each in features() if each.name == name), None)
    if found is None:
        known = ", ".join(sorted(each.name for each in features())) or "none"
        raise ConfigError(
            f"{where} was made with the feature '{name}', which is not installed; "
            f"installed: {known}"
        )
    return found


def settings_of_features(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The settings of run.json's `features`, each as its feature's record; ConfigError for what is
    not installed, or cannot be."""
    from pydantic import ValidationError

    from agent_env.errors import first_problem

    read: dict[str, Any] = {}
    for name, fields in raw.items():
        feature = feature_named(name, where)
        try:
            if feature.settings is None:
                if fields:
                    raise ConfigError(f"{where}: the feature {name} has no settings")
                read[name] = None
            else:
                read[name] = feature.settings.model_validate(fields)  # type: ignore[attr-defined]
        except ValidationError as exc:
            problem = first_problem(exc.errors())
            raise ConfigError(f"{where}: settings of the feature {name}: {problem}") from None
    return read
