"""What answers to vague questions are worth."""

from itertools import combinations
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.families.traveler import truth
from agent_env.families.traveler.family import score
from tests.families.traveler import brute_force
from tests.families.traveler.sets import episode, small, vague

CHANCES = st.dictionaries(
    st.sampled_from(["Mary", "Tom", "Robot", "Ria"]),
    st.lists(st.floats(0, 1), max_size=5),
    min_size=1,
)


def possible_answers(template, chances):
    if template == "did":
        return [("yes",), ("no",)]
    if template == "who":
        names = sorted(chances)
        return [some for n in range(len(names) + 1) for some in combinations(names, n)]
    return [(str(number),) for number in range(sum(map(len, chances.values())) + 1)]


def test_products_sums_and_ceilings():
    """Nothing of 2 hours ago, .75 of a week ago: yes is worth .75, no .25."""

    def worth(asked, line):
        return score(asked, episode(f"MY ANSWER: {line}")).metrics

    assert worth(vague(), "yes") == {"accuracy": 0.75, "of_ceiling": 1.0, "ceiling": 0.75}
    assert worth(vague(), "No.")["accuracy"] == 0.25
    asked = vague("who", {"Mary": [0.5, 0.5], "Tom": [0.75], "Robot": []})
    found = worth(asked, "Tom")
    assert (found["accuracy"], found["ceiling"]) == (0.25 * 0.75, 0.75 * 0.75)
    assert found["per_subject"] == (0.25 + 0.75 + 1.0) / 3
    assert worth(asked, "Mary and Tom")["of_ceiling"] == 1.0
    assert worth(asked, "Tom, Robot")["accuracy"] == 0.0
    asked = vague("how-often", {"Tom": [0.5, 0.5]})
    found = worth(asked, "1")
    assert (found["accuracy"], found["ceiling"], found["count_error"]) == (0.5, 0.5, 0.0)
    assert worth(asked, "twice")["accuracy"] == 0.25
    assert worth(asked, "2")["count_error"] == 1.0
    asked = small(1000, seed=3, categories=["vague"])
    assert len(asked) == 1000
    for sample in asked:
        probabilities = truth.answer_probabilities(sample.template, sample.chances)
        best = probabilities.of(probabilities.best)
        answers = possible_answers(sample.template, sample.chances)
        shares = [probabilities.of(answer) for answer in answers]
        assert max(shares) == best
        assert sum(shares) == pytest.approx(1.0, abs=1e-12)
        assert probabilities.of(sample.gold) == best
    checked = 0
    for sample in small(120, seed=5, categories=["vague"]):
        table = {name: list(found) for name, found in sample.chances.items()}
        if sample.size > 60 or sum(map(len, table.values())) > 8:
            continue
        for answer in possible_answers(sample.template, sample.chances):
            wanted = brute_force.vague_share(sample.question, table, answer)
            found = truth.answer_probabilities(sample.template, sample.chances).of(answer)
            assert found == pytest.approx(wanted, abs=1e-12)
            checked += 1
    assert checked > 200


@pytest.mark.parametrize("number", ["-1", "1.5", "3", "999999999999999999999", "1/2"])
def test_an_impossible_number_is_wrong_and_no_crash(number):
    found = score(vague("how-often", {"Tom": [0.5, 0.5]}), episode(f"MY ANSWER: {number}"))
    assert found.metrics["accuracy"] == 0.0


@given(CHANCES, st.sampled_from(["who", "did", "how-often"]))
def test_all_possible_answers_sum_to_1(chances, template):
    answers = possible_answers(template, chances)
    assert len(set(answers)) == len(answers)
    total = sum(truth.answer_probabilities(template, chances).of(answer) for answer in answers)
    assert total == pytest.approx(1.0, abs=1e-12)


@given(st.lists(st.floats(0, 1), max_size=40))
def test_the_count_distribution_has_the_right_mean_and_ends(chances):
    shares = truth.count_chances(chances)
    mean = sum(number * share for number, share in enumerate(shares))
    assert mean == pytest.approx(truth.expected_count(chances), abs=1e-9)
    assert shares[0] == pytest.approx(prod(1 - p for p in chances), abs=1e-12)
