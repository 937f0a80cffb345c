"""Questions and their answers: right by another reading of the list, balanced, repeatable."""

from collections import Counter

import pytest

from agent_env.families.traveler.generator import SIZES, Options, make_samples
from agent_env.families.traveler.sample import NOTHING
from agent_env.families.traveler.truth import best_answer
from tests.families.traveler import brute_force
from tests.families.traveler.sets import small, whole


@pytest.fixture(scope="module")
def default():
    return whole()


@pytest.fixture(scope="module")
def tables(default):
    return {t.digest: brute_force.rows_of(t.model_dump_json()) for t in default[0].tables}


def test_sizes_seeds_zones_and_brute_forces_gold(default, tables):
    cells = Counter((sample.size, sample.category) for sample in default[1])
    assert cells == {(n, c): 100 for n in SIZES for c in ("explicit", "implicit", "vague")}
    assert len({sample.id for sample in default[1]}) == 3300
    first = [sample.model_dump_json() for sample in small(200, seed=7)]
    assert first == [sample.model_dump_json() for sample in small(200, seed=7)]
    assert first[:40] == [sample.model_dump_json() for sample in small(40, seed=7)]
    assert first != [sample.model_dump_json() for sample in small(200, seed=8)]
    made = make_samples(600, 3, Options(sizes=(50,), zone="Asia/Kathmandu"))
    own = {t.digest: brute_force.rows_of(t.model_dump_json()) for t in made.tables}
    for sample in made.samples:
        assert sample.now == "2023-09-29T22:30+05:45"
        if sample.category != "vague":
            rows = own[sample.materials[0]]
            assert sample.gold == brute_force.crisp(sample.question, rows, sample.now)
    asked = [sample for sample in default[1] if sample.category != "vague"]
    assert len(asked) == 2200
    for sample in asked:
        rows = tables[sample.materials[0]]
        assert sample.gold == brute_force.crisp(sample.question, rows, sample.now), sample.id
    asked = [sample for sample in default[1] if sample.template == "when"]
    assert {sample.category for sample in asked} == {"implicit"}
    assert {sample.expression for sample in asked} == {"none"}
    assert len(asked) == 25 * 11
    for category in ("explicit", "implicit", "vague"):
        for template in ("who", "did", "how-often"):
            asked = [s for s in default[1] if (s.category, s.template) == (category, template)]
            nothing = sum(s.gold == NOTHING[template] for s in asked) / len(asked)
            wanted = 1 / 2 if template == "did" else 1 / 3
            assert nothing == pytest.approx(wanted, abs=0.07), (category, template)
            many = sum(s.matches == "many" for s in asked) / len(asked)
            assert many >= 0.22, (category, template)
    asked = [sample for sample in default[1] if sample.category == "vague"]
    assert len(asked) == 1100
    for sample in asked:
        found = brute_force.vague_table(sample.question, tables[sample.materials[0]], sample.now)
        given = {name: list(chances) for name, chances in sample.chances.items() if chances}
        assert found.keys() == given.keys()
        for name, chances in found.items():
            assert chances == pytest.approx(given[name], abs=1e-12)
        assert sample.gold == best_answer(sample.template, sample.chances)
