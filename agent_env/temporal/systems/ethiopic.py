"""The Ethiopic calendar, counted from 29 August 8 (Julian), the Incarnation Era."""

from __future__ import annotations

from agent_env.temporal.systems.alexandrian import Alexandrian


class Ethiopic(Alexandrian):
    """The Ethiopic calendar, 1583-01-01 to 2400-12-31 (years 1575 to 2393)."""

    name = "ethiopic"
    months = (
        "Meskerem",
        "Tikimt",
        "Hidar",
        "Tahsas",
        "Tir",
        "Yekatit",
        "Megabit",
        "Miazia",
        "Ginbot",
        "Sene",
        "Hamle",
        "Nehase",
        "Pagume",
    )
    before_year_one = 2795
