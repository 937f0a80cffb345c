"""Published files: ours come back as they were, those of others are read where they are clear."""

import json

import pytest

from agent_env.errors import DatasetError
from agent_env.families.time_puzzles.facts import (
    CalendarMonth,
    ChineseZodiac,
    DayOfMonthRange,
    DayOfMonthSpecific,
    Decade,
    FirstDayOfMonth,
    KbEvent,
    LastDayOfMonth,
    LeapYear,
    LunarMonth,
    Month,
    MultiWeekday,
    OnWeekday,
    PersonAlive,
    RecurringEvent,
    Season,
    SolarTerm,
    UsPresident,
    WeekdayInMonth,
    WeekdayInYear,
    WesternZodiac,
    YearRange,
)
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


def test_what_was_written_reads_back_the_same(tmp_path):
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


def test_a_written_puzzle_has_the_nine_keys_of_the_format():
    (row,) = json.loads(write_published(GOOD[:1]))
    assert list(row) == [
        "identifier", "constraints", "explicit_constraints", "constraints_meta", "solutions",
        "solution_count", "year_range", "seed_date", "noise_date",
    ]  # fmt: skip
    assert row["constraints_meta"][1] == {"type": "month", "month": 6}
    assert row["year_range"] == [1800, 2050]


def test_tables_name_the_years_of_an_event_that_held_in_several():
    (row,) = json.loads(write_published(GOOD[2:3], TABLES))
    assert row["constraints_meta"][0]["value"] == [1908, 1948, 2012]


def test_a_foreign_file_is_read_where_it_is_clear():
    first, second, third = read_published(FOREIGN)
    assert (first.id, second.id, third.id) == ("7", "7-2", "a-b-")
    assert first.identifier == 7
    assert first.facts[0] == KbEvent(
        event="The Battle of  Waterloo", aspect="start", level="year", value=1815
    )
    assert first.facts[1:] == (Month(month=6), DayOfMonthSpecific(day=18))
    assert first.gold == ("1815-06-18",)
    assert second.gold == ("1977-03-02", "1978-03-02", "1979-03-02", "1980-03-02")
    assert second.facts[0] == UsPresident(person="jimmy carter")
    assert third.constraints[1] == "It is the month of Austerlitz."
    assert third.facts[0] == PersonAlive(person="Nobody Known")
    assert third.facts[3] == Decade(decade=1910)
    assert (third.solution_count, third.years) == (9, "1800-2050")


def test_keys_that_we_do_not_know_are_kept():
    rows = json.loads(write_published(read_published(FOREIGN)))
    assert rows[0]["difficulty"] == "easy"
    assert rows[0]["solutions"] == ["1815-06-18T00:00:00"]


def test_either_kind_of_file_is_told_by_its_first_byte(tmp_path):
    file = tmp_path / "samples.jsonl"
    file.write_bytes(puzzle_bytes(GOOD))
    assert read_puzzles(file) == GOOD
    file.write_bytes(b"\xef\xbb\xbf\n " + write_published(GOOD))
    assert [puzzle.gold for puzzle in read_puzzles(file)] == [puzzle.gold for puzzle in GOOD]


def test_a_gold_of_the_explicit_wording_is_read_and_written(tmp_path):
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


