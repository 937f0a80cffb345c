"""The audit finds what was planted, names its cause, and leaves good puzzles alone."""

import json

import pytest

from agent_env.errors import DatasetError
from agent_env.families.time_puzzles import facts
from agent_env.families.time_puzzles.published import puzzle_bytes, read_puzzles, write_published
from agent_env.features.audit.audit import audit, corrected
from agent_env.features.audit.audit_texts import read_event_dates
from tests import TESTS
from tests.families.time_puzzles import by_hand as hand
from tests.families.time_puzzles.by_hand import AUSTERLITZ, GOOD, TABLES, WATERLOO, by_hand
from tests.families.time_puzzles.sets import generate

DATA = TESTS / "data" / "published"
JUNE, THE_18TH = facts.Month(month=6), facts.DayOfMonthSpecific(day=18)
MONDAY = facts.WeekdayInMonth(direction="first", weekday="Monday", n=1)
EINSTEIN = facts.PersonAlive(person="Albert Einstein")
CARTER = facts.UsPresident(person="Jimmy Carter")
GAMES = "the Summer Olympics held in Rome"
ROME = facts.KbEvent(event=GAMES, aspect="start", level="year", value=1960)
LEAP = by_hand("leap", ROME, facts.LunarMonth(month=6), facts.DayOfMonthSpecific(day=10))
"""1960 had two months of the number 6, from 24 June and from 24 July."""


def in_meta(index, **values):
    return lambda row: row["constraints_meta"][index].update(values)


def setting(**values):
    return lambda row: row.update(values)


def gold(*days):
    return setting(solutions=list(days), solution_count=len(days))


def month_text(text):
    return lambda row: row["explicit_constraints"].__setitem__(1, text)


PLANTED = [
    ("a month as a broken lunar library has it", GOOD[1], [gold("1848-08-20")],
     ("lunar_calendar",)),
    ("an event in the wrong year", GOOD[0], [in_meta(0, value=1816), gold("1816-06-18")],
     ("event_value",)),
    ("one year of an event that held in three", GOOD[2],
     [in_meta(0, value=1948), gold("1948-07-05")], ("event_in_several_years",)),
    ("gold of one year though the meta tells none", GOOD[2], [gold("2012-07-02")],
     ("event_in_several_years",)),
    ("an answer outside the years", GOOD[0], [gold("1815-06-18", "1799-06-18")],
     ("year_range",)),
    ("the first and last day of a term counted",
     by_hand("term", hand.VICTORIA, CARTER, facts.Month(month=1)),
     [gold("1977-01-20", "1978-01-20", "1979-01-20", "1980-01-20", "1981-01-20")],
     ("boundary_days", "explicit_gold", "convention_dependent")),
    ("a wrong number of solutions", GOOD[0], [setting(solution_count=2)], ("solution_count",)),
    ("a solution left out", GOOD[3], [gold("1977-03-02", "1978-03-02", "1980-03-02")],
     ("other",)),
    ("a wrong event and a broken lunar library at once", GOOD[1],
     [in_meta(0, value=1850), gold("1850-06-20")], ("event_value", "lunar_calendar")),
    ("no bound in time", by_hand("open", AUSTERLITZ, facts.OnWeekday(weekday="Monday"), JUNE), [],
     ("open_universe",)),
    ("an event that says nothing new",
     by_hand("needless", WATERLOO, facts.ExplicitYear(year=1815), JUNE, THE_18TH), [],
     ("event_unnecessary", "any_unnecessary", "guessable")),
    ("a season beside its month",
     by_hand("season", WATERLOO, facts.Season(season="summer"), JUNE, THE_18TH), [],
     ("any_unnecessary",)),
    ("an answer that depends on a leap month", LEAP, [], ("convention_dependent",)),
    ("a leap month not counted", LEAP, [gold("1960-07-10")],
     ("leap_month", "explicit_gold", "convention_dependent")),
    ("an explicit text with another month", GOOD[0], [month_text("The month is July.")],
     ("explicit_gold", "wording")),
    ("few values that the event can have", by_hand("few", AUSTERLITZ, EINSTEIN, MONDAY, JUNE), [],
     ("guessable",)),
]  # fmt: skip


