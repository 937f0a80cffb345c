"""Flat tables as Parquet, typed alike for every run: episodes, steps, tool_calls."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from agent_env.extensions.interop.export.chat import storable
from agent_env.extensions.interop.export.source import Source
from agent_env.extensions.interop.export.tables import Kind, Row, columns, rows
from agent_env.sdk.commands import need_extra

AT_ONCE = 5_000
"""Rows of a table that are held in memory before they are written."""


def write(source: Source, out: Path) -> dict[str, int]:
    """Write the tables into the folder `out`; how many rows each has."""
    need_extra("pyarrow", extra="parquet", what="--to parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    types: dict[Kind, Any] = {
        "text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(),
        "texts": pa.list_(pa.string()),
    }  # fmt: skip
    schemas = {
        name: pa.schema([(column, types[kind]) for column, kind in table.items()])
        for name, table in columns(source).items()
    }
    counts, waiting = dict.fromkeys(schemas, 0), {name: list[Row]() for name in schemas}
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(pq.ParquetWriter(out / f"{name}.parquet", schema))
            for name, schema in schemas.items()
        }

        def flush(name: str) -> None:
            rows_ = [{k: _storable(v) for k, v in row.items()} for row in waiting[name]]
            writers[name].write_table(pa.Table.from_pylist(rows_, schema=schemas[name]))
            waiting[name].clear()

        for tables in rows(source):
            for name, made in tables.items():
                counts[name] += len(made)
                waiting[name] += made
                if len(waiting[name]) >= AT_ONCE:
                    flush(name)
        for name in schemas:
            flush(name)
    return counts


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    return [_storable(part) for part in value] if isinstance(value, list) else value
