"""Finds what users name: families, tools, models, search providers and the other kinds of plug-ins.

A name is one of ours, or one that an installed package declares as an entry point (group
`agent_env.tools` for tools); MODULE:NAME and file.py:NAME name an object directly. Nothing is
imported before `load`. A name that two packages take is refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import EntryPoint, distributions, entry_points, version
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agent_env.errors import AgentEnvError, ConfigError, did_you_mean, place_of
from agent_env.extras import how_to_install
from agent_env.permits import NOTHING, Permit
from agent_env.records.reach import Reach

if TYPE_CHECKING:
    from agent_env.records.manifest import PluginUse

T = TypeVar("T")
Objects = Mapping[tuple[str, str], object]
"""Plug-ins that only this process has, by kind and name."""
NO_OBJECTS: Objects = MappingProxyType({})
OURS = "agent-env"
OBJECT = "object:"
"""Begins the reference of an object that only this process has."""
_FILE_MODULE = "agent_env_file_"
_FILE = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_][\w.]*)")
_MODULE = re.compile(r"(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_][\w.]*)")


CALLED = {"family": "task"}
"""What users call a kind."""


def unknown_name(kind: str, text: str, names: Iterable[str], meant: str = "") -> ConfigError:
    """What is wrong with a name that is not found, and what may have been meant: by default the
    nearest of the names."""
    names = list(names)
    if Path(text).is_dir():
        return ConfigError(f"{kind} '{text}' is a folder; known: {', '.join(names)}")
    if text.endswith(".py"):
        what = "is a file" if Path(text).is_file() else "is not there"
        return ConfigError(f"{kind} '{text}' {what}; name what stands in a file: {text}:NAME")
    meant = meant or did_you_mean(text, names)
    own = "MODULE:NAME or file.py:NAME of your own"
    return ConfigError(
        f"unknown {kind} '{text}'; {meant}known: {', '.join(names) or 'none'}, or the {own}"
    )


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """Where an object is found."""

    kind: str
    """Such as `tool`."""
    name: str
    """As in conditions, tables and run.json."""
    path: str
    """MODULE:NAME, or FILE.py:NAME with the whole path, or `object:NAME`."""
    package: str | None = OURS
    """The distribution; None for a file, and for a module of no installed package."""
    version: str | None = None
    reference: str = ""
    """What finds it again: the name of an entry point, or `path`."""

    @property
    def is_built_in(self) -> bool:
        return self.package == OURS

    @property
    def origin(self) -> str:
        """For users."""
        if self.package is None:
            return self.path
        return f"{self.package}{f' {self.version}' if self.version else ''} ({self.path})"


def callable_only(thing: Any, name: str) -> Any:
    """For a registry of functions: None for what cannot be called."""
    return thing if callable(thing) else None


@dataclass(frozen=True, slots=True)
class Registry(Generic[T]):
    """The objects of one kind, by name."""

    kind: str
    group: str
    """Of entry points, below `agent_env.`."""
    expected: str
    """What an object must be, for users."""
    adapt: Callable[[Any, str], T | None]
    """From an object and its name; None for an object of another type."""
    built_in: Callable[[], Mapping[str, str]] = dict
    """MODULE:NAME by name."""
    hidden: Callable[[], Mapping[str, str]] = dict
    """Built-in ones that are not listed."""

    def names(self) -> tuple[str, ...]:
        """Built-in and installed names."""
        return tuple(dict.fromkeys([*self.built_in(), *(point.name for point in self._points())]))

    def entries(self) -> list[PluginEntry]:
        """Everything that has a name, ours first."""
        ours = [PluginEntry(self.kind, name, path) for name, path in self.built_in().items()]
        return ours + [self._installed(point) for point in self._points()]

    def is_built_in(self, name: str) -> bool:
        return name in self.built_in() or name in self.hidden()

    def entry(self, text: str) -> PluginEntry:
        """Where a user's NAME, MODULE:NAME or file.py:NAME is found; imports nothing. ConfigError
        for an unknown name, and for one that is taken twice."""
        if text.startswith(OBJECT):
            raise ConfigError(
                f"{self.kind} {text.removeprefix(OBJECT)} was an object of the process that made "
                "the run; give it to agent_env.open, or put it into a file, as file.py:NAME"
            )
        if match := _FILE.fullmatch(text):
            return self._of_file(match["file"], match["name"])
        if match := _MODULE.fullmatch(text):
            return self._of_module(match["module"], match["name"])
        paths = {**self.built_in(), **self.hidden()}
        entries = [PluginEntry(self.kind, text, paths[text])] if text in paths else []
        entries += [self._installed(point) for point in self._points() if point.name == text]
        if len(entries) > 1:
            both = " and by ".join(entry.origin for entry in entries)
            raise ConfigError(
                f"{self.kind} '{text}' is taken twice: by {both}; uninstall one of them, or name "
                "the other by its MODULE:NAME"
            )
        if not entries:
            self.check_there(text)
            raise unknown_name(CALLED.get(self.kind, self.kind), text, self.names())
        return entries[0]

    def load(self, entry: PluginEntry, permit: Permit) -> T:
        """The object, imported now; ConfigError for code that is not built in and that the permit
        does not cover, and, with package and line, for what cannot be imported or is of a wrong
        type."""
        if entry.reference or not entry.is_built_in:  # ours by their names have no reference
            permit.check(Reach.CODE, entry.reference or entry.path)
        return self.adapted(load_path(entry.path, f"{self.kind} {_called(entry)}"), entry)

    def adapted(self, thing: object, entry: PluginEntry) -> T:
        """The object as what this kind is used as."""
        try:
            value = self.adapt(thing, entry.name)
        except ConfigError as exc:
            raise ConfigError(f"{self.kind} {_called(entry)}: {exc}") from exc
        if value is None:
            what = f"is {_type_name(thing)}, not {self.expected}"
            raise ConfigError(f"{self.kind} {_called(entry)} {what}")
        return value

    def installed_objects(self) -> list[T]:
        """Those of entry points, ours first, without a permit: that the user installed them
        decides, and nothing that a folder names. ConfigError as of `load`."""
        return [self.loaded(each) for each in self.installed_entries()]

    def installed_entries(self) -> list[PluginEntry]:
        """Those of entry points, ours first."""
        ours_first = [PluginEntry(self.kind, *each) for each in ours(self.group).items()]
        return ours_first + [self._installed(point) for point in self._points()]

    def loaded(self, entry: PluginEntry) -> T:
        """The object of an entry point, without a permit: see `installed_objects`."""
        return self.adapted(load_path(entry.path, f"{self.kind} {_called(entry)}"), entry)

    def check_there(self, name: str) -> None:
        """ConfigError for what is ours and was left out of this installation."""
        points = _entry_points(tuple(sys.path)).get(f"agent_env.{self.group}", ())
        for each in points:
            if each.name == name and _is_ours(each) and not _is_there(each.module):
                called = f"{CALLED.get(self.kind, self.kind)} {name}"
                raise ConfigError(how_to_install(each.module, what=called))

    def check_free(self, name: str, entry: PluginEntry) -> None:
        """ConfigError where a plug-in calls itself like a built-in one, or like what another
        installed package declares."""
        twins = [each for each in self.entries() if each.name == name and each.path != entry.path]
        if twins:
            both = f"{twins[0].origin} and by {entry.origin}"
            raise ConfigError(
                f"{self.kind} '{name}' is taken twice: by {both}; give yours another name"
            )

    def find(self, text: str, permit: Permit) -> T:
        """The object of a user's name."""
        return self.load(self.entry(text), permit)

    def entry_of(self, thing: object, name: str) -> PluginEntry:
        """Where an object of this process, called `name`, is found: by the module that has it, or
        nowhere else."""
        target = getattr(thing, "__wrapped__", thing)
        module, attribute = getattr(target, "__module__", ""), getattr(target, "__qualname__", "")
        here = sys.modules.get(module) if module != "__main__" else None
        if here is not None and getattr(here, attribute, None) is thing:
            file = getattr(here, "__file__", None)
            entry = (
                self._of_file(str(file), attribute)
                if module.startswith(_FILE_MODULE)
                else self._of_module(module, attribute)
            )
            return replace(entry, name=name)
        return PluginEntry(self.kind, name, f"{OBJECT}{name}", None, None, f"{OBJECT}{name}")

    def _points(self) -> tuple[EntryPoint, ...]:
        return tuple(each for each in installed(f"agent_env.{self.group}") if not _is_ours(each))

    def _installed(self, point: EntryPoint) -> PluginEntry:
        dist = point.dist
        name, number = (dist.name, dist.version) if dist is not None else (None, None)
        return PluginEntry(self.kind, point.name, point.value, name, number, point.name)

    def _of_file(self, file: str, name: str) -> PluginEntry:
        path = Path(file).expanduser().absolute()
        if not path.is_file():
            raise ConfigError(f"{self.kind} '{file}:{name}': there is no file {path}")
        whole = f"{path.resolve()}:{name}"
        return PluginEntry(self.kind, f"{path.name}:{name}", whole, None, None, whole)

    def _of_module(self, module: str, name: str) -> PluginEntry:
        path = f"{module}:{name}"
        package = _distribution(module)
        number = None if package is None else version(package)
        return PluginEntry(self.kind, path, path, package, number, path)


