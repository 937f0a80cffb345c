"""Phrasings of one query are drawn together."""

from __future__ import annotations

import pytest

from agent_env.families.tdbench.family import HOOKS
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.tasks.task import AnalysisHooks
from tests.ended import scored

from .studies import study_of

QUERIES = {f"q{query}-{n}": f"q{query}" for query in range(5) for n in range(3)}


def test_phrasings_of_one_query_are_drawn_together():
    pairs = [scored({"answer": 1.0}, name) for name in QUERIES]
    by_query = AnalysisHooks(cluster=lambda sample: QUERIES[sample.id])
    (apart,) = study_of(pairs, ("base",), ("answer",)).estimates_of("answer")
    (together,) = study_of(pairs, ("base",), ("answer",), hooks=by_query).estimates_of("answer")
    assert (apart.clusters, together.clusters) == (15, 5)
    assert (apart.low, apart.high) == pytest.approx((0.7961, 1.0), abs=1e-4)
    assert (together.low, together.high) == pytest.approx((0.5655, 1.0), abs=1e-4)
    samples = make(9, 1, TdbenchOptions(rows=60)).samples
    assert [HOOKS.cluster(s) for s in samples] == [s.query for s in samples]
    assert len({HOOKS.cluster(sample) for sample in samples}) == 3
    assert HOOKS.groups(samples[0])["worded_by"] == ("template",)
