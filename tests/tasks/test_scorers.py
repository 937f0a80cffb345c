"""`--scorer authors`: the rules that a paper's authors published, in the place of ours."""

import pytest

from agent_env.errors import ConfigError
from agent_env.records.schema import Sample
from agent_env.tasks.scorers import SCORERS, with_measures
from tests.ended import ended
from tests.questions import questions


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        ("tdbench", ("answer", "answer_time", "unsure", "hop_1")),
        ("timeqa", ("squad_em", "squad_f1")),
        ("temp-answers", ("exact_match", "smape")),
    ],
)
def test_every_family_whose_authors_published_a_scorer_has_it(name, metrics):
    _, task = questions(name)
    own = with_measures(task, "authors", ())
    assert (own.metrics, own.error_metrics) == (metrics, task.error_metrics & set(metrics))
    assert set(metrics) <= {*task.metrics, "hop_1"}


def test_a_family_without_one_says_so():
    with pytest.raises(ConfigError, match="--scorer authors: no published scorer of traveler"):
        with_measures(questions("traveler")[1], "authors", ())


def right(sample, answer):
    return answer in sample.gold


def parts(sample, answer):
    return {"parts": len(answer), "right": answer in sample.gold}


def unnamed(sample, answer):
    return {"first": 0.5, "second": 2}


def of_episode(sample, episode):
    return len(episode.answer.split())


SAMPLE = Sample(id="s-1", task="qa", gold=("1815",))


def scored(function, answer):
    """The scorer's metrics, and the score of an episode with this last text."""
    own = SCORERS.adapted(function, SCORERS.entry_of(function, function.__name__))
    return own.metrics, own(SAMPLE, ended(answer, "s-1", stop_reason="answered"))


@pytest.mark.parametrize(
    ("function", "answer", "numbers"),
    [
        (right, "I looked. MY ANSWER: 1815", {"right": 1.0}),
        (right, "1815", {"right": 1.0}),
        (right, "MY ANSWER: 1066\nno, MY ANSWER: **1815** ", {"right": 1.0}),
        (right, "In 1815.", {"right": 0.0}),
        (parts, "1815", {"parts": 4.0, "right": 1.0}),
        (unnamed, "", {"unnamed": 0.5, "first": 0.5, "second": 2.0}),
        (of_episode, "two words", {"of_episode": 2.0}),
    ],
)
def test_a_function_of_an_answer_needs_no_attribute_and_its_name_is_the_metrics(
    function, answer, numbers
):
    metrics, score = scored(function, answer)
    assert metrics == (function.__name__,)
    assert (score.outcome, score.metrics) == ("read", numbers)


def test_an_episode_without_a_text_is_unreadable_and_measured_as_an_empty_one():
    _, score = scored(right, None)
    assert (score.outcome, score.metrics, score.answer) == ("unreadable", {"right": 0.0}, ())


def test_what_is_no_number_is_refused_with_the_smallest_scorer():
    def nothing(sample, answer):
        return None

    with pytest.raises(TypeError, match=r"nothing gave NoneType; .* return answer == sample.gold"):
        scored(nothing, "x")


@pytest.mark.parametrize("thing", [lambda sample: 1, lambda: 1])
def test_a_function_of_less_is_refused_with_the_smallest_scorer(thing):
    with pytest.raises(ConfigError, match=r"def right\(sample, answer\): return answer == sample"):
        scored(thing, "x")