def audited(folder, *rows, events=None):
    """The report of a published file with these objects, and its findings."""
    file = folder / "puzzles.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    report = audit(read_puzzles(file), TABLES, read_event_dates(events) if events else None)
    return report.as_json(), list(report.findings)


def as_row(puzzle):
    return json.loads(write_published([puzzle]))[0]


def planted_rows():
    rows = []
    for number, (_, puzzle, changes, _) in enumerate(PLANTED):
        row = as_row(puzzle) | {"identifier": number}
        for change in changes:
            change(row)
        rows.append(row)
    return rows


@pytest.mark.parametrize("number", range(len(PLANTED)), ids=[entry[0] for entry in PLANTED])
def test_a_planted_defect_is_found_with_its_cause(number, tmp_path):
    _, (finding,) = audited(tmp_path, planted_rows()[number])
    _, puzzle, _, causes = PLANTED[number]
    assert (finding.causes, finding.solutions) == (causes, puzzle.gold)


def test_untouched_puzzles_among_planted_ones_have_no_defect(tmp_path):
    puzzles = (*GOOD, *generate(TABLES, 12, seed=21))
    report, findings = audited(tmp_path, *map(as_row, puzzles), *planted_rows())
    assert [finding.wrong_gold for finding in findings[: len(puzzles)]] == [()] * len(puzzles)
    assert all(not finding.causes for finding in findings[: len(GOOD)])
    assert [f.identifier for f in findings[-len(PLANTED) :]] == list(range(len(PLANTED)))
    errors = {cause: row["puzzles"] for cause, row in report["ledger"].items()
              if row["class"] == "error"}  # fmt: skip
    assert errors == {
        "event_in_several_years": 2, "event_value": 2, "explicit_gold": 3, "lunar_calendar": 2,
        "other": 1, "solution_count": 1, "wording": 1, "year_range": 1,
    }  # fmt: skip
    assert report["gold"] == {"right": 22, "own_rule": 0, "debatable": 2, "error": 8}
    assert report["ledger"]["boundary_days"] == {"class": "debatable", "puzzles": 1}
    assert report["wrong_gold"] == 8


OLYMPIC_RULE = "The year satisfies year % 4 == 0, year >= 1896, and is not 1916, 1940, or 1944."
FEBRUARY = facts.Month(month=2)


def test_gold_and_closure_are_judged_by_the_same_rule(tmp_path):
    """By our rule no Games are held after 2024; by the file's own 29 February is a Monday again in
    2044, and in 2072, which is after its years."""
    games, monday = facts.RecurringEvent(name="summer_olympics"), facts.OnWeekday(weekday="Monday")
    row = as_row(by_hand("rule", games, FEBRUARY, facts.DayOfMonthSpecific(day=29), monday))
    _, (ours,) = audited(tmp_path, row)
    assert (ours.solutions[-1], ours.open_universe) == ("2016-02-29", False)
    row["explicit_constraints"][0] = OLYMPIC_RULE
    gold(*row["solutions"], "2044-02-29")(row)
    report, (by_rule,) = audited(tmp_path, row)
    assert by_rule.solutions == (*ours.solutions, "2044-02-29")
    assert by_rule.causes == ("file_rule", "open_universe", "convention_dependent")
    assert report["open_universe"] == 1


def test_more_answers_that_no_validated_calendar_tells_are_unknown(tmp_path):
    """From 1610 to 2057 the twelfth lunar month never reaches 20 February."""
    lunar, day = facts.LunarMonth(month=12), facts.DayOfMonthSpecific(day=20)
    row = as_row(by_hand("late", lunar, FEBRUARY, day))
    report, (finding,) = audited(tmp_path, row)
    assert (finding.solutions, "closure_unknown" in finding.notes) == ((), True)
    assert (report["open_universe"], report["closure_unknown"]) == (0, 1)
    row["constraints_meta"][0] = {"type": "lunar_month", "value": 14}
    report, (no_month,) = audited(tmp_path, row)
    assert (no_month.notes, report["closure_unknown"]) == ((), 0)


