"""Commands whose flags are the fields of an options record."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from importlib import import_module
from math import isfinite
from pathlib import Path
from textwrap import dedent
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from agent_env.errors import ConfigError
from agent_env.records.options import Opt, from_keywords, options_of

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from agent_env.records.schema import Record


class WithOptions:
    """A command that gets a record as its first argument. Its flags are made from the record when
    they are asked for, so that the list of commands needs no record.

    A parameter of the command's own with an option's keyword has its own type and default, takes
    help and place from the option, and goes to the command instead of the record.
    """

    def __init__(
        self,
        function: Callable[..., None],
        record: str,
        only: tuple[str, ...],
        first: tuple[str, ...],
        fixed: Mapping[str, Any],
    ) -> None:
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__annotations__: dict[str, Any] = {}  # all of it is in the signature
        self._function, self._path = function, record
        self._only, self._fixed, self.first = only, fixed, first
        self._first, *self._parameters = inspect.signature(function).parameters.values()

    def __call__(self, **values: Any) -> None:
        """Make the record and run the command; typer's bounds let an infinite number pass."""
        for name, value in values.items():
            if isinstance(value, float) and not isfinite(value):
                raise ConfigError(f"--{name.replace('_', '-')} {value}: write a finite number")
        arguments = {each.name: values.pop(each.name) for each in self._parameters}
        self._function(from_keywords(self._record, {**values, **self._fixed}), **arguments)

    @property
    def _record(self) -> type:
        module, _, name = self._path.partition(":")
        record: type = getattr(import_module(module), name)
        return record

    @property
    def __signature__(self) -> inspect.Signature:
        scope = {"Path": Path, str(self._first.annotation): self._record}
        hints = get_type_hints(self._function, localns=scope, include_extras=True)
        overrides = {each.name: (hints[each.name], each.default) for each in self._parameters}
        parameters = []
        for option in options_of(self._record):
            override = overrides.pop(option.keyword, None)
            if override is not None and _is_complete(override[0]):
                overrides[option.keyword] = override
            elif override is not None:
                parameters.append(_parameter(option.keyword, option.opt, *override))
            elif not self._only or option.keyword in self._only:
                own = option.type, option.default
                parameters.append(_parameter(option.keyword, option.opt, *own))
        rest = [_own(name, *own) for name, own in overrides.items()]
        required = [each for each in rest if each.default is each.empty]
        return inspect.Signature([*required, *parameters, *(p for p in rest if p not in required)])


def with_options(
    record: str, only: tuple[str, ...] = (), first: tuple[str, ...] = (), **fixed: Any
) -> Callable[[Callable[..., None]], WithOptions]:
    """Makes a command of the record at MODULE:NAME, or of those of its options that are named;
    `first` are the options that `--help` shows where it does not show all, `fixed` values that the
    command line does not have."""
    return lambda function: WithOptions(function, record, only, first, fixed)


def _is_complete(annotation: Any) -> bool:
    """Whether a command's own parameter says what the command line needs to know."""
    return get_origin(annotation) is Annotated


def declared(function: Callable[..., None]) -> Callable[..., None]:
    """The command, with what typer takes in the place of each `Opt`."""
    if not isinstance(function, WithOptions):
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters.values()
        own = [_own(p.name, hints.get(p.name, p.annotation), p.default) for p in parameters]
        function.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return function


def _own(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter of the command's own."""
    kind, *metadata = get_args(annotation) if _is_complete(annotation) else (annotation,)
    opt = next((each for each in metadata if isinstance(each, Opt)), None)
    if opt is not None:
        return _parameter(name, opt, kind, default)
    only = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, only, annotation=annotation, default=default)


def _parameter(name: str, opt: Opt, kind: Any, default: Any) -> inspect.Parameter:
    """The command line's parameter of an option, with this type and default."""
    if default is MISSING:
        default = inspect.Parameter.empty
    settings: Mapping[str, Any] = {
        "help": opt.help,
        "min": opt.min,
        "max": opt.max,
        "metavar": opt.metavar,
    }
    if opt.argument:
        marker: Any = typer.Argument(**settings)
    else:
        flag = opt.flag or f"--{name.replace('_', '-')}"
        is_switch = kind is bool and default is False
        names = (flag,) if is_switch or opt.flag else ()
        marker = typer.Option(*names, **settings, show_default=opt.shown, rich_help_panel=opt.panel)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind, marker],
        default=default,
    )


@dataclass(frozen=True, slots=True)
class OptionHelp:
    """A field of an option record, in words."""

    name: str
    type: str
    default: str | None
    """None for no default, or an empty one."""
    help: str


def option_help(record: type[Record]) -> tuple[OptionHelp, ...]:
    """The record's fields in their order."""
    texts = _docstrings(record)
    return tuple(
        OptionHelp(name, _type(each.annotation), _default_text(each), texts.get(name, ""))
        for name, each in record.model_fields.items()
    )


def _docstrings(record: type) -> dict[str, str]:
    """The docstring of each field, as one line."""
    from agent_env.records.schema import Record

    texts: dict[str, str] = {}
    for each in reversed(record.__mro__):
        if not issubclass(each, Record) or each is Record:
            continue
        (body,) = ast.parse(dedent(inspect.getsource(each))).body
        assert isinstance(body, ast.ClassDef)
        for field, below in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match below:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        texts[field.target.id] = " ".join(text.split())
    return texts


def _type(annotation: Any) -> str:
    """`int`, `a|b` for a choice, `list[…]` for several values joined by commas."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "|".join(str(value) for value in inner)
    if origin is tuple:
        return f"list[{_type(inner[0])}]"
    if origin in (Union, UnionType):
        return "|".join(_type(one) for one in inner if one is not type(None))
    return getattr(annotation, "__name__", "str").lower()


def _default_text(field: FieldInfo) -> str | None:
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    if isinstance(default, tuple | dict):
        return ",".join(str(value) for value in default) or None
    if isinstance(default, bool):
        return str(default).lower()
    return None if default is None else str(default)
