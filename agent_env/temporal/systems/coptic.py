"""The Coptic calendar, counted from 29 August 284 (Julian), the Era of the Martyrs."""

from __future__ import annotations

from agent_env.temporal.systems.alexandrian import Alexandrian


class Coptic(Alexandrian):
    """The Coptic calendar, 1583-01-01 to 2400-12-31 (years 1299 to 2117)."""

    name = "coptic"
    months = (
        "Thout",
        "Paopi",
        "Hathor",
        "Koiak",
        "Tobi",
        "Meshir",
        "Paremhat",
        "Parmouti",
        "Pashons",
        "Paoni",
        "Epip",
        "Mesori",
        "Pi Kogi Enavot",
    )
    before_year_one = 103604
