"""The objects of a JSON file: JSON lines or one array."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agent_env.errors import DatasetError


def json_rows(file: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects with their line numbers, or with indices from 1 for an array; DatasetError names
    the file and the line of what is no JSON object."""
    items: Iterable[tuple[int, Any]]
    if text.lstrip().startswith("["):
        items = enumerate(_parse(file, None, text), start=1)
    else:
        lines = enumerate(text.split("\n"), start=1)
        items = ((number, _parse(file, number, line)) for number, line in lines if line.strip())
    for number, item in items:
        if not isinstance(item, dict):
            raise DatasetError(file, number, "is not a JSON object")
        yield number, item


def _parse(file: Path, line: int | None, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise DatasetError(file, line, f"is not JSON: {exc}") from exc