def _called(entry: PluginEntry) -> str:
    if entry.is_built_in or entry.name == entry.origin:
        return f"'{entry.name}'"
    return f"'{entry.name}' {'at' if entry.package is None else 'of'} {entry.origin}"


def _type_name(thing: object) -> str:
    name = type(thing).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of installed packages, but for ours whose folder was left out."""
    points = _entry_points(tuple(sys.path)).get(group, ())
    return tuple(each for each in points if _is_there(each.module))


def _is_ours(point: EntryPoint) -> bool:
    return point.dist is not None and _name_of(point.dist) == OURS


_name_of = cache(attrgetter("name"))  # to read it takes as long as to read a package's metadata


@cache
def ours(group: str) -> Mapping[str, str]:
    """MODULE:NAME by name of what the second ring of agent-env brings of a kind."""
    return {each.name: each.value for each in installed(f"agent_env.{group}") if _is_ours(each)}


def _is_there(module: str) -> bool:
    """Whether its file is, without importing the packages above it; others' modules are."""
    if not module.startswith("agent_env."):
        return True
    file = Path(__file__).parents[1].joinpath(*module.split("."))
    return file.with_suffix(".py").exists() or file.is_dir()


def hook(name: str, what: str = "this") -> Any:
    """What a feature does for the core, an entry point of `agent_env.hooks`; ConfigError, which
    says `what` needs it, where it was left out."""
    if (found := hook_or_none(name)) is None:
        raise ConfigError(
            f"{what} needs the entry point '{name}' of agent_env.hooks, whose feature is not "
            "installed"
        )
    return found