@pytest.mark.parametrize("is_fact_known", [True, False])
def test_an_explicit_gold_is_judged_by_its_own_texts_whatever_else_is_known(
    tmp_path, is_fact_known
):
    row = as_row(GOOD[0])
    row["explicit_constraints"][1] = "The month is July."
    if not is_fact_known:
        row["constraints_meta"][0] = {"type": "person_alive", "value": "Nobody in Particular"}
    report, (finding, _) = audited(tmp_path, row, as_row(GOOD[1]))
    assert finding.explicit_solutions == ("1815-07-18",)
    assert (report["explicit_judged"], report["wrong_explicit_gold"]) == (2, 1)
    assert report["judged"] == (2 if is_fact_known else 1)
    puzzles = read_puzzles(tmp_path / "puzzles.json")
    assert corrected(puzzles, audit(puzzles, TABLES))[0].worded("explicit").gold == ("1815-07-18",)


def test_corrected_files_keep_all_the_rest(tmp_path):
    rows = [row | {"remark": "keep me"} for row in planted_rows()]
    file = tmp_path / "puzzles.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    puzzles = read_puzzles(file)
    fixed = json.loads(puzzle_bytes(corrected(puzzles, audit(puzzles, TABLES))))
    for row, right, (_, puzzle, _, causes) in zip(rows, fixed, PLANTED, strict=True):
        is_debatable = causes[0] in ("boundary_days", "leap_month")
        expected = row["solutions"] if is_debatable else list(puzzle.gold)
        assert (right["solutions"], right["solution_count"]) == (expected, len(expected))
        changed = {"solutions": 0, "solution_count": 0, "explicit_solutions": 0}
        assert {**right, **changed} == {**row, **changed}
    explicit = {n: row["explicit_solutions"] for n, row in enumerate(fixed)
                if "explicit_solutions" in row}  # fmt: skip
    assert explicit == {
        5: ["1978-01-20", "1979-01-20", "1980-01-20"],
        13: ["1960-07-10", "1960-08-10"],
        14: ["1815-07-18"],
    }
    assert audited(tmp_path, *fixed)[0]["wrong_gold"] == 0
    wrong = GOOD[0].model_copy(update={"gold": ("1815-06-17",)})
    report = audit((wrong, GOOD[1]), TABLES)
    assert [finding.causes for finding in report.findings] == [("other",), ()]
    file = tmp_path / "samples.jsonl"
    file.write_bytes(puzzle_bytes(corrected((wrong, GOOD[1]), report)))
    assert [puzzle.gold for puzzle in read_puzzles(file)] == [("1815-06-18",), ("1848-07-20",)]


def test_tables_of_events_outrank_or_are_taken_as_given(tmp_path):
    events = tmp_path / "EVENTS.csv"
    events.write_text("event,start,end,multi_year_spans\nthe Battle of Waterloo,1816,1816,\n")
    _, (finding,) = audited(tmp_path, as_row(GOOD[0]), events=events)
    assert (finding.wrong_gold, finding.solutions) == (("event_value",), ("1816-06-18",))
    rows = [as_row(GOOD[0]), as_row(GOOD[3])]  # the table has Austerlitz to the month only
    rows[0]["constraints_meta"][0]["event"] = "a battle that nobody knows"
    _, (unknown, partial) = audited(tmp_path, *rows, events=DATA / "EVENTS.csv")
    assert (unknown.notes, unknown.solutions) == (("unknown_event",), ("1815-06-18",))
    assert partial.causes == ()


@pytest.mark.parametrize(
    ("value", "causes"), [(1808, ()), (1813, ("event_value",)), (1809, ("event_value",))]
)
def test_an_event_with_a_first_day_began_once(value, causes, tmp_path):
    row = as_row(by_hand("x", WATERLOO.model_copy(update={"value": value}), JUNE, THE_18TH))
    name = "The Peninsular campaign of a friend"
    event = facts.KbEvent(event=name, aspect="start", level="year", value=value)
    row["constraints_meta"][0] = event.model_dump()
    _, (finding,) = audited(tmp_path, row, events=DATA / "EVENTS.csv")
    assert finding.wrong_gold == causes