@pytest.mark.parametrize(
    ("meta", "fact"),
    [
        ({"type": "decade", "value": "1990s"}, Decade(decade=1990)),
        ({"type": "year_range", "value": [1990, 1995]}, YearRange(start=1990, end=1995)),
        ("leap_year", LeapYear()),
        ({"type": "chinese_zodiac", "value": "sheep"}, ChineseZodiac(animal="Goat")),
        ({"type": "western_zodiac", "sign": "LEO"}, WesternZodiac(sign="Leo")),
        ({"type": "lunar_month", "value": 8}, LunarMonth(month=8)),
        ({"type": "lunar_month", "value": 14}, LunarMonth(month=14)),
        ({"type": "event", "name": "leap_year"}, LeapYear()),
        ({"type": "month", "value": "Sep"}, Month(month=9)),
        ({"type": "season", "season": "Fall"}, Season(season="autumn")),
        ({"type": "weekday", "value": 6}, OnWeekday(weekday="Sunday")),
        ({"type": "weekday", "weekday": "tue"}, OnWeekday(weekday="Tuesday")),
        (
            {"type": "multi_weekday", "value": [0, "Friday", 0]},
            MultiWeekday(value=("Monday", "Friday")),
        ),
        (
            {"type": "weekday_in_month", "weekday": 4, "n": -2},
            WeekdayInMonth(direction="last", weekday="Friday", n=2),
        ),
        (
            {"type": "weekday_in_year", "direction": "end", "weekday": "Monday", "n": 3},
            WeekdayInYear(direction="last", weekday="Monday", n=3),
        ),
        (
            {"type": "day_of_month", "operator": "<=", "value": 9},
            DayOfMonthRange(operator="<", value=10),
        ),
        (
            {"type": "day_of_month", "operator": ">=", "value": 9},
            DayOfMonthRange(operator=">", value=8),
        ),
        (
            {"type": "day_of_month", "operator": "after", "value": 9},
            DayOfMonthRange(operator=">", value=9),
        ),
        ({"type": "first_day_of_month"}, FirstDayOfMonth()),
        ({"type": "last_day_of_month", "value": True}, LastDayOfMonth()),
        ({"type": "event", "name": "Summer Olympics"}, RecurringEvent(name="summer_olympics")),
        ({"type": "event", "value": "FIFA World Cup"}, RecurringEvent(name="world_cup")),
        (
            {"type": "calendar_month", "params": {"calendar": "hebrew", "month": 1}},
            CalendarMonth(calendar="hebrew", month=1),
        ),
        ({"type": "solar_term", "name": "Lichun", "more": 1}, SolarTerm(name="Lichun")),
    ],
)
def test_a_meta_entry_is_understood(meta, fact, tmp_path):
    assert read_meta(tmp_path, meta) == (fact,)


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"constraints_meta": [{"type": "moon_phase"}]}, r"constraints_meta\[0\]\.type: 'moon_p"),
        ({"constraints_meta": [{"type": "month", "value": 13}]}, r"\[0\]\.month: 13 is unknown"),
        ({"constraints_meta": [{"type": "weekday"}]}, r"constraints_meta\[0\]\.weekday: is missi"),
        ({"constraints_meta": [{"type": "decade", "value": 1995}]}, "1995 does not begin a decade"),
        (
            {"constraints_meta": [{"type": "decade", "value": "90s"}]},
            "decade: '90s' is not a whole",
        ),
        ({"constraints_meta": [{"type": "lunar_month", "value": 0}]}, r"\[0\]\.month: 0: Input"),
        (
            {"constraints_meta": [{"type": "day_of_month", "value": 3, "operator": "!"}]},
            r"\.operator: '!' is unknown",
        ),
        ({"constraints_meta": [{"type": "solar_term", "name": "Nix"}]}, "name: 'Nix' is unknown"),
        ({"constraints_meta": [{"type": "church_day"}]}, r"\[0\]\.name: "),
        (
            {"constraints_meta": [{"type": "kb_event", "event": "x", "aspect": "start"}]},
            r"\[0\]\.level: is missing",
        ),
        (
            {
                "constraints_meta": [
                    {
                        "type": "kb_event",
                        "aspect": "multi_year",
                        "event": "x",
                        "value": [[1950, 1948]],
                    }
                ]
            },
            r"\[0\]\.value: 1948 lies before 1950",
        ),
        (
            {"constraints_meta": [{"type": "person_alive", "person": []}]},
            r"person: \[\] is not a tex",
        ),
        ({"constraints_meta": 3}, "constraints_meta: is not a list"),
        ({"solutions": ["2001-02-30"]}, r"solutions\[0\]: '2001-02-30' is not a date"),
        ({"solution_count": "few"}, "solution_count: 'few' is not a whole number"),
        ({"year_range": [2050, 1800]}, "year_range: 1800 lies before 2050"),
        ({"constraints": [3]}, r"constraints\[0\]: 3 is not a text"),
        ({"identifier": {}}, "identifier: {} is neither a text nor a number"),
    ],
)
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
        ("[]", "holds no puzzle"),
        ("", "holds no sample"),
        ("[{]", "is not JSON"),
        ("[3]", "index 0, puzzle: is not an object"),
        ('[{"question": "x", "answer": "y"}]', "index 0, puzzle: .* it has question, answer; need"),
        (
            '[{"identifier": 1}, {"identifier": 2, "constraints": ["It is Ju',
            "index 1 breaks off, in ",
        ),
        ("[" * 100_000, "is not JSON"),
        ('{"id": "x"}', ":1: gold: Field required"),
    ],
)
def test_a_file_that_is_no_puzzle_file_says_why(text, message, tmp_path):
    file = tmp_path / "puzzles.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        read_puzzles(file)
