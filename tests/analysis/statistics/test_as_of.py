"""What a web as of a day let through, counted from the flags of the traces."""

from dataclasses import replace

import pytest

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.statistics.as_of import as_of
from agent_env.records.schema import PageRef, Sample
from agent_env.scoring.evidence import holds_all, is_telling, page_flags
from tests.analysis.studies import study_of
from tests.ended import scored as pair


def ref(url, how, *flags):
    return PageRef(url=url, how=how, flags=flags or None)


LEAKY = (
    ref("a", "returned", "undated", "gold"), ref("a", "opened", "undated"), ref("b", "opened"),
    ref("c", "returned"), ref("c", "blocked", "later", "changed"), ref("d", "blocked", "undated"),
)  # fmt: skip
CLEAN = (ref("b", "opened", "gold"), ref("e", "opened", "mentions-later"))


@pytest.mark.parametrize(
    ("gold", "text", "holds"),
    [
        (("1982-04-02",), "It began on 2 April 1982.", True),
        (("1982-04-02",), "It began in 1982.", False),
        (("Ann Lee", "Bo Ek"), "ANN LEE met Bo Ek.", True),
        (("Ann Lee",), "Joann Leeds", False),
        (("1982",), "1982", False),
    ],
)
def test_right_answers_stand_in_a_text_in_any_notation_and_short_ones_are_not_judged(
    gold, text, holds
):
    assert holds_all(gold, text) is holds
    assert is_telling(gold) is (gold != ("1982",))


def study(pages, gold="2001-01-01", day="2020-01-01"):
    """One run whose episodes of a sample were shown these pages."""
    scored = [
        pair({"exact_match": 1.0}, sample, "web", steps=1, pages=refs)
        for sample, refs in pages.items()
    ]
    samples = [Sample(id=sample, task="t", gold=(gold,)) for sample in pages]
    comparison = study_of(scored, ("web",), ("exact_match",), samples)
    (arm,) = comparison.study.arms
    seen = [
        replace(each, provenance=each.provenance.model_copy(
            update={"as_of": day, "page_flags": page_flags(pages[each.sample])}
        ))
        for each in arm.observations
    ]  # fmt: skip
    arms = (replace(arm, observations=tuple(seen)),)
    return Comparison(replace(comparison.study, arms=arms))


def test_a_leaking_page_counts_where_it_can_be_judged():
    pages = {"a": LEAKY, "b": CLEAN, "c": (), "d": CLEAN}
    (row,) = as_of(study(pages)).rows
    assert row[:9] == ("web", "2020-01-01", 7, 1, 2, 1, 1, 1, 3)
    assert row[9] == pytest.approx((1 / 3, 0.0615, 0.7923), abs=1e-4)
    (row,) = as_of(study({"a": LEAKY}, gold="2001")).rows
    assert row[8:] == (0, None)
    assert as_of(study({"a": LEAKY}, day=None)).rows == ()