def hook_or_none(name: str) -> Any | None:
    """As `hook`; None where it was left out."""
    points = {each.name: each for each in installed("agent_env.hooks")}
    return points[name].load() if name in points else None


@lru_cache(maxsize=8)
def _entry_points(path: tuple[str, ...]) -> Mapping[str, tuple[EntryPoint, ...]]:
    """By group; `path` is where packages are looked for: another one is searched anew."""
    points = entry_points()
    return {
        group: tuple(sorted(points.select(group=group), key=lambda point: point.name))
        for group in points.groups
        if group.startswith("agent_env.")
    }


def _distribution(module: str) -> str | None:
    """The installed package that has the module; None for one that is merely on the path."""
    return _distribution_with(module.partition(".")[0], tuple(sys.path))


@lru_cache(maxsize=64)
def _distribution_with(name: str, path: tuple[str, ...]) -> str | None:
    """The installed package that has this module at its top, as `packages_distributions` tells it
    of all modules by taking every package's list of files apart."""
    file = re.compile(rf"^{re.escape(name)}(?:(?:/[^,\n]*)?\.py|\.[^/,\n]*(?:so|pyd)),", re.M)
    for each in distributions():
        declared = (each.read_text("top_level.txt") or "").split()
        if name in declared or (not declared and file.search(each.read_text("RECORD") or "")):
            return each.name
    return None


