"""Options declared once: an options record is a frozen dataclass whose fields say by an `Opt` all
that is to be said of them. The command line, the keywords, run.json and the docs come from there.

An option's keyword is its flag with underscores. A field that is an options record itself, a
mapping marked as `OptionGroup` of one, and one of records marked as `OptionGroups`, bring their
options to the same level; no keyword comes twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from agent_env.records.reach import Reach

WHAT = "What is asked"
WORDS = "In which words"
DISTURBANCES = "What is done to the tools and the web"
SERVER = "The model"
CALLS = "Model calls"
WEB = "The web"
EPISODE = "Limits of an episode"
MCP = "MCP servers"
RUN = "Limits of the whole run"
RUNNING = "The run"


@dataclass(frozen=True, slots=True)
class Opt:
    """What is to be said of an option."""

    help: str = ""
    panel: str | None = None
    """Its section in the help."""
    flag: str | None = None
    """With its dashes; None: the field's name."""
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    shown: str | bool = True
    """The default as the help has it, where it is other than the value."""
    manifest: str | None = None
    """Its place in run.json, `entry` or `entry.name`; None where it has none."""
    resume: bool = False
    """Whether `resume` may change it."""
    fork: bool = False
    """Whether `fork` may change it."""
    typed: Any = None
    """Its type on the command line, where it is other than the field's."""
    default: Any = ...
    """Its default on the command line, where it is other than the field's."""
    read: Callable[[Any], Any] | None = None
    """From what the command line has to the field's value; ConfigError where that cannot be."""
    argument: bool = False
    """Whether it is in the command without a flag."""
    reach: Reach | None = None
    """What its value can reach, where its place in run.json does not say that."""


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """Marks a field that holds another record's options."""

    of: type | None = None
    """The record, where the field is a mapping of those options that are given; None where the
    field's type is the record."""
    only: str | tuple[str, ...] = ()
    """Keywords, or `resume` or `fork` for what these may change; () for all."""
    without: tuple[str, ...] = ()
    """Keywords that are left out."""
    manifest: str | None = None
    """The entry of run.json that holds them by their fields' names."""
    by_entry: bool = False
    """Whether the mapping has the options by their places in run.json, not by their fields."""
    help: Mapping[str, str] | None = None
    """Other help texts, by keyword."""

    def takes(self, option: Option) -> bool:
        """Whether the option belongs to the part."""
        if option.keyword in self.without:
            return False
        if isinstance(self.only, str):
            return bool(getattr(option.opt, self.only))
        return not self.only or option.keyword in self.only


@dataclass(frozen=True, slots=True)
class OptionGroups:
    """Marks a field that is a mapping of records, whose options come to the same level."""

    find: Callable[[], Mapping[str, type]]
    """The records by their keys."""
    clash: Callable[[Option, str | None, str], Exception]
    """What is raised for an option that is there already: by the record of the first key, or of the
    field's own record (None), and again by that of the second."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option as its record declares it."""

    keyword: str
    path: tuple[str, ...]
    """The fields that lead to its value."""
    opt: Opt
    type: Any
    """On the command line."""
    default: Any
    """On the command line; MISSING where it must be given."""
    manifest: str | None
    """Its place in run.json."""
    field_type: Any
    field_default: Any


def options_of(record: type) -> tuple[Option, ...]:
    """A record's options in the order of its fields; where a keyword comes again, its first."""
    by_keyword: dict[str, Option] = {}
    groups: list[tuple[str, OptionGroups]] = []
    for name, part, inner in _members(record):
        if isinstance(inner, Option):
            by_keyword.setdefault(inner.keyword, inner)
            continue
        if isinstance(inner, OptionGroups):
            groups.append((name, inner))
            continue
        for option in options_of(inner):
            if not part.takes(option):
                continue
            opt, place = option.opt, option.manifest
            if part.manifest and place is None:
                place = f"{part.manifest}.{option.path[-1]}"
            if part.help and option.keyword in part.help:
                opt = replace(opt, help=part.help[option.keyword])
            key = (place or option.keyword,) if part.by_entry else option.path
            by_keyword.setdefault(
                option.keyword,
                replace(option, path=(name, *key), opt=opt, manifest=place),
            )
    owners: dict[str, str] = {}
    for name, group in groups:
        for owner, each in group.find().items():
            for option in options_of(each):
                if option.keyword in by_keyword:
                    raise group.clash(option, owners.get(option.keyword), owner)
                owners[option.keyword] = owner
                by_keyword[option.keyword] = replace(option, path=(name, owner, *option.path))
    return tuple(by_keyword.values())


