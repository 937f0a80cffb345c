"""Every page says what its text says, every proving page proves, and harder is harder."""

import re

import pytest

from agent_env.families.time_puzzles.candidates import event_facts
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import PersonAlive, UsPresident
from agent_env.families.time_puzzles.guarantees import proofs_of
from agent_env.features.facts.fiction.world import make_world
from agent_env.features.facts.site.render import render_all
from agent_env.features.facts.site.sheet import LEVELS
from agent_env.features.facts.tables.articles import event_title
from agent_env.features.facts.tables.tables import EventRow, FactTables, shipped_tables
from agent_env.scoring.evidence import stands_in
from agent_env.temporal.days import PUZZLE_DAYS, PartialDate
from agent_env.web.extract import extract

WORLDS = {"real": shipped_tables(), "fictional": make_world(300, seed=6)}


def rendered(world, level):
    return {sheet.url: sheet for sheet in render_all(WORLDS[world], LEVELS[level])}


@pytest.mark.parametrize("level", LEVELS)
def test_the_text_of_a_page_is_what_extraction_finds_in_its_html(level):
    for sheet in list(rendered("fictional", level).values())[::3]:
        found = extract(sheet.html.encode())
        assert (found.title, found.text) == (sheet.title, sheet.text)


def facts_of(tables):
    facts = [fact for row in tables.events for fact in event_facts(row)]
    facts += [PersonAlive(person=row.person) for row in tables.people]
    return facts + [UsPresident(person=row.person) for row in tables.presidents if row.end]


@pytest.mark.parametrize(
    ("world", "level"), [*(("fictional", level) for level in LEVELS), ("real", "hard")]
)
def test_every_page_that_is_said_to_prove_a_fact_states_its_dates(world, level):
    sheets, tables = rendered(world, level), WORLDS[world]
    proofs = proofs_of(facts_of(tables), DaySets(PUZZLE_DAYS, tables))
    assert len(proofs) > 900
    for proof in proofs:
        for url in proof.urls:
            missing = [date for date in proof.dates if not stands_in(date, sheets[url].text)]
            assert not missing, (url, missing)


@pytest.mark.parametrize("level", LEVELS)
def test_sentences_say_dates_as_precisely_as_the_table_knows_them(level):
    spans = [("1995", "1996"), ("1978", "1978"), ("2015-06", "2023"), ("1950", ""), ("", "1931-03")]
    days = [[PartialDate.parse(text) if text else None for text in span] for span in spans]
    rows = tuple(
        EventRow(f"trial {n}-{number}", "event", "", "", *span, (), "")
        for n in range(9)
        for number, span in enumerate(days)
    )
    tables = FactTables(rows, (), ())
    sheets = {sheet.url: sheet.text for sheet in render_all(tables, LEVELS[level])}
    for text in sheets.values():
        assert not re.search(r"\b(?:on|begun|over|ended) (?:[A-Z][a-z]+ )?\d{4}\b", text)
    whole = "\n".join(sheets.values())
    for words in (
        "over in 1996.", "began in 1995 and ended in 1996.", "lasted from 1995 to 1996.",
        "took place in 1978.",
    ):  # fmt: skip
        assert words in whole
    proofs = proofs_of(facts_of(tables), DaySets(PUZZLE_DAYS, tables))
    assert proofs
    for proof in proofs:
        for url in proof.urls:
            assert all(stands_in(date, sheets[url]) for date in proof.dates), (url, proof.dates)


def test_addresses_and_hidden_dates_go_by_level():
    for tables in WORLDS.values():
        sheets = list(render_all(tables, LEVELS["hard"]))
        known = {sheet.url for sheet in sheets}
        assert len(known) == len(sheets)
        linked = [url for sheet in sheets for _, url in sheet.links]
        assert sum(url in known for url in linked) / len(linked) > 0.98
    titles = {event_title(row.event) for row in WORLDS["real"].events if row.start}
    for level, least, most in (("easy", 0.0, 0.0), ("medium", 0.4, 0.6), ("hard", 1.0, 1.0)):
        sheets = rendered("real", level).values()
        own = [s.text for s in sheets if s.title in titles and "/encyclopedia." in s.url]
        hidden = sum(re.search(r"\d{4}", text.splitlines()[0]) is None for text in own)
        assert least <= hidden / len(own) <= most
    for sheet in rendered("real", "medium").values():
        assert not re.search(r"\w One year|\b1 years|(?:by|and|Between) Presidency of", sheet.text)
        assert not re.search(r"^one year", sheet.text, re.M)
