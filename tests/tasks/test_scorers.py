"""`--scorer authors`: the rules that a paper's authors published, in the place of ours."""

import pytest

from agent_env.errors import ConfigError
from agent_env.tasks.scorers import with_measures
from agent_env.wiring.registry import load_family


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        ("tdbench", ("answer", "answer_time", "unsure", "hop_1")),
        ("timeqa", ("squad_em", "squad_f1")),
        ("temp-answers", ("exact_match", "smape")),
    ],
)
def test_every_family_whose_authors_published_a_scorer_has_it(name, metrics):
    family = load_family(name)
    task = family.make_task("default", family.options(), {})
    own = with_measures(task, "authors", ())
    assert own.metrics == metrics
    assert own.error_metrics == task.error_metrics & set(metrics)
    assert set(metrics) <= {*task.metrics, "hop_1"}


def test_a_family_without_one_says_so():
    family = load_family("traveler")
    task = family.make_task("default", family.options(), {})
    with pytest.raises(ConfigError, match="--scorer authors: no published scorer of traveler"):
        with_measures(task, "authors", ())
