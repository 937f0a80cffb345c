"""The answer that ignores the time: what it is, and what it scores; the groups of questions."""

from collections import defaultdict
from statistics import fmean

import pytest

from agent_env.families.traveler.family import HOOKS, time_blind
from agent_env.records.schema import MaterialTable
from agent_env.tasks.shortcut_scores import answered_by
from tests.questions import questions

from .sets import vague

EVENTS = MaterialTable(
    name="events",
    columns=("event", "subject", "location", "time"),
    rows=(
        ("eat risotto", "Tom", "kitchen", "2023-09-29T20:27+00:00"),
        ("eat risotto", "Tom", "kitchen", "2023-03-01T08:00+00:00"),
        ("eat risotto", "Mary", "kitchen", "2023-09-22T22:27+00:00"),
        ("eat risotto", "Mary", "living room", "2023-09-22T22:27+00:00"),
        ("read book", "Robot", "kitchen", "2023-09-22T22:27+00:00"),
    ),
)


@pytest.mark.parametrize(
    ("template", "answer"),
    [("who", ("Mary", "Tom")), ("did", ("yes",)), ("how-often", ("2",)), ("when", ("2023-09-29",))],
)
def test_everything_that_fits_in_all_but_time_counts(template, answer):
    sample = vague(template).model_copy(update={"materials": (EVENTS.digest,)})
    assert time_blind({EVENTS.digest: EVENTS})(sample) == answer
    assert time_blind({})(sample) is None


def test_it_is_right_where_no_time_is_named_and_else_half_of_the_time():
    made, task = questions("traveler", 495)
    blind = next(shortcut for shortcut in task.shortcuts if shortcut.name == "ignore-time")
    scores = defaultdict(list)
    for sample, _, score in answered_by(task, blind, made.samples):
        for name in (sample.category, sample.template):
            scores[name].append(score.metrics["accuracy"])
    assert {name: round(fmean(values), 2) for name, values in scores.items()} == {
        "explicit": 0.56, "implicit": 0.67, "vague": 0.46,
        "who": 0.42, "did": 0.63, "how-often": 0.52, "when": 1.0,
    }  # fmt: skip


def test_a_question_stands_under_its_category_and_its_template():
    found = HOOKS.groups(questions("traveler", seed=7)[0].samples[0])
    assert list(found) == ["category", "template", "expression", "events", "matches"]
    assert found["category"][0] in ("explicit", "implicit", "vague")
    assert found["template"][0] in ("who", "did", "how-often", "when")
