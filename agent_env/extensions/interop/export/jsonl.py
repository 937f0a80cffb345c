"""Flat tables as JSON lines: episodes.jsonl, steps.jsonl, tool_calls.jsonl."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from agent_env.extensions.interop.export.chat import as_line
from agent_env.extensions.interop.export.source import Source
from agent_env.extensions.interop.export.tables import columns, rows


def write(source: Source, out: Path) -> dict[str, int]:
    """Write the tables into the folder `out`; how many rows each has."""
    counts = dict.fromkeys(columns(source), 0)
    with ExitStack() as stack:
        files = {
            name: stack.enter_context((out / f"{name}.jsonl").open("w", encoding="utf-8"))
            for name in counts
        }
        for tables in rows(source):
            for name, made in tables.items():
                counts[name] += len(made)
                for row in made:
                    files[name].write(as_line(row))
    return counts
