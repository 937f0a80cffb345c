"""Facts about days."""

from __future__ import annotations

from datetime import date

from agent_env.tools.function import tool


@tool(timeout_s=5)
async def almanac(day: date) -> str:
    """The weekday of a day.

    Args:
        day: YYYY-MM-DD.
    """
    return day.strftime("%A")
