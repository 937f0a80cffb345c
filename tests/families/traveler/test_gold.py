"""Questions and their answers: right by another reading of the list, balanced, repeatable."""

from collections import Counter
from itertools import product

import pytest

from agent_env.families.traveler.generator import SIZES
from agent_env.families.traveler.sample import NOTHING
from agent_env.families.traveler.truth import best_answer
from agent_env.tasks.sample_files import samples_bytes
from tests.families.traveler import brute_force
from tests.families.traveler.sets import small
from tests.questions import questions

CATEGORIES = ("explicit", "implicit", "vague")


def rows_of(made):
    return {t.digest: brute_force.rows_of(t.model_dump_json()) for t in made.tables}


def test_sizes_seeds_zones_and_brute_forces_gold():
    made, _ = questions("traveler", 3300)
    default, tables = made.samples, rows_of(made)
    cells = Counter((sample.size, sample.category) for sample in default)
    assert cells == {(n, c): 100 for n in SIZES for c in CATEGORIES}
    assert len({sample.id for sample in default}) == 3300
    wanted = ((200, 7), (200, 7), (40, 7), (200, 8))
    first, again, few, other = (samples_bytes(small(*each)) for each in wanted)
    assert first == again != other
    assert first.startswith(few)
    made, _ = questions("traveler", 600, 3, sizes=(50,), zone="Asia/Kathmandu")
    own = rows_of(made)
    for sample in made.samples:
        assert sample.now == "2023-09-29T22:30+05:45"
        if sample.category != "vague":
            rows = own[sample.materials[0]]
            assert sample.gold == brute_force.crisp(sample.question, rows, sample.now)
    asked = [sample for sample in default if sample.category != "vague"]
    assert len(asked) == 2200
    for sample in asked:
        rows = tables[sample.materials[0]]
        assert sample.gold == brute_force.crisp(sample.question, rows, sample.now), sample.id
    asked = [sample for sample in default if sample.template == "when"]
    kinds = Counter((sample.category, sample.expression) for sample in asked)
    assert kinds == {("implicit", "none"): 25 * 11}
    for cell in product(CATEGORIES, ("who", "did", "how-often")):
        asked = [sample for sample in default if (sample.category, sample.template) == cell]
        nothing = sum(sample.gold == NOTHING[cell[1]] for sample in asked) / len(asked)
        wanted = 1 / 2 if cell[1] == "did" else 1 / 3
        assert nothing == pytest.approx(wanted, abs=0.07), cell
        assert sum(sample.matches == "many" for sample in asked) / len(asked) >= 0.22, cell
    asked = [sample for sample in default if sample.category == "vague"]
    assert len(asked) == 1100
    for sample in asked:
        found = brute_force.vague_table(sample.question, tables[sample.materials[0]], sample.now)
        given = {name: list(chances) for name, chances in sample.chances.items() if chances}
        assert found.keys() == given.keys()
        for name, chances in found.items():
            assert chances == pytest.approx(given[name], abs=1e-12)
        assert sample.gold == best_answer(sample.template, sample.chances)
