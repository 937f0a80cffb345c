"""Where points are lost: exact sums on the same samples, and a step only where it is shown."""

from dataclasses import replace

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.provenance import Provenance
from agent_env.analysis.statistics.conclusions import conclusions
from agent_env.analysis.statistics.ladder import ladder
from agent_env.analysis.study import QUANTITIES, Arm, Observation, Study
from agent_env.records.schema import Condition, Sample
from agent_env.scoring.evidence import Lookup

SAMPLES = tuple(Sample(id=f"s{i}", task="t", gold=()) for i in range(10))
NOT_FOUND, LISTED, SHOWN = (False, False), (True, False), (True, True)


def searched(name, sample, returned, shown):
    lookup = Lookup(
        constraint=0, returned=returned, opened=False, cited=False, shown=shown, used=False
    )
    return Provenance(
        condition=name, sample=sample, repeat=1, world="plain", answer=(), is_right=False,
        is_original=False, agrees_with="", verdict="unknown", lookups=(lookup,),
    )  # fmt: skip


def study(right, searches=()):
    """Of each condition the samples that are right, as 0/1; `searches` of each sample on the web,
    whether a page was listed and its date shown."""
    arms = []
    for name, scores in right.items():
        looked = searches if name == "web" else ()
        observations = tuple(
            Observation(
                sample.id, 1, "read", {"exact_match": float(score)}, dict.fromkeys(QUANTITIES),
                provenance=searched(name, sample.id, *looked[i]) if looked else None,
            )
            for i, (sample, score) in enumerate(zip(SAMPLES, scores, strict=True))
            if score is not None
        )  # fmt: skip
        arms.append(Arm(name, "r", "m", Condition(name=name), observations, 10, model_label="m"))
    return Comparison(Study("t", ("exact_match",), tuple(arms), SAMPLES, ()), Options())


def rows(comparison):
    """By step: the difference, its value, n."""
    table = ladder(comparison)
    return {row[1]: (row[2], row[3] and row[3][0], row[5]) for row in table.rows}


RUNGS = {
    "explicit": [1] * 10,
    "facts": [1] * 9 + [0],
    "cited": [1] * 8 + [0] * 2,
    "web-once": [0] * 10,
    "web": [1] + [0] * 9,
}


def test_the_losses_add_up_to_what_the_web_lacks_over_the_samples_that_all_answered():
    searches = [SHOWN, *[NOT_FOUND] * 5, LISTED, SHOWN, SHOWN, SHOWN]
    comparison = study(RUNGS, searches)
    assert rows(comparison) == {
        "finding the page": ("cited − web, no proving page shown", pytest.approx(0.5), 10),
        "opening the page": ("cited − web, page listed, date not shown", pytest.approx(0.1), 10),
        "using the date that was shown": ("cited − web, date shown", pytest.approx(0.1), 10),
        "reading the page": ("facts − cited", pytest.approx(0.1), 10),
        "computing with the facts": ("explicit − facts", pytest.approx(0.1), 10),
        "writing the answer down": ("1 − explicit", 0.0, 10),
        "searching only once": ("web − web-once", pytest.approx(0.1), 10),
    }
    # 5 of 10 lost, none won: p = 0.0625, which shows nothing
    assert not any("points are lost" in text for text in conclusions(comparison))
    right = RUNGS | {"facts": [None] + [1] * 8 + [0]}
    found = rows(study(right))
    assert {n for _, _, n in found.values()} == {9}
    assert found["finding and opening the page"][1] == pytest.approx(7 / 9)


def test_rungs_and_steps_are_named_where_they_are_shown():
    without = {name: RUNGS[name] for name in ("facts", "cited", "web")}
    assert list(rows(study(without))) == ["finding and opening the page", "reading the page"]
    assert not ladder(study({name: RUNGS[name] for name in ("web", "explicit")})).rows
    assert rows(study({f"{name}~schema": RUNGS[name] for name in RUNGS})) == rows(study(RUNGS))
    both = {"cited": RUNGS["cited"], "facts~schema": RUNGS["facts"], "facts~auto": RUNGS["facts"]}
    assert rows(study(both)) == {}
    made = study({"web": RUNGS["web"], "cited": RUNGS["cited"]}).study
    other = replace(made.arms[0], label="other web", run="o", model="o", model_label="o")
    (sentence, *_) = conclusions(Comparison(replace(made, arms=(*made.arms, other)), Options()))
    assert sentence.startswith("m: points are lost at finding and opening the page")
    equal = {"cited": [1, 0] * 5, "web": [0, 1] * 5}
    assert not any("points are lost" in text for text in conclusions(study(equal)))
