"""Levels of difficulty of the families that make questions."""

import json

import pytest

from agent_env.registry import Plugins
from agent_env.tasks.sample_files import samples_bytes
from agent_env.tasks.shortcut_scores import solved_by
from agent_env.wiring.registry import FAMILIES
from tests.commands import agent_env
from tests.plans import finished

NAMES = ("time-puzzles", "tdbench", "tempreason", "timeqa", "traveler", "temp-answers")


@pytest.mark.parametrize("name", NAMES)
def test_each_family_makes_questions_of_each_level(name):
    family = Plugins().find(FAMILIES, name)
    sets = {}
    for level in ("easy", "paper", "hard"):
        chosen = family.read_options([], level)
        sets[level] = family.make_tier(6, 1, chosen, family.tier_of(level, chosen)).samples
        assert len(sets[level]) == 6
    assert samples_bytes(sets["paper"]) == samples_bytes(
        family.make_samples(6, 1, family.read_options([])).samples
    )
    assert {sample.tier.name for sample in sets["easy"]} == {"easy"}
    assert {sample.tier.name for sample in sets["hard"]} == {"hard"}


def test_levels_are_stated_and_easy_is_easy(tmp_path):
    family = Plugins().find(FAMILIES, "time-puzzles")
    for puzzle in family.make_samples(5, 3, family.read_options([], "easy")).samples:
        kinds = sorted(fact.type for fact in puzzle.facts)
        assert kinds == ["explicit_year", "kb_event", "month"]
        assert (puzzle.event_level, puzzle.solution_count) == ("day", 1)
    run = finished(tmp_path / "run", difficulty="easy", limit=2, conditions=("base",))
    stated = json.loads((run.path / "run.json").read_text())["tier"]
    assert stated["name"] == "easy"
    assert "facts=3" in stated["options"]
    assert run.samples[0].tier.name == "easy"
    assert "time-puzzles (easy) · reference" in agent_env("show", str(run.path)).stdout
    agent_env("compare", str(run.path), "--html", str(tmp_path / "report.html"))
    assert "easy: three facts, one answer: " in (tmp_path / "report.html").read_text()
    out = str(tmp_path / "set.jsonl")
    words = "questions generate time-puzzles --difficulty easy --option years=1990-2020 --limit 2"
    made = agent_env(*words.split(), "--out", out)
    assert "difficulty easy: three facts, one answer: " in made.stderr
    assert "but for your own years" in made.stderr
    again = agent_env(*"run time-puzzles --difficulty hard --dataset".split(), out)
    assert again.returncode == 2
    assert "--difficulty hard is for questions that are made, and --dataset has its" in again.stderr


@pytest.mark.parametrize(
    ("name", "level", "most"),
    [
        ("tdbench", "easy", 0.27),
        ("tempreason", "hard", 0.2),
        ("timeqa", "hard", 0.2),
        ("temp-answers", "hard", 0.2),
        ("traveler", "hard", 0.2),
    ],
)
def test_no_shortcut_answers_more_than_this_share(name, level, most):
    family = Plugins().find(FAMILIES, name)
    options = family.read_options([], level)
    made = family.make_samples(60, 3, options)
    task = family.make_task("default", options, made.tables_by_digest)
    shares = {
        each.name: len(solved_by(task, each, made.samples)) / len(made.samples)
        for each in task.shortcuts
        if not each.sees_gold
    }
    assert max(shares.values()) <= most, shares