def from_keywords(record: type, values: Mapping[str, Any]) -> Any:
    """The record with these values, each as the command line has it; the rest by default. In a
    mapping stand only those that are other than their defaults."""
    by_keyword = {option.keyword: option for option in options_of(record)}
    unknown = sorted(values.keys() - by_keyword)
    if unknown:
        raise TypeError(f"{record.__name__} has no option {', '.join(unknown)}")
    return record_of(
        record, {by_keyword[k].path: (by_keyword[k], value) for k, value in values.items()}
    )


Values = Mapping[tuple[str, ...], tuple[Option, Any]]
"""By the fields that lead there."""


def record_of(record: type, values: Values) -> Any:
    """The record with these values, each as its option has it."""
    fields: dict[str, Any] = {}
    for name, part, inner in _members(record):
        below = {path[1:]: pair for path, pair in values.items() if path[0] == name}
        if isinstance(inner, Option):
            if () in below:
                fields[name] = _read(*below[()])
        elif isinstance(inner, OptionGroups):
            given = {
                key: record_of(each, {p[1:]: pair for p, pair in below.items() if p[0] == key})
                for key, each in inner.find().items()
            }
            fields[name] = {key: its for key, its in given.items() if its != type(its)()}
        elif part.of is not None:
            entries = {path[0]: _read(*pair) for path, pair in below.items() if _is_given(*pair)}
            fields[name] = {key: value for key, value in entries.items() if value is not None}
        elif below:
            fields[name] = record_of(inner, below)
    return record(**fields)


def _is_given(option: Option, value: Any) -> bool:
    return value is not None and value != option.default


def _read(option: Option, value: Any) -> Any:
    if option.opt.read is not None and value is not None:
        return option.opt.read(value)
    return tuple(value or ()) if get_origin(option.type) is list else value


def entries(options: Any) -> dict[str, Any]:
    """What run.json keeps of the options just as they are, by entry."""
    values: dict[str, Any] = {}
    for option in options_of(type(options)):
        if option.manifest is None:
            continue
        try:
            value = _value(options, option.path)
        except KeyError:  # not given
            continue
        entry, _, name = option.manifest.partition(".")
        if name:
            values.setdefault(entry, {})[name] = value
        else:
            values[entry] = value
    return values


def _value(options: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        options = options[name] if isinstance(options, Mapping) else getattr(options, name)
    return options


@cache
def _members(record: type) -> tuple[tuple[str, OptionGroup, Any], ...]:
    """Each field with an option of its own, or with the record that it holds."""
    return tuple(_members_of(record))


def _members_of(record: type) -> Iterator[tuple[str, OptionGroup, Any]]:
    hints = get_type_hints(record, include_extras=True)
    for each in fields(record):
        hint = hints[each.name]
        metadata: list[Any] = []
        if get_origin(hint) is Annotated:
            hint, *metadata = get_args(hint)
        opt = next((one for one in metadata if isinstance(one, Opt)), None)
        part = next((one for one in metadata if isinstance(one, OptionGroup)), None)
        parts = next((one for one in metadata if isinstance(one, OptionGroups)), None)
        if opt is not None:
            yield each.name, OptionGroup(), _option(each, hint, opt)
        elif parts is not None:
            yield each.name, OptionGroup(), parts
        elif part is not None:
            yield each.name, part, part.of or hint
        elif isinstance(hint, type) and is_dataclass(hint) and any(options_of(hint)):
            yield each.name, OptionGroup(), hint


def _option(each: Field[Any], hint: Any, opt: Opt) -> Option:
    keyword = (opt.flag or each.name).lstrip("-").replace("-", "_")
    kind, default = hint, each.default
    if each.default_factory is not MISSING:
        default = each.default_factory()
    record_default = default
    if opt.default is not ...:
        default = opt.default
    is_several = get_origin(hint) is tuple and opt.typed is None
    if is_several:
        hint = list[get_args(hint)[0]]  # type: ignore[misc]
        default = MISSING if default is MISSING else list(default) or None
    return Option(
        keyword, (each.name,), opt, opt.typed or hint, default, opt.manifest, kind, record_default
    )
