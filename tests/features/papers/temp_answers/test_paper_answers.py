"""The published rules, kept as they are, with their defects."""

import math
from datetime import date, datetime, timedelta

import numpy as np
import pytest

from agent_env.features.papers.temp_answers import paper_answers

CLOCK = date(2025, 1, 1)
day = datetime.fromisoformat


def test_numbers_dates_and_errors_as_published():
    assert paper_answers.read_line("Final Answer: In 2009, he was 25", "<num_years>").value == 2009
    assert paper_answers.read_line("Final Answer: 20091", "yyyy").value == 2009
    lines = {
        "Final Answer: 1,095": 1, "Final Answer: -3": 3, "Final Answer: none\nFinal Answer: 4": 4,
        "final answer: 4": None, "Final Answer:\n4": None,
    }  # fmt: skip
    assert {t: paper_answers.read_line(t, "<num_days>").value for t in lines} == lines
    at = paper_answers.read_line("Final Answer: February 17, 1837.", "%B %d, %Y").value
    assert at == day("1837-02-17")
    assert paper_answers.fuzzy_date(" March 1837", CLOCK) == day("1837-03-01")
    assert paper_answers.fuzzy_date(" March 5", CLOCK) == day("2025-03-05")
    assert paper_answers.read_line("Final Answer: long ago", "%B %d, %Y").value is None
    dates = {
        "9 June, 2021": day("2021-06-09"), "11/02/2018": day("2018-11-02"),
        "30/11/2018": day("2018-11-30"), "it was on 9 June, 2021 that she left": None,
        "June 9": None, "1648-10-24": None, 2005: day("1970-01-01T00:00:00.000002"),
    }  # fmt: skip
    assert {given: paper_answers.strict_date(given, CLOCK) for given in dates} == dates
    assert paper_answers.read_object(' "a\nb", "answer": 5}\nDone.', True).value == 5
    assert paper_answers.read_object(' "a", "answer": 5,}', True).rule == "no strict JSON"
    assert paper_answers.read_object(' "a", "answer": 5} {x}', True).value is None
    assert paper_answers.read_object(' "a", "answer": 5', True).rule == "no object"
    assert paper_answers.read_object('{"explanation": "a", "answer": 5}', False).value == 5
    gold = paper_answers.read_label("February 17, 1837", "%B %d, %Y")
    late = paper_answers.read_line("Final Answer: February 17, 1837 at 10:00", "%B %d, %Y")
    assert paper_answers.compare(late, gold, "date")[0] == 0
    zoned = paper_answers.read_line("Final Answer: 1837-02-17T10:00:00-02:00", "%B %d, %Y")
    error, amount, label = paper_answers.compare(zoned, gold, "date")
    assert error is None
    assert (amount or 0) - (label or 0) == 43_200
    pair = (paper_answers.read_keys({"answer": value}) for value in (2005, "2005-04-07"))
    assert paper_answers.compare(*pair, "date")[:2] == (None, None)
    pairs = [(None, 3.0), (0.0, 0.0), (24.0, 8.0)]
    assert [paper_answers.percentage_error(*pair) for pair in pairs] == [100.0, 0.0, 50.0]
    triples = [(5.0, 3.0, 4.0), (3.0, 3.0, 3.0), (4.0, 3.0, 3.0), (None, 3.0, 4.0)]
    assert [paper_answers.scaled_error(*triple) for triple in triples] == [2.0, 0.0, math.inf, None]
    values = [20.0, 21.0, 22.0, 23.0] * 5 + [1990.0, 1991.0, 1992.0] * 5 + [900.0]
    found = paper_answers.cluster(values)
    assert sorted(round(c) for c in found.centroids) == [22, 1991]
    assert found.own()[-1] == min(found.centroids)


@pytest.mark.parametrize("digits", [301, 5000])
def test_numbers_beyond_all_floats_are_unparsable(digits):
    assert paper_answers.read_line(f"Final Answer: {'9' * digits}", "<num_days>").value is None
    assert paper_answers.read_object(f' "so", "answer": {"9" * digits}}}', True).value is None
    assert paper_answers.read_label("9" * digits, "<num_days>").value is None


@pytest.mark.parametrize(
    ("found", "value"),
    [
        ({"age": "31"}, 31), ({"answer": 31}, 31), ({"answer": "31"}, 31),
        ({"answer": "44 BC"}, -44),
        ({"answer": "44 AD"}, 44), ({"answer": 2.75}, None), ({"answer": " - 476 AD"}, None),
        ({"answer": "11/02/2018"}, day("2018-11-02")), ({"date": "123-456"}, None),
        ({"minutes": 5, "hours": 2}, timedelta(hours=5, minutes=2)),
        ({"X": 2.9, "Y": 5.0, "Z": 45.0}, timedelta(hours=2, minutes=5, seconds=45)),
        ({}, timedelta(0)), ({"colour": 6}, None), ({"X": 4, "Y": None, "Z": 9}, None),
        ({"day": "previous_day", "time": "22:10:30"}, timedelta(seconds=-6570)),
        ({"day": "next_day", "time": "22:10:30"}, None), ({"answer": ["31"]}, None),
        ({"days": 3, "hours": 4, "minutes": 5, "seconds": 6},
         timedelta(days=3, hours=4, minutes=5, seconds=6)),
        ({"hours": 10**15, "minutes": 0}, None), ({"answer": None}, None),
        ({"hours": float("inf")}, None),
    ],
)  # fmt: skip
def test_the_responses_own_keys_decide(found, value):
    assert paper_answers.read_keys(found).value == value


@pytest.mark.parametrize("size", [8, 60, 400])
@pytest.mark.parametrize("seed", range(2))
def test_clusters_are_those_of_the_public_class(size, seed):
    rng = np.random.default_rng(seed)
    ages, years = rng.integers(0, 60, size), rng.integers(1950, 2020, size // 2)
    values = np.concatenate([ages, years]).astype(float)
    rng.shuffle(values)
    labels, strengths = paper_answers._labels(values, int(0.3 * len(values)))
    theirs, weights = paper_answers.public_labels(values, int(0.3 * len(values)))
    assert labels.tolist() == theirs.tolist()
    assert strengths == pytest.approx(weights)