def load_path(path: str, what: str = "") -> Any:
    """The object at MODULE:NAME or FILE.py:NAME, imported now; ConfigError begins with `what`."""
    what = what or path
    place, _, name = path.rpartition(":")
    try:
        thing: Any = _load_file(Path(place)) if place.endswith(".py") else import_module(place)
    except (Exception, SystemExit) as exc:  # whatever a plug-in does while it is imported
        is_told = isinstance(exc, AgentEnvError | ModuleNotFoundError)
        reason = str(exc) if is_told else f"{type(exc).__name__}: {exc}"
        line = place_of(exc)
        where = f" ({line})" if line else ""
        raise ConfigError(f"{what} cannot be imported: {reason}{where}") from exc
    for part in name.split("."):
        if not hasattr(thing, part):
            raise ConfigError(f"{what} is not there: {place} has no {name}")
        thing = getattr(thing, part)
    return thing


def _load_file(file: Path) -> ModuleType:
    """The file as a module, once in a process; it may import what lies beside it."""
    name = f"{_FILE_MODULE}{file.stem}_{sha256(str(file).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    sys.path.append(str(file.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(str(file.parent))
    return module


# What a run notes of its plug-ins -----------------------------------------------------------------


def use_of(entry: PluginEntry, permit: Permit) -> PluginUse:
    """What run.json notes of a plug-in; without a digest where the permit does not cover its code,
    as no file that a stranger names is read."""
    from agent_env.records.manifest import PluginUse  # the list of commands needs no records

    is_covered = permit.covers(Reach.CODE, entry.reference or entry.path)
    return PluginUse(
        kind=entry.kind,
        name=entry.name,
        reference=entry.reference or entry.path,
        package=entry.package,
        version=entry.version,
        digest=source_digest(entry.path) if is_covered else None,
    )


def source_digest(path: str) -> str | None:
    """Of the Python files of the top-level package at MODULE:NAME, or of the one file; twelve
    hexadecimal digits, None where there are none. Imports nothing."""
    place, _, _ = path.rpartition(":")
    if place.endswith(".py"):
        files = {Path(place).name: Path(place)}
    else:
        files = _package_files(place.partition(".")[0])
    whole = sha256()
    for name, file in sorted(files.items()):
        whole.update(name.encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()[:12] if files else None


def _package_files(package: str) -> dict[str, Path]:
    """The Python files of a top-level package or module, by their names in it."""
    try:
        spec = find_spec(package)
    except ValueError:  # a module without one, such as __main__
        spec = None
    if spec is None:
        return {}
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if not folders:
        file = Path(spec.origin or "")
        return {file.name: file} if file.is_file() else {}
    return {f.relative_to(d).as_posix(): f for d in folders for f in d.rglob("*.py")}


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plug-ins of a run: those that its run.json notes, and objects that this process holds;
    and what the run may reach, with them and otherwise."""

    uses: tuple[PluginUse, ...] = ()
    objects: Objects = field(default_factory=lambda: NO_OBJECTS)
    permit: Permit = NOTHING
    from_user: bool = False
    """Whether the user names them now, so that a name which an installed package takes too is
    refused."""

    def entry(self, registry: Registry[Any], name: str) -> PluginEntry:
        """Where the run's plug-in or built-in object of this name is found."""
        if (registry.kind, name) in self.objects:
            return PluginEntry(registry.kind, name, f"{OBJECT}{name}", None)
        if (use := self.use(registry.kind, name)) is not None:
            return replace(registry.entry(use.reference), name=name)
        paths = {} if self.from_user else {**registry.built_in(), **registry.hidden()}
        return (
            PluginEntry(registry.kind, name, paths[name]) if name in paths else registry.entry(name)
        )

    def find(self, registry: Registry[T], name: str) -> T:
        """The object of this name."""
        entry = self.entry(registry, name)
        if (thing := self.objects.get((registry.kind, name))) is not None:
            return registry.adapted(thing, entry)
        return registry.load(entry, self.permit)

    def has(self, registry: Registry[Any], name: str) -> bool:
        """Whether it is noted or held here."""
        key = (registry.kind, name)
        return key in self.objects or self.use(*key) is not None

    def use(self, kind: str, name: str) -> PluginUse | None:
        """What run.json notes of it."""
        return next((use for use in self.uses if (use.kind, use.name) == (kind, name)), None)


NO_PLUGINS = Plugins()
