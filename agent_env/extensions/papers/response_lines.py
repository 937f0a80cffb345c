"""Reads responses as JSON lines, for papers without published responses in a format of their own.

A line has `setup` and `sample` (the names that `reproduce` gives them in its folder), `model`,
`response` and may have `condition` (default `base`) and `output_tokens`.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from agent_env.extensions.papers.responses import ResponseFile, ResponseRow
from agent_env.sdk.errors import DatasetError

FIELDS = ("setup", "model", "sample", "response")


def read_response_lines(path: Path, setups: Collection[str]) -> ResponseFile:
    """The responses of a file; DatasetError names the line and the field."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise DatasetError(path, None, f"cannot be read: {exc}") from exc
    rows = [_row(path, n, line, setups) for n, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise DatasetError(path, None, "holds no response")
    return ResponseFile(tuple(rows))


def _row(path: Path, number: int, line: str, setups: Collection[str]) -> ResponseRow:
    try:
        item: Any = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise DatasetError(path, number, f"is not JSON: {exc}") from exc
    if not isinstance(item, dict):
        raise DatasetError(path, number, "is not a JSON object")
    for name in FIELDS:
        is_empty = name == "response" and name in item and item[name] is None
        if not isinstance(item.get(name), str) and not is_empty:
            raise DatasetError(path, number, f"{name} is missing or no text")
    if item["setup"] not in setups:
        raise DatasetError(
            path, number, f"setup '{item['setup']}' is unknown; known: {', '.join(setups)}"
        )
    tokens = item.get("output_tokens")
    return ResponseRow(
        setup=item["setup"],
        model=item["model"],
        condition=str(item.get("condition", "base")),
        sample=item["sample"],
        text=item["response"],
        output_tokens=int(tokens) if isinstance(tokens, int | float) else None,
    )
