"""Published files: ours come back as they were, those of others are read where they are clear."""

import json

import pytest

from agent_env.errors import DatasetError
from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.published import (
    puzzle_bytes,
    read_published,
    read_puzzles,
    write_published,
)
from tests import TESTS
from tests.families.time_puzzles.sets import generate

from .by_hand import GOOD, TABLES

FOREIGN = TESTS / "data" / "published" / "foreign.json"


def test_the_format_has_nine_keys_and_reads_back_the_same(tmp_path):
    puzzles = (*GOOD, *generate(TABLES, 18, seed=11))
    file = tmp_path / "puzzles.json"
    file.write_bytes(write_published(puzzles))
    for puzzle, again in zip(puzzles, read_published(file), strict=True):
        assert (again.facts, again.gold, again.id) == (puzzle.facts, puzzle.gold, puzzle.id)
        assert again.constraints == puzzle.constraints
        assert again.explicit_constraints == puzzle.explicit_constraints
        assert (again.years, again.seed_date) == (puzzle.years, puzzle.seed_date)
        assert again.solution_count == puzzle.solution_count
    assert write_published(read_published(file)) == file.read_bytes()
    (row,) = json.loads(write_published(GOOD[:1]))
    assert list(row) == [
        "identifier", "constraints", "explicit_constraints", "constraints_meta", "solutions",
        "solution_count", "year_range", "seed_date", "noise_date",
    ]  # fmt: skip
    assert row["constraints_meta"][1] == {"type": "month", "month": 6}
    assert row["year_range"] == [1800, 2050]
    (row,) = json.loads(write_published(GOOD[2:3], TABLES))
    assert row["constraints_meta"][0]["value"] == [1908, 1948, 2012]


def test_foreign_files_are_read_where_clear_and_kept():
    first, second, third = read_published(FOREIGN)
    assert (first.id, second.id, third.id) == ("7", "7-2", "a-b-")
    assert first.identifier == 7
    assert first.facts[0] == ft.KbEvent(
        event="The Battle of  Waterloo", aspect="start", level="year", value=1815
    )
    assert first.facts[1:] == (ft.Month(month=6), ft.DayOfMonthSpecific(day=18))
    assert first.gold == ("1815-06-18",)
    assert second.gold == ("1977-03-02", "1978-03-02", "1979-03-02", "1980-03-02")
    assert second.facts[0] == ft.UsPresident(person="jimmy carter")
    assert third.constraints[1] == "It is the month of Austerlitz."
    assert third.facts[0] == ft.PersonAlive(person="Nobody Known")
    assert third.facts[3] == ft.Decade(decade=1910)
    assert (third.solution_count, third.years) == (9, "1800-2050")
    rows = json.loads(write_published(read_published(FOREIGN)))
    assert rows[0]["difficulty"] == "easy"
    assert rows[0]["solutions"] == ["1815-06-18T00:00:00"]


def test_either_kind_of_file_and_its_explicit_gold(tmp_path):
    file = tmp_path / "samples.jsonl"
    file.write_bytes(puzzle_bytes(GOOD))
    assert read_puzzles(file) == GOOD
    file.write_bytes(b"\xef\xbb\xbf\n " + write_published(GOOD))
    assert [puzzle.gold for puzzle in read_puzzles(file)] == [puzzle.gold for puzzle in GOOD]
    rows = json.loads(write_published(GOOD[:2]))
    rows[1]["explicit_solutions"] = ["1848-07-21"]
    file = tmp_path / "puzzles.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    puzzles = read_published(file)
    assert [puzzle.explicit_gold for puzzle in puzzles] == [None, ("1848-07-21",)]
    assert json.loads(write_published(puzzles)) == rows
    samples = tmp_path / "samples.jsonl"
    samples.write_bytes(b"".join(p.model_dump_json().encode() + b"\n" for p in puzzles))
    assert [puzzle.explicit_gold for puzzle in read_puzzles(samples)] == [None, ("1848-07-21",)]


def read_meta(folder, *meta):
    row = json.loads(write_published(GOOD[:1]))[0] | {"constraints_meta": list(meta)}
    file = folder / "puzzles.json"
    file.write_text(json.dumps([row]), encoding="utf-8")
    return read_published(file)[0].facts


def rows(name):
    """Of published files: what an entry means, and what of a puzzle is refused with which words."""
    lines = (TESTS / "data/forms" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(("meta", "fact"), rows("meta.jsonl"))
def test_a_meta_entry_is_understood(meta, fact, tmp_path):
    (found,) = read_meta(tmp_path, meta)
    assert found.model_dump(mode="json") == fact


@pytest.mark.parametrize(
    "value", [[1908, 1948, 2012], "1908;1948;2012", [[1908, 1908], 1948, 2012]]
)
def test_years_of_an_event_may_be_a_list_or_spans(value, tmp_path):
    row = json.loads(write_published(GOOD[2:3]))[0]
    row["constraints_meta"][0]["value"] = value
    file = tmp_path / "puzzles.json"
    file.write_text(json.dumps([row]), encoding="utf-8")
    (puzzle,) = read_published(file)
    assert puzzle.event_years == (1908, 1948, 2012)


@pytest.mark.parametrize(("change", "message"), rows("broken.jsonl"))
def test_a_broken_file_is_named_by_index_and_field(change, message, tmp_path):
    rows = json.loads(write_published(GOOD[:2]))
    rows[1] |= change
    file = tmp_path / "puzzles.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(DatasetError, match=rf"puzzles\.json: index 1, .*{message}"):
        read_puzzles(file)


def test_a_missing_key_is_named(tmp_path):
    rows = json.loads(write_published(GOOD[:1]))
    del rows[0]["explicit_constraints"]
    file = tmp_path / "puzzles.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(DatasetError, match="index 0, explicit_constraints: is missing"):
        read_puzzles(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "is not JSON"),
        ('{"id": "x"}', ":1: gold: Field required"),
    ],
)
def test_a_file_that_is_no_puzzle_file_says_why(text, message, tmp_path):
    file = tmp_path / "puzzles.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        read_puzzles(file)
