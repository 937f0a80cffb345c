"""Levels of difficulty of the families that make questions."""

import json

import pytest

from agent_env.tasks.sample_files import samples_bytes
from agent_env.tasks.shortcut_scores import solved_by
from agent_env.wiring.registry import load_family
from tests.commands import typed
from tests.plans import finished
from tests.questions import questions

NAMES = ("time-puzzles", "tdbench", "tempreason", "timeqa", "traveler", "temp-answers")


@pytest.mark.parametrize("name", NAMES)
def test_each_family_makes_questions_of_each_level(name):
    family, sets = load_family(name), {}
    for level in ("easy", "paper", "hard"):
        chosen = family.read_options([], level)
        sets[level] = family.make_tier(6, 1, chosen, family.tier_of(level, chosen)).samples
    assert [len(samples) for samples in sets.values()] == [6, 6, 6]
    assert samples_bytes(sets["paper"]) == samples_bytes(questions(name, 6)[0].samples)
    for level in ("easy", "hard"):
        assert {sample.tier.name for sample in sets[level]} == {level}


def test_levels_are_stated_and_easy_is_easy(tmp_path):
    for puzzle in questions("time-puzzles", 5, 3, difficulty="easy")[0].samples:
        assert sorted(fact.type for fact in puzzle.facts) == ["explicit_year", "kb_event", "month"]
        assert (puzzle.event_level, puzzle.solution_count) == ("day", 1)
    run = finished(tmp_path / "run", difficulty="easy", limit=2, conditions=("base",))
    stated = json.loads((run.path / "run.json").read_text())["tier"]
    assert stated["name"] == "easy"
    assert "facts=3" in stated["options"]
    assert run.samples[0].tier.name == "easy"
    assert "time-puzzles (easy) · reference" in typed("show {}", run.path).stdout
    typed("compare {} --html {}", run.path, tmp_path / "report.html")
    assert "easy: three facts, one answer: " in (tmp_path / "report.html").read_text()
    out = tmp_path / "set.jsonl"
    easy = "--difficulty easy --option years=1990-2020 --limit 2"
    made = typed(f"questions generate time-puzzles {easy} --out {{}}", out)
    assert "difficulty easy: three facts, one answer: " in made.stderr
    assert "but for your own years" in made.stderr
    again = typed("run time-puzzles --difficulty hard --dataset {}", out)
    assert again.returncode == 2
    assert "--difficulty hard is for questions that are made, and --dataset has its" in again.stderr


@pytest.mark.parametrize("name", NAMES[1:])
def test_no_shortcut_answers_more_than_this_share(name):
    level, most = ("easy", 0.27) if name == "tdbench" else ("hard", 0.2)
    made, task = questions(name, 60, 3, level)
    for shortcut in task.shortcuts:
        solved = solved_by(task, shortcut, made.samples)
        assert shortcut.sees_gold or len(solved) / len(made.samples) <= most, shortcut.name
