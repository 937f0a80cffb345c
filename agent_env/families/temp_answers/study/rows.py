"""Rows of the answers' tables as what the figures draw."""

from __future__ import annotations

import math

from agent_env.families.temp_answers.study.layouts import Cell, Layout

Row = dict[str, Cell]


def rows_of(layout: Layout) -> list[Row]:
    return [dict(zip(layout.columns, row, strict=True)) for row in layout.rows]


def number(cell: Cell) -> float:
    """NaN, which is not drawn, for what is not known."""
    return float(cell) if isinstance(cell, (int, float)) and math.isfinite(cell) else math.nan


def bars(row: Row, value: str, low: str, high: str) -> list[list[float]]:
    """Lengths below and above for `errorbar`; 0 where there is no interval."""
    found = number(row[value])
    ends = (found - number(row[low]), number(row[high]) - found)
    return [[0.0 if math.isnan(end) else max(0.0, end)] for end in ends]
