"""Shifted worlds of questions from tables: the rows exchange dates, and the statement agrees."""

from __future__ import annotations

import sqlite3
from random import Random

import pytest

from agent_env.families.tdbench.options import TdbenchOptions
from agent_env.families.tdbench.shift import exchanged, golds_in, shifted_world
from agent_env.tasks.task import CannotShift
from agent_env.temporal.facts.sql_text import identifier
from agent_env.web.site.difficulty import LEVELS
from agent_env.web.site.tables import table_pages
from agent_env.wiring.registry import load_family

MADE = load_family("tdbench").make_samples(12, 4, TdbenchOptions(book="open"))
TABLES = {table.digest: table for table in MADE.tables}
TEXTS = {
    sheet.url: sheet.text for table in MADE.tables for sheet in table_pages(table, LEVELS["medium"])
}


def by_statement(sample, table):
    """The answers by the question's own SQL, over the table."""
    base = sqlite3.connect(":memory:")
    columns = ", ".join(f"{identifier(name)} TEXT" for name in table.columns)
    base.execute(f"CREATE TABLE {identifier(table.name)} ({columns})")
    marks = ", ".join("?" for _ in table.columns)
    base.executemany(f"INSERT INTO {identifier(table.name)} VALUES ({marks})", table.rows)
    rows = base.execute(sample.sql["sqlite"]).fetchall()
    base.close()
    return tuple(dict.fromkeys(", ".join(row[:-2]) for row in rows))


def test_the_statement_finds_what_the_relation_does_in_tables_with_exchanged_dates():
    for sample in MADE.samples:
        table = TABLES[sample.materials[0]]
        for seed in range(3):
            moved = exchanged(table, sample.relevant[0], Random(seed))
            answers = tuple(dict.fromkeys(row.answer for row in golds_in(sample, moved)))
            assert answers == by_statement(sample, moved)


def test_a_twin_has_as_many_answers_and_others():
    moved = 0
    for sample in MADE.samples[:6]:
        try:
            world = shifted_world(sample, TABLES[sample.materials[0]], Random(1), TEXTS.get)
        except CannotShift:
            continue
        twin = type(sample).model_validate(sample.model_dump(mode="json") | world.sample)
        moved += 1
        assert twin.question == sample.question
        assert set(twin.gold) != set(sample.gold)
        assert (len(twin.gold) > 1) == (len(sample.gold) > 1)
        assert set(twin.gold).isdisjoint(twin.others)
    assert moved > 2


def test_every_page_of_the_group_has_the_new_dates_and_no_other_page_changes():
    sample = MADE.samples[0]
    world = shifted_world(sample, TABLES[sample.materials[0]], Random(1), TEXTS.get)
    assert sample.proofs[0].urls[0] in {page.url for page in world.pages}
    for page in world.pages:
        assert page.was is None or page.text != TEXTS[page.was]


def test_a_web_of_another_table_is_not_rendered_anew():
    sample = MADE.samples[0]
    with pytest.raises(CannotShift, match="the run's web has other pages of its table"):
        shifted_world(sample, TABLES[sample.materials[0]], Random(1), lambda url: "other")


def test_other_kinds_than_relations_are_not_shifted():
    sample = MADE.samples[0].model_copy(update={"kind": "count"})
    with pytest.raises(CannotShift, match="questions of kind count"):
        shifted_world(sample, TABLES[sample.materials[0]], Random(1), TEXTS.get)