def test_unknown_events_and_persons_are_judged_by_the_file(tmp_path):
    row = as_row(GOOD[2])
    row["constraints_meta"][0] |= {"event": "a party", "value": "1908;1948;2012"}
    assert audited(tmp_path, row)[1][0].solutions == GOOD[2].gold
    row["constraints_meta"][0]["value"] = None
    _, (finding,) = audited(tmp_path, row)
    assert (finding.solutions, finding.causes) == (None, ())
    assert finding.notes == ("unknown_event", "not_judged")
    life = audit(read_puzzles(DATA / "foreign.json"), TABLES).findings[2]
    assert (life.notes, life.wrong_gold, len(life.solutions)) == (("unknown_person",), (), 9)
    row = json.loads((DATA / "foreign.json").read_text("utf-8"))[2]
    row["explicit_constraints"][0] = "in the lifetime of Nobody Known"
    _, (finding,) = audited(tmp_path, row)
    assert (finding.notes, finding.solutions) == (("unknown_person", "not_judged"), None)


def test_years_of_a_puzzle_are_its_own_or_not_judged(tmp_path):
    row = as_row(GOOD[3])
    _, (whole, cut) = audited(tmp_path, row, row | {"identifier": 2, "year_range": [1800, 1979]})
    assert (whole.causes, cut.wrong_gold) == ((), ("year_range",))
    assert cut.solutions == ("1977-03-02", "1978-03-02", "1979-03-02")
    row = as_row(GOOD[0]) | {"year_range": [1000, 1900], "solutions": ["1066-06-18"]}
    _, (finding,) = audited(tmp_path, row)
    assert (finding.causes, finding.notes) == ((), ("not_judged",))
    trump = facts.UsPresident(person="Donald Trump")
    row = as_row(by_hand("now", AUSTERLITZ, trump, facts.Month(month=3)))
    assert row["solutions"] == ["2017-03-02", "2018-03-02", "2019-03-02", "2020-03-02"]
    gold(*row["solutions"], "2025-03-02")(row)
    report, (finding,) = audited(tmp_path, row)
    assert finding.wrong_gold == ("open_end",)
    assert (report["wrong_gold"], report["gold"]["debatable"]) == (0, 1)


def test_spelled_out_facts_may_not_lose_days(tmp_path):
    def misworded(*rows):
        return ["wording" in finding.causes for finding in audited(tmp_path, *rows)[1]]

    rows = json.loads((DATA / "foreign.json").read_text("utf-8"))
    assert not any(misworded(*rows))
    rows[0]["explicit_constraints"][0] = "The year is 1816."
    rows[1]["explicit_constraints"][0] = "The date lies between 1977-01-20 and 1980-01-20."
    rows[2]["explicit_constraints"][1] = "It is November."
    assert all(misworded(*rows))
    row = as_row(LEAP) | {"constraints": ["a", "b", "c"]}  # no wording of ours
    explicit = row["explicit_constraints"]
    assert "1960-06-24 to 1960-08-21" in explicit[1]
    assert misworded(row) == [False]
    explicit[1] = explicit[1].replace("1960-06-24 to 1960-08-21", "1960-06-24 to 1960-07-23")
    assert misworded(row) == [True]


def test_a_puzzle_with_more_texts_than_facts_is_judged_by_its_facts(tmp_path):
    row = as_row(LEAP)
    del row["constraints_meta"][-1]
    _, (finding,) = audited(tmp_path, row)
    assert (finding.is_judged, finding.misworded) == (True, ())
    assert "wording" in finding.causes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", r":1: no column multi_year_spans"),
        (",multi_year_spans\nx,2019-13,,\n", r":2: '2019-13' is not a date"),
        (",multi_year_spans\nx,2019,2018,\n", r":2: 'x' ends on 2018, before"),
        (",multi_year_spans\nx,,,1950~1948\n", r":2: '1950~1948' ends before"),
        (",multi_year_spans\n,2019,,\n", r":2: the event has no name"),
    ],
)
def test_a_broken_event_table_is_named_by_line(text, message, tmp_path):
    (tmp_path / "EVENTS.csv").write_text(f"event,start,end{text}")
    with pytest.raises(DatasetError, match=message):
        read_event_dates(tmp_path / "EVENTS.csv")
