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


SAME = "facts gold id constraints explicit_constraints years seed_date solution_count"


def written(folder, content):
    """A file of these rows, this text or these bytes."""
    file, text = folder / "puzzles.json", content
    if isinstance(content, list):
        text = json.dumps(content)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def good(count):
    """The rows of the first puzzles, as they are published."""
    return json.loads(write_published(GOOD[:count]))


def test_the_format_has_nine_keys_and_reads_back_the_same(tmp_path):
    puzzles = (*GOOD, *generate(TABLES, 18, seed=11))
    file = written(tmp_path, write_published(puzzles))
    for puzzle, again in zip(puzzles, read_published(file), strict=True):
        for name in SAME.split():
            assert getattr(again, name) == getattr(puzzle, name)
    assert write_published(read_published(file)) == file.read_bytes()
    (row,) = good(1)
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
    assert read_puzzles(written(tmp_path, puzzle_bytes(GOOD))) == GOOD
    file = written(tmp_path, b"\xef\xbb\xbf\n " + write_published(GOOD))
    assert [puzzle.gold for puzzle in read_puzzles(file)] == [puzzle.gold for puzzle in GOOD]
    rows = good(2)
    rows[1]["explicit_solutions"] = ["1848-07-21"]
    puzzles = read_published(written(tmp_path, rows))
    assert [puzzle.explicit_gold for puzzle in puzzles] == [None, ("1848-07-21",)]
    assert json.loads(write_published(puzzles)) == rows
    file = written(tmp_path, b"".join(p.model_dump_json().encode() + b"\n" for p in puzzles))
    assert [puzzle.explicit_gold for puzzle in read_puzzles(file)] == [None, ("1848-07-21",)]


def rows(name):
    """Of published files: what an entry means, and what of a puzzle is refused with which words."""
    lines = (TESTS / "data/forms" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(("meta", "fact"), rows("meta.jsonl"))
def test_a_meta_entry_is_understood(meta, fact, tmp_path):
    file = written(tmp_path, [good(1)[0] | {"constraints_meta": [meta]}])
    ((found,),) = [puzzle.facts for puzzle in read_published(file)]
    assert found.model_dump(mode="json") == fact


@pytest.mark.parametrize(
    "value", [[1908, 1948, 2012], "1908;1948;2012", [[1908, 1908], 1948, 2012]]
)
def test_years_of_an_event_may_be_a_list_or_spans(value, tmp_path):
    row = good(3)[2]
    row["constraints_meta"][0]["value"] = value
    (puzzle,) = read_published(written(tmp_path, [row]))
    assert puzzle.event_years == (1908, 1948, 2012)


@pytest.mark.parametrize(("change", "message"), rows("broken.jsonl"))
def test_a_broken_file_is_named_by_index_and_field(change, message, tmp_path):
    first, second = good(2)
    with pytest.raises(DatasetError, match=rf"puzzles\.json: index 1, .*{message}"):
        read_puzzles(written(tmp_path, [first, second | change]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 100_000, "is not JSON"),
        ('{"id": "x"}', ":1: field 'gold' is missing"),
        (
            [{k: v for k, v in good(1)[0].items() if k != "explicit_constraints"}],
            "index 0, explicit_constraints: is missing",
        ),
    ],
    ids=["not closed", "no gold", "no explicit constraints"],
)
def test_a_file_that_is_no_puzzle_file_says_why(content, message, tmp_path):
    with pytest.raises(DatasetError, match=message):
        read_puzzles(written(tmp_path, content))
