"""An options record as the keyword arguments of a Python function.

A keyword is the flag with underscores. A field of the record itself that bears another name, mostly
the plural of an option that is repeated, has its own name and type: `conditions=["base", "web"]`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, replace
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from agent_env.errors import ConfigError, did_you_mean, user_problem
from agent_env.records.options import Option, options_of, record_of

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Keyword:
    """An option as a keyword argument."""

    name: str
    type: Any
    default: Any
    """MISSING where it must be given."""
    option: Option
    """As it takes the value."""

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is MISSING


@cache
def keywords_of(record: type) -> Mapping[str, Keyword]:
    """A record's keywords by name, in the order of its fields."""
    return {each.name: each for each in map(_keyword, options_of(record))}


def _keyword(option: Option) -> Keyword:
    name = option.path[-1]
    if len(option.path) == 1:
        plain = replace(option, opt=replace(option.opt, read=None), type=option.field_type)
        return Keyword(name, option.field_type, option.field_default, plain)
    kind, default = option.type, option.default
    if get_origin(kind) is list:
        kind, default = tuple[get_args(kind)[0], ...], default or ()  # type: ignore[misc]
    return Keyword(name if name == f"{option.keyword}s" else option.keyword, kind, default, option)


def from_arguments(record: type, values: Mapping[str, object], function: str) -> Any:
    """The record with these keyword arguments of the function; ConfigError for a value that cannot
    be, TypeError for an unknown keyword."""
    known = keywords_of(record)
    for name in values:
        if name not in known:
            hint = did_you_mean(name, known)
            raise TypeError(f"{function}() has no keyword '{name}'; {hint}".rstrip("; "))
    if missing := [
        key.name for key in known.values() if key.is_required and key.name not in values
    ]:
        raise TypeError(f"{function}() needs the keyword '{missing[0]}'")
    pairs = (_pair(known[name], value) for name, value in values.items())
    return record_of(record, {option.path: (option, value) for option, value in pairs})


def _pair(key: Keyword, value: Any) -> tuple[Option, Any]:
    """The value in its type, as `_typed`; ConfigError where it cannot be."""
    try:
        return _typed(key, value)
    except ValidationError as exc:
        problem = user_problem(exc.errors(), ())
        raise ConfigError(f"{key.name}={value!r}: {problem}") from None


def keyword_problem(key: Keyword, value: Any) -> str | None:
    """Why the keyword cannot have this value; None where it can."""
    try:
        option, typed = _typed(key, value)
        if option.opt.read is not None and typed is not None:
            option.opt.read(typed)
    except ValidationError as exc:
        return f"{value!r}: {user_problem(exc.errors(), ())}"
    except ConfigError as exc:
        return str(exc)
    return None


def _typed(key: Keyword, value: Any) -> tuple[Option, Any]:
    """The value in its type: a path from a text, one of several from itself alone. A mapping in the
    place of texts, such as `tool_limit={"python": 3}`, needs no reading."""
    option, opt, kind = key.option, key.option.opt, key.type
    limits = Field(ge=opt.min, le=opt.max)
    if isinstance(value, Mapping) and opt.read is not None:
        option, kind = replace(option, opt=replace(opt, read=None), type=dict), option.field_type
        if opt.min is not None:  # that of each value
            name, each = get_args(kind)
            kind, limits = Mapping[name, Annotated[each, limits]], Field()  # type: ignore[valid-type]
    elif get_origin(kind) is tuple:  # of texts
        value, limits = (value,) if isinstance(value, str | int | Mapping) else value, Field()
    config = ConfigDict(arbitrary_types_allowed=True, allow_inf_nan=False)
    kind = Annotated[kind, limits]
    adapter: TypeAdapter[Any] = TypeAdapter(kind, config=config)
    return option, adapter.validate_python(value)


def with_keywords(record: type, without: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Shows the record's keywords in the signature of a function that takes `**options`."""

    def show(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {*without, *(parameter.name for parameter in parameters)}
        shown = [_parameter(key) for key in keywords_of(record).values() if key.name not in taken]
        signature = signature.replace(parameters=[*parameters, *shown])
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return show


def _parameter(key: Keyword) -> inspect.Parameter:
    default = inspect.Parameter.empty if key.is_required else key.default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(key.name, kind, default=default, annotation=key.type)
