"""Shortcuts: what they may see, how they are scored, who shows them."""

from dataclasses import replace
from random import Random

import pytest

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.statistics.results import breakdown
from agent_env.analysis.statistics.shortcuts import shortcuts
from agent_env.analysis.study import RunData, Study
from agent_env.families.time_puzzles.task import make_task
from agent_env.records.manifest import Manifest
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.shortcut_scores import answered_by, solved_by
from agent_env.tasks.shortcuts import Shortcut
from agent_env.testing import puzzle
from agent_env.wiring.registry import load_family, task_names
from tests.ended import ended
from tests.questions import questions

TASK = make_task()


DAYS = {"a": ["2001-01-01"], "b": ["2001-01-01"], "c": [], "d": ["2003-05-06"]}
SET = tuple(puzzle(name, gold) for name, gold in DAYS.items())


def text(sample):
    return f"MY ANSWER: {', '.join(sample.gold) or 'None'}"


def test_oracles_constants_and_other_questions():
    assert solved_by(TASK, Shortcut.oracle(text), SET) == ["a", "b", "c", "d"]
    none = Shortcut.constant("none", lambda sample: "MY ANSWER: None")
    assert solved_by(TASK, none, SET) == ["c"]

    def fails(sample):
        return sample.id if sample.id == "d" else text(sample) * (1 // len(sample.id.strip("a")))

    answers = [e.answer for _, e, _ in answered_by(TASK, Shortcut.constant("fails", fails), SET)]
    assert answers == ["MY ANSWER: None", "MY ANSWER: None", "d"]
    assert answered_by(TASK, Shortcut.majority(fails), SET) == []
    first, second = (answered_by(TASK, Shortcut.random(text), SET) for _ in range(2))
    assert first == second
    assert first[3][1].answer != text(SET[3])
    assert {*SHORTCUTS, "qa"} == {*task_names()}


def test_gold_is_hidden_from_shortcuts_and_phrasings():
    seen = []

    def watch(sample):
        seen.append(sample)
        return ""

    answered_by(TASK, Shortcut.constant("watch", watch), SET)
    assert [sample.gold for sample in seen] == [(), (), (), ()]
    assert solved_by(TASK, Shortcut.majority(text), SET) == ["a", "b"]
    assert Shortcut.majority(text).make(SET[:1])(SET[0], Random(1)) is None
    phrasings = (*SET[:2], puzzle("e", DAYS["d"]), puzzle("f", DAYS["a"]))
    for shortcut in (Shortcut.majority, Shortcut.random):
        for question, others in (("ab", ["a", "b"]), ("abf", [])):
            own = shortcut(text, question=lambda s, q=question: q if s.id in q else s.id)
            solved = solved_by(TASK, own, (*phrasings[:2], *phrasings[3:]))
            assert set(solved) - {"f"} == set(others)
        only = shortcut(text, question=lambda s: "one").make(phrasings)
        assert only(phrasings[0], Random(1)) is None


@pytest.mark.parametrize("task", ["tdbench", "qa"])
def test_a_family_with_phrasings_says_which_are_of_one_question(task):
    family = load_family(task)
    if task == "tdbench":
        made, own = questions(task)
        (first, *_) = made.samples
    else:
        own = family.make_task("default", family.read_options(["cluster=of"]), {})
        fields = {"id": "q", "task": "qa", "gold": ["x"], "question": "?", "columns": {"of": "q"}}
        first = own.sample_type.model_validate(fields)
    phrasings = [first.model_copy(update={"id": f"q{n}"}) for n in range(3)]
    counting = [each for each in own.shortcuts if each.name in ("majority", "random")]
    assert [answered_by(own, each, phrasings) for each in counting] == [[]] * (1 + (task == "qa"))


def test_the_table_counts_the_samples_on_which_a_shortcut_fails():
    def fails(sample):
        if sample.id in ("b", "c"):
            raise KeyError(sample.id)
        return "MY ANSWER: 2001-01-01"

    own = (Shortcut.constant("fails", fails), Shortcut.majority(fails), Shortcut.oracle(text))
    task = replace(TASK, shortcuts=own)
    episodes = [ended(text(sample), sample.id, stop_reason="answered") for sample in SET]
    manifest = Manifest(
        task="time-puzzles", model="m", conditions=(parse_condition("base"),), repeats=1,
        limits={}, prompt="default", seed=None, samples=4, samples_digest="", concurrency=1,
        versions={}, created_at="",
    )  # fmt: skip
    scored = [(e, task.score(s, e)) for s, e in zip(SET, episodes, strict=True)]
    comparison = Comparison(Study.of([RunData.of("r", manifest, SET, scored, None)], task))
    table = shortcuts(comparison)
    assert [(row[0], row[2]) for row in table.rows] == [
        ("base", 4), ("shortcut constant", 2), ("shortcut majority", 0), ("shortcut oracle", 4),
    ]  # fmt: skip
    failures = (
        "shortcut constant failed on 2 of 4 samples, which it does not count (b: KeyError: 'b').",
        "shortcut majority failed on 4 of 4 samples, which it does not count (a: KeyError: 'b').",
    )
    assert table.notes[-2:] == failures
    assert breakdown(comparison, "solutions").notes[-2:] == failures


SHORTCUTS = {
    "time-puzzles": "constant majority ignore-event random-value oracle",
    "tdbench": "constant majority latest-row ignore-time ignore-entity random-row oracle",
    "temp-answers": "median majority random oracle",
    "tempreason": "constant majority latest-row random-row ignore-time oracle",
    "timeqa": "constant majority latest-row random-row ignore-time oracle",
    "traveler": "constant majority ignore-time oracle",
}


@pytest.mark.parametrize(
    ("scorer", "gold"),
    [("exact", ["a, b"]), ("number", ["12"]), ("date", ["1999-05"]), ("set", ["x, y", "z"]),
     ("dates", ["1999-05-01", "2001-02-03"]), ("choice", ["B"])],
)  # fmt: skip
def test_the_oracle_of_a_users_own_questions_is_right(scorer, gold):
    family = load_family("qa")
    task = family.make_task("default", family.read_options([f"scorer={scorer}"]), {})
    question = task.sample_type.model_validate(
        {"id": "q", "task": "qa", "gold": gold, "question": "?", "choices": ["no", "yes"]}
    )
    assert [shortcut.name for shortcut in task.shortcuts] == ["majority", "random", "oracle"]
    assert solved_by(task, task.shortcuts[-1], [question]) == ["q"]


@pytest.mark.parametrize("name", SHORTCUTS)
def test_the_oracle_of_every_family_is_right_and_its_shortcuts_need_no_gold(name):
    """A shortcut that looked at a hidden field would answer otherwise, or fail."""
    made, task = questions(name, 6, 3)
    assert " ".join(shortcut.name for shortcut in task.shortcuts) == SHORTCUTS[name]
    blind = [sample.model_copy(update=dict(task.hidden)) for sample in made.samples]
    for shortcut in task.shortcuts:
        if shortcut.sees_gold:
            assert len(solved_by(task, shortcut, made.samples)) == len(made.samples)
        elif shortcut.name not in ("majority", "random", "median"):  # these count others' golds
            whole, hidden = (shortcut.make(own) for own in (made.samples, blind))
            for sample in blind:
                assert whole(sample, Random(1)) == hidden(sample, Random(1))
