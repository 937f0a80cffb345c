"""An invented world is consistent, large enough, and the same for the same seed."""

import itertools
import re
from collections import Counter, defaultdict

import pytest

from agent_env.errors import ConfigError
from agent_env.features.facts.fiction.names import ordinal
from agent_env.features.facts.fiction.world import TODAY, make_world
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.features.facts.tables.user_tables import row_defects

WORLD = make_world(1500, seed=3)
LIVES = {row.person: row for row in WORLD.people}
TWO_NAMES = re.compile(r"(?=\b([A-Z]\w+ [A-Z]\w+))")


def test_one_seed_gives_one_world_that_keeps_its_rules():
    assert make_world(300, seed=8) == make_world(300, seed=8)
    assert make_world(300, seed=8) != make_world(300, seed=9)
    names = [row.event.casefold() for row in WORLD.events]
    hints = [row.hint for row in WORLD.events if row.hint]
    assert len(set(names)) == len(names)
    assert len(set(hints)) == len(hints) > 500
    assert len(LIVES) == len(WORLD.people)
    assert [d for row in WORLD.events for d in row_defects(row, TODAY)] == []
    assert not any(ch.isdigit() for row in WORLD.events for ch in row.summary)
    lasts = Counter(name.split(" ")[-1] for name in LIVES)
    assert sum(count > 1 for count in lasts.values()) > 30
    tables = shipped_tables()
    real = {row.event for row in tables.events} | {row.person for row in tables.people}
    assert not real & ({row.event for row in WORLD.events} | set(LIVES))
    for row in WORLD.intervals:
        life = LIVES[row.subject]
        assert life.start < row.start <= row.end < life.end
        assert (row.start - life.start).days > 16 * 365
    for event in WORLD.events:
        for name in LIVES.keys() & set(TWO_NAMES.findall(event.summary)):
            life = LIVES[name]
            assert life.start < event.start.first <= event.end.first < life.end
    spells = defaultdict(list)
    for row in WORLD.intervals:
        spells[row.subject].append((row.start, row.end))
        if row.relation in ("holds_office", "manages"):  # one at a time
            spells[row.relation, row.object].append((row.start, row.end))
    for spans in spells.values():
        spans.sort()
        assert all(a[1] < b[0] for a, b in itertools.pairwise(spans) if a[1])
    series = defaultdict(list)
    for row in WORLD.events:
        if row.kind == "election":
            number, _, office = row.event.removeprefix("the ").partition(" election of ")
            assert row.start.first.weekday() == 1
            series[office].append((number, row.start.year))
    assert len(series) > 3
    for held in series.values():
        assert [number for number, _ in held] == [ordinal(n + 1) for n in range(len(held))]
        assert len({b[1] - a[1] for a, b in itertools.pairwise(held)}) <= 1


def test_a_small_world_is_whole_and_one_of_no_use_refused():
    for entities in (100, 101, 137):
        world = make_world(entities, 1)
        assert len(world.people) + len(world.events) + 1 + entities // 60 == entities
    for entities in (0, 99, 200_001):
        with pytest.raises(ConfigError, match="100 to 200000"):
            make_world(entities, 1)


def test_names_can_be_read_aloud_and_are_nobodys():
    words = {word for name in LIVES for word in name.split()}
    assert len(words) > 300
    for word in words:
        assert re.fullmatch(r"[A-Z][a-z]{2,15}", word), word
        assert not re.search(r"[^aeiouy]{5}|[aeiou]{4}|(.)\1\1", word.lower()), word
        assert len(re.findall(r"[aeiouy]+", word.lower())) >= 2, word
    tables = shipped_tables()
    texts = [f"{row.event} {row.summary} {row.hint}" for row in tables.events]
    known = {row.person for row in (*tables.people, *tables.presidents)}
    known |= set(TWO_NAMES.findall(" ".join(texts)))
    assert not known & set(LIVES)
    assert len({word[-3:] for word in words}) > 80  # several families
