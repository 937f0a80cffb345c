"""The regular expressions of the package, and how each is used.

Found are those that modules hold, in tables, classes and bound methods too, and those that a call
to `re` writes out, with a word in the place of what only the run time knows.
"""

import ast
import builtins
import importlib
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from functools import cache, partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import agent_env
from agent_env.temporal.written import DateForms

WAYS = {
    "search": "finditer", "finditer": "finditer", "findall": "finditer", "split": "finditer",
    "sub": "finditer", "subn": "finditer", "match": "match", "fullmatch": "fullmatch",
}  # fmt: skip
"""Methods of a pattern, and what each is timed as."""
ALL = frozenset(WAYS.values())
FLAGS_AT = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "finditer": 2, "findall": 2}
"""Where a call of `re` has its flags, unless by name."""
WORD = "Ab"
"""Stands for what a function is given, in a pattern that it writes."""
PLAIN = (str, bytes, int, float, date, ModuleType, FunctionType, type(None))
"""Values that hold no pattern."""


@dataclass(frozen=True, slots=True)
class Known:
    """A pattern of the package."""

    where: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]
    """How it is used, of finditer, match and fullmatch; all where that cannot be told."""


@cache
def package_patterns():
    """Every pattern, and the calls whose pattern only the run time knows."""
    return _patterns(list(_modules()))


def in_module(module):
    """Those of one module."""
    return _patterns([module])


def _patterns(modules):
    trees = []
    held = {}
    methods = {}
    for module in modules:
        named_patterns = [
            (name, value, pattern)
            for name, value in vars(module).items()
            for pattern in _inside(value, module.__name__, set())
        ]
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        if not named_patterns and "import re\n" not in source:
            continue
        trees.append((module, _nodes(source)))
        uses = _uses(trees[-1][1])
        for name, value, pattern in named_patterns:
            held.setdefault(id(pattern), (f"{module.__name__}.{name}", pattern))
            own = uses.get(name) or (set() if pattern is value else uses.get("", set()))
            methods.setdefault(id(pattern), set()).update(own)
    known = [Known(where, p, frozenset(methods[id(p)] or ALL)) for where, p in held.values()]
    named = {(p.pattern, p.flags) for _, p in held.values()}
    unknown = []
    for module, nodes in trees:
        for call, method in _calls(nodes):
            where = f"{module.__name__}:{call.lineno}"
            if (found := _written(call, method, module)) is None:
                unknown.append(where)
            elif (found.pattern, found.flags) not in named:
                known.append(Known(where, found, frozenset({WAYS.get(method, "")} - {""}) or ALL))
    return known, unknown


def _nodes(source):
    """Of a module, walked through once: that takes as long as importing it."""
    return list(ast.walk(ast.parse(source)))


def _modules():
    for found in pkgutil.walk_packages(agent_env.__path__, "agent_env."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def _inside(value, module, seen):
    """The patterns that a value of a module holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif not isinstance(value, PLAIN) and id(value) not in seen:
        seen.add(id(value))
        for part in _parts(value, module):
            yield from _inside(part, module, seen)


def _parts(value, module):
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, tuple | list | set | frozenset):
        return list(value)
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, type):
        return list(vars(value).values()) if value.__module__ == module else []
    if isinstance(value, DateForms):
        return [value.pattern]
    if is_dataclass(value):
        return [getattr(value, field.name) for field in fields(value)]
    bound = getattr(value, "__self__", None)
    return [bound] if isinstance(bound, re.Pattern) else []


def _uses(nodes):
    """How a module uses the patterns it names; all ways for a name that is handed on."""
    uses = {}
    receivers = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            receivers.add(node.value)
            name = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in WAYS and name != "re":
                uses.setdefault(name, set()).add(WAYS[node.attr])
                uses.setdefault("", set()).add(WAYS[node.attr])
    tables = set()
    for target, table in _loops(nodes):
        uses.setdefault(table, set()).update(uses.get(target, set()))
        tables.add(table)
    for node in nodes:
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if is_read and node not in receivers and node.id not in tables:
            uses.setdefault(node.id, set()).update(uses.get("") or ALL)
    return uses


def _loops(nodes):
    """Names that a loop gives to the members of a table, and the table's name."""
    for node in nodes:
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Name):
            for inner in ast.walk(node.target):
                if isinstance(inner, ast.Name):
                    yield inner.id, node.iter.id


def _calls(nodes):
    """Calls of `re` that are given a pattern, each with the function's name."""
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in {*WAYS, "compile"}
        ):
            yield node, node.func.attr


def _written(call, method, module):
    """The pattern of a call; None where the source does not have it."""
    room = vars(builtins) | vars(module)
    names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    space = {name: room.get(name, WORD) for name in names}
    flags = [k.value for k in call.keywords if k.arg == "flags"]
    flags += call.args[FLAGS_AT.get(method, len(call.args)) :]
    if isinstance(call.args[0], ast.Name) and call.args[0].id not in room:
        return None
    try:
        pattern, flag = (
            eval(compile(ast.Expression(part), "", "eval"), dict(space))
            for part in (
                call.args[0],
                flags[0] if flags else ast.Constant(0, lineno=1, col_offset=0),
            )
        )
        return re.compile(pattern, flag)
    except (NameError, AttributeError, TypeError, ValueError, re.error):
        return None
