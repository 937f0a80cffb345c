"""Names, types, defaults and docstrings of the fields of an option record."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from textwrap import dedent
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from agent_env.records.schema import Record


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
