"""What the policy knows of time words, against the tables of the package."""

from __future__ import annotations

from datetime import date

import pytest

from agent_env.families.traveler.curves import ADVERBIALS, Parametric
from agent_env.families.traveler.periods import holidays
from agent_env.families.traveler.reference_vague import (
    applies,
    holiday,
    likeliest_names,
    likeliest_number,
)
from agent_env.families.traveler.vocabulary import HOME


def test_its_curves_are_the_default_ones() -> None:
    fitted = Parametric({event.name: event.offset for event in HOME.events})
    for event in HOME.events:
        for adverbial in ADVERBIALS:
            for minutes in (1, 90, 5000, 390_000):
                known = applies(f"Who {event.did} there?", adverbial, minutes)
                assert known == pytest.approx(fitted.p(event.name, adverbial, minutes), abs=1e-12)


def test_its_holidays_are_those_that_are_asked_for() -> None:
    for year in (1900, 2000, 2023, 2024, 2100):
        for day, name in holidays(year).items():
            assert holiday(name, year) == day
    assert holiday("Easter Sunday", 2023) == date(2023, 4, 9)
    assert holiday("Talk Like a Pirate Day", 2023) is None


def test_it_names_who_more_probably_did_and_counts_what_is_likeliest() -> None:
    assert likeliest_names({"Tom": [0.4, 0.4], "Mary": [0.4], "Robot": []}) == ["Tom"]
    assert likeliest_number([0.9, 0.9, 0.1]) == 2
    assert likeliest_number([]) == 0
