"""Sentences with the name of an event, whether it is a noun phrase or a clause."""

import pytest

from agent_env.features.facts.tables.event_names import is_clause, is_point, years_of
from agent_env.features.facts.tables.tables import shipped_tables

ADA = "Ada Byron was the Countess of Lovelace"
CLAUSES = (
    f"{ADA}|Wilhelmine Reichard became a balloonist|Johan Cruyff played for Ajax"
    "|Emmy Noether worked at Bryn Mawr College|the Hanse owned the Steelyard in London"
    "|Marie Curie held a chair at the Sorbonne"
)


def test_a_name_with_a_verb_of_its_own_is_a_clause_and_none_of_the_shipped_table_is():
    assert [name for name in CLAUSES.split("|") if not is_clause(name)] == []
    rows = shipped_tables().events
    names = [name for row in rows for name in (row.event, row.hint) if name]
    assert [name for name in names if is_clause(name)] == []


@pytest.mark.parametrize(
    ("name", "kind", "over"),
    [
        (ADA, "event", True),
        ("Ada Byron is the Countess of Lovelace", "event", False),
        ("the Treaty of Ghent", "treaty", True),
        ("the reign of Nobody", "reign", False),
        ("the Great Fair", "event", False),
    ],
)
def test_past_clauses_and_points_in_time_do_not_last_still(name, kind, over):
    assert is_point(name, kind) is over


def test_the_years_of_a_noun_and_of_a_clause():
    reign = "the reign of Charles X"
    assert years_of(reign) == f"That year saw at least part of {reign}."
    assert years_of(ADA) == f"For at least part of that year, {ADA}."
