"""What a plan of so many samples can show, by earlier pairs or by a guess."""

from __future__ import annotations

import random
from statistics import stdev

import pytest

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.forecast import detectable_differences
from agent_env.analysis.study import Arm, Study
from agent_env.records.schema import Condition, Episode, Sample, Score
from tests.analysis.studies import study_of


def planned(samples: int, conditions: tuple[str, ...] = ("base", "web")) -> Comparison:
    arms = tuple(
        Arm(name, "later", "m", Condition(name=name), observations=(), asked=samples)
        for name in conditions
    )
    given = tuple(Sample(id=f"p{i}", task="t", gold=()) for i in range(samples))
    return Comparison(Study("t", ("exact_match",), arms, given, ()))


def earlier(scores: dict[str, list[float]]) -> Comparison:
    scored = [
        (
            Episode(sample=f"s{i}", condition=name, repeat=1, model="m", status="finished"),
            Score(sample=f"s{i}", condition=name, repeat=1, outcome="read", rule="",
                  metrics={"exact_match": value}),
        )
        for name, values in scores.items()
        for i, value in enumerate(values)
    ]  # fmt: skip
    return study_of(scored, list(scores), ("exact_match",))


def test_without_an_earlier_run_the_guess_is_stated() -> None:
    (found,) = detectable_differences(planned(100), None)
    assert found.difference == pytest.approx(2.8015852 * (0.3 / 100) ** 0.5)
    assert (found.contrast, found.samples) == ("web − base", 100)
    assert found.basis == "guess: 30 % of pairs differ"


def test_the_variance_of_earlier_pairs_is_taken_to_the_planned_number() -> None:
    rng = random.Random(1)
    base, web = ([float(rng.random() < p) for _ in range(40)] for p in (0.3, 0.6))
    (found,) = detectable_differences(planned(160), earlier({"base": base, "web": web}))
    spread = stdev(after - before for after, before in zip(web, base, strict=True))
    assert found.difference == pytest.approx(2.8015852 * spread / 160**0.5)
    assert found.basis == "run, 40 pairs"


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ({"base": [1.0] * 20, "web": [1.0] * 20}, "all pairs alike in run"),
        ({"base": [1.0] * 20}, "no earlier run has web"),
        ({"base": [1.0] * 9, "web": [0.0] * 8 + [1.0]}, "9 pairs in run are too few"),
    ],
)
def test_what_earlier_pairs_do_not_tell_is_guessed(
    scores: dict[str, list[float]], why: str
) -> None:
    (found,) = detectable_differences(planned(50), earlier(scores))
    assert found.basis == f"guess: 30 % of pairs differ ({why})"
