"""The answer that ignores the time: what it is, and what it scores."""

from collections import defaultdict
from statistics import fmean

import pytest

from agent_env.families.traveler.family import make_task, time_blind
from agent_env.families.traveler.generator import Options, make_samples
from agent_env.families.traveler.sample import traveler_sample
from agent_env.records.schema import MaterialTable
from agent_env.tasks.family import by_digest
from agent_env.tasks.shortcut_scores import answered_by

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
    made = make_samples(495, 1, Options())
    task = make_task("default", by_digest(made.tables))
    blind = next(shortcut for shortcut in task.shortcuts if shortcut.name == "ignore-time")
    scores = defaultdict(list)
    for sample, _, score in answered_by(task, blind, made.samples):
        own = traveler_sample(sample)
        scores[own.category].append(score.metrics["accuracy"])
        scores[own.template].append(score.metrics["accuracy"])
    means = {name: round(fmean(values), 2) for name, values in scores.items()}
    assert means == {
        "explicit": 0.56, "implicit": 0.67, "vague": 0.46,
        "who": 0.42, "did": 0.63, "how-often": 0.52, "when": 1.0,
    }  # fmt: skip
