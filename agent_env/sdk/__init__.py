"""What families, features and packages of others build on, by topic. These names stay, but
for those of `inside`; all else of `agent_env` but itself and `agent_env.temporal` may change.

The modules of this package hold no code: each lists its names where mypy and editors see them, and
imports a name when it is asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def on_demand(file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module: what it imports `if TYPE_CHECKING` is imported when
    it is asked for."""
    places = dict[str, str]()
    for node in ast.walk(ast.parse(Path(file).read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module not in (None, "typing", __name__):
            places |= {each.name: str(node.module) for each in node.names}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"{file} has no name '{name}'")
        return getattr(import_module(places[name]), name)

    return get, lambda: sorted(places)
