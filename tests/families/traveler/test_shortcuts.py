"""The answer that ignores the time: what it is, and what it scores beside the constants."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

import pytest

from agent_env.families.traveler.family import Options, make_samples
from agent_env.families.traveler.sample import traveler_sample
from agent_env.families.traveler.shortcuts import time_blind
from agent_env.families.traveler.task import make_task
from agent_env.records.schema import MaterialTable
from agent_env.tasks.family import by_digest

from .sets import episode, vague

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
    [
        ("who", ("Mary", "Tom")),
        ("did", ("yes",)),
        ("how-often", ("2",)),
        ("when", ("2023-09-29",)),
    ],
)
def test_everything_that_fits_in_all_but_time_counts(
    template: str, answer: tuple[str, ...]
) -> None:
    sample = vague(template).model_copy(update={"materials": (EVENTS.digest,)})
    assert time_blind({EVENTS.digest: EVENTS})(sample) == answer
    assert time_blind({})(sample) is None


def test_it_stands_beside_the_score_of_a_run_and_is_right_where_no_time_is_named() -> None:
    made = make_samples(495, 1, Options())
    task = make_task("default", by_digest(made.tables))
    scores = defaultdict(list)
    for sample in map(traveler_sample, made.samples):
        value = task.scorer(sample, episode("no idea")).metrics["ignore_time"]
        scores[sample.category].append(value)
        scores[sample.template].append(value)
    means = {name: round(fmean(values), 2) for name, values in scores.items()}
    assert means == {
        "explicit": 0.56, "implicit": 0.67, "vague": 0.46,
        "who": 0.42, "did": 0.63, "how-often": 0.52, "when": 1.0,
    }  # fmt: skip
