"""The apparent knowledge cutoff: planted ones are found, and what cannot be told is not."""

from itertools import pairwise
from math import inf
from random import Random

from agent_env.analysis.cutoff import cutoff_of


def test_it_is_the_middle_of_the_days_that_explain_most_answers():
    spans = [(f"q{n}", 1990.0 + n, 2010.0 + n) for n in range(9)]
    found = cutoff_of([*spans, ("old", 1950.0, 1960.0)])
    assert (found.year, found.share, found.questions) == (2004.0, 0.9, 10)
    assert found.low <= 1998.0
    assert found.high >= 2010.0
    assert found.months[0] == "2004-01"
    assert found.explains(2003.0, inf)
    assert not found.explains(1999.0, 2004.0)


def test_a_question_counts_once_however_often_it_was_asked():
    spans = [(f"q{n}", 2000.0, 2010.0) for n in range(8)]
    assert cutoff_of([*spans, *[("q9", 1950.0, 1960.0)] * 50]).share == 8 / 9


def test_what_still_holds_ends_behind_the_last_change_that_is_known():
    found = cutoff_of([(f"q{n}", 2000.0 + n, inf) for n in range(10)])
    assert 2009.0 < found.year < 2009.1


def test_of_few_questions_or_of_answers_of_many_days_it_is_unknown():
    few = cutoff_of([("q", 2000.0, 2001.0)] * 30)
    assert (few.year, few.questions) == (None, 1)
    assert few.why == "only 1 questions have an answer that was ever right"
    assert few.months == (None, None, None)
    assert not few.explains(2000.0, 2001.0)
    spread = cutoff_of([(f"q{n}", 1950.0 + n, 1951.0 + n) for n in range(40)])
    assert (spread.year, spread.why) == (None, "no day explains more than half of the answers")


def test_a_planted_cutoff_lies_in_its_interval():
    """Of 40 small simulations at least 37; benchmarks/clock.py has thousands."""
    rng = Random(4)
    inside = 0
    for seed in range(40):
        planted = 1990 + 30 * rng.random()
        spans = []
        for question in range(40):
            changes = [1950 + 8 * rng.random()]
            while changes[-1] < 2025:
                changes.append(changes[-1] + rng.expovariate(1 / 6))
            day = planted if rng.random() < 0.6 else planted - rng.expovariate(1 / 10)
            spans += [
                (str(question), since, until)
                for since, until in pairwise(changes)
                if since <= day < until
            ]
        found = cutoff_of(spans, resamples=200, seed=seed)
        inside += found.low <= planted <= found.high
    assert inside >= 37
