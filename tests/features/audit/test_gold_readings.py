"""A file in the published forms: its own rules, a gold per wording, scores under each reading."""

import json

import pytest

from agent_env.families.time_puzzles.published import puzzle_bytes, read_puzzles
from agent_env.families.time_puzzles.reference import next_step
from agent_env.families.time_puzzles.task import make_task
from agent_env.features.answers.date_answers import parse_date_answer
from agent_env.features.audit.audit import audit, corrected
from agent_env.features.audit.audit_texts import read_event_dates
from agent_env.features.audit.gold_readings import puzzles_by_reading, scores_by_reading
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.features.papers.responses import ReadSamples
from agent_env.features.reference.turns import Turn
from agent_env.records.schema import Message
from agent_env.tasks.conditions import parse_condition
from tests import TESTS
from tests.ended import ended

DATA = TESTS / "data" / "published"
PUZZLES = read_puzzles(DATA / "forms.json")
EVENTS = read_event_dates(DATA / "forms_events.csv")
ANSWERS = {"rule": "2021-05-16 2024-05-19", "event": "1887-02-10", "cup": "1950-05-09"}


@pytest.fixture(scope="module")
def report():
    return audit(PUZZLES, shipped_tables(), EVENTS)


def of(report, name):
    (finding,) = [finding for finding in report.findings if finding.identifier == name]
    return finding.as_json()


def test_texts_are_read_mended_and_scored_by_their_own_rule(report, tmp_path):
    """By its rule there are Games in 2020 and 2028 but none in 2021."""
    found = of(report, "rule")
    assert (found["gold"], found["misworded"]) == ("own_rule", [])
    assert found["solutions"] == ["2020-05-17", "2024-05-19", "2028-05-21"]
    assert found["other_golds"]["implicit"]["strict"] == ["2021-05-16", "2024-05-19"]
    # The file dates the event to 1886, in its explicit text too; it ended in 1887.
    assert of(report, "event")["causes"] == {"event_value": "error"}
    file = tmp_path / "fixed.json"
    file.write_bytes(puzzle_bytes(corrected(PUZZLES, report)))
    fixed = read_puzzles(file)[1]
    assert (fixed.gold, fixed.worded("explicit").gold) == (("1887-02-10",), ("1886-02-10",))
    before, after = (json.loads(f.read_text("utf-8")) for f in (DATA / "forms.json", file))
    changed = [a["identifier"] for a, b in zip(before, after, strict=True) if a != b]
    assert changed == ["event", "life"]
    again = audit(read_puzzles(file), shipped_tables(), EVENTS).as_json()
    assert (again["wrong_gold"], again["wrong_explicit_gold"]) == (0, 0)
    unread = {"It is roughly the month of the storming of the Bastille.": 1}
    coverage = {"texts": 31, "judged": 30, "unread": unread, "unknown_names": {}}
    assert report.texts["explicit"].as_json() == coverage
    # As the authors' output files have them: texts and golds alone.
    bare = [p.model_copy(update={"facts": (), "gold": p.gold[:1]}) for p in PUZZLES]
    findings = audit(bare, shipped_tables(), EVENTS).findings
    golds = {f.identifier: (f.solutions, f.wrong_gold, f.explicit_solutions) for f in findings}
    assert golds["ends"] == (PUZZLES[6].gold, ("other",), PUZZLES[6].gold)
    assert (golds["event"][2], golds["france"][1]) == (("1886-02-10",), ("other",))
    assert findings[-1].notes == ("no_facts", "not_judged")
    figures = report.as_json()
    assert figures["event_unnecessary"] == figures["event_unnecessary_without_solution"] == 1
    assert figures["gold"] == {"right": 5, "own_rule": 1, "debatable": 0, "error": 2}
    scores = by_reading(report, "implicit", **ANSWERS)
    assert list(scores) == [
        "published", "corrected", "file_rule", "decade_from_1", "olympics_2020",
        "olympics_2020_too", "planned", "strict", "any",
    ]  # fmt: skip
    some = [scores[name] for name in ("published", "corrected", "strict")]
    assert some == [(1 / 3, 3, 0), (2 / 3, 3, 1), (1.0, 3, 2)]
    assert scores["any"][0] == 1.0
    assert by_reading(report, "explicit", event="1886-02-10")["corrected"] == (1.0, 1, 0)
    assert by_reading(report, "implicit") == {}


def by_reading(report, wording, **answers):
    given = {name: [tuple(text.split())] for name, text in answers.items()}
    rows = scores_by_reading(PUZZLES, report, given, wording)
    return {row.reading: (row.exact_match, row.puzzles, row.changed) for row in rows}


@pytest.mark.parametrize("wording", ["implicit", "explicit"])
def test_the_puzzles_of_a_reading_score_as_the_ledger_does(report, wording):
    """By the task's own scorer, for the authors' outputs."""
    task, condition = make_task(), "base" if wording == "implicit" else "explicit"
    episodes = [
        ended(f"MY ANSWER: {dates.replace(' ', ', ')}", name, condition, stop_reason="answered")
        for name, dates in ANSWERS.items()
    ]
    readings = puzzles_by_reading(PUZZLES, report)
    expected = by_reading(report, wording, **ANSWERS)
    assert set(readings) < set(expected)
    for name, (exact, _, _) in expected.items():
        own, changed = {each.id: (each,) for each in PUZZLES}, readings.get(name, ())
        own |= {each.id: tuple(p for p in changed if p.id == each.id) for each in changed}
        scores = [ReadSamples(own).score(task, each) for each in episodes]
        assert sum(score.metrics["exact_match"] for score in scores) / 3 == exact


@pytest.mark.parametrize("puzzle", PUZZLES[:-1], ids=[puzzle.id for puzzle in PUZZLES[:-1]])
def test_the_reference_solves_every_explicit_text(puzzle, report):
    (message,) = make_task("paper").prompt(puzzle, parse_condition("explicit"))
    step = next_step(Turn([Message(role="user", content=message.content)], [], thorough=True))
    assert parse_date_answer(step[0]).dates == tuple(of(report, puzzle.id)["explicit_solutions"])
