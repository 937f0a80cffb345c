"""Options of a family as the user writes them, tables beside samples, and samples by field."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from agent_env.errors import ConfigError
from agent_env.records.schema import MaterialTable, Record, Sample
from agent_env.records.tier import Tier
from agent_env.tasks.family import Family, SampleSet
from agent_env.tasks.sample_files import materials_beside, parse_where, read_materials, select
from agent_env.testing import puzzle


class Options(Record):
    """What the tests' family can be asked for."""

    setting: Literal["open", "closed"] = "open"
    sizes: tuple[int, ...] = (5,)
    known_only: bool = False


TABLE = MaterialTable(name="events", columns=("what", "day"), rows=(("tea", "2023-01-02"),))


def no_task(prompt, options, tables):
    raise AssertionError("not asked for here")


def make(count, seed, options):
    fields = {"task": "tests", "gold": ("yes",), "materials": (TABLE.digest,)}
    samples = (Sample(id=f"s-{seed}-{number}", **fields) for number in range(count))
    return SampleSet(tuple(samples), (TABLE,))


FAMILY = Family("tests", no_task, make, Options)


def test_options_are_typed_and_levels_give_some(levelled):
    given = ["setting=closed", "sizes=5, 50", "known-only=true"]
    assert FAMILY.read_options(given) == Options(setting="closed", sizes=(5, 50), known_only=True)
    chosen = levelled.read_options(["sizes=9", "known_only=true"], "easy")
    assert chosen == Options(setting="closed", sizes=(9,), known_only=True)
    tier = levelled.tier_of("easy", chosen)
    assert (tier.options, tier.replaced) == (("sizes=2,3", "setting=closed"), ("sizes",))
    assert str(tier) == "easy: few (sizes=2,3 setting=closed), but for your own sizes"
    easy = levelled.tier_of("easy", levelled.read_options([], "easy"))
    assert levelled.make_tier(1, 1, Options(), easy).samples[0].tier == easy
    paper = levelled.tier_of("paper", levelled.read_options([], "paper"))
    assert paper.name == "paper"
    assert levelled.make_tier(2, 1, Options(), paper) == make(2, 1, Options())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["setting"], "--option 'setting' is not KEY=VALUE"),
        (["colour=red"], "tests has no option 'colour'; known: setting, sizes, known_only"),
        (["sizes=5", "sizes=6"], "--option sizes is given twice; separate several values by"),
        (["sizes=many"], "option of tests: sizes: "),
        (["setting=ajar"], "option of tests: setting: 'ajar' is not 'open' or 'closed'"),
    ],
)
def test_a_wrong_option_is_named(given, said):
    with pytest.raises(ConfigError, match=f"^{said.replace('.', '[.]')}"):
        FAMILY.read_options(given)


def test_tables_are_written_once_beside_the_samples(tmp_path):
    out = tmp_path / "new" / "questions.jsonl"
    FAMILY.make_samples(3, 1, Options()).write(out)
    assert len(out.read_text().splitlines()) == 3
    assert materials_beside(out) == tmp_path / "new" / "questions.materials.jsonl"
    assert read_materials(materials_beside(out)) == (TABLE,)


@pytest.fixture
def levelled(tmp_path):
    file = tmp_path / "difficulty.toml"
    file.write_text('[easy]\nabout = "few"\noptions = { sizes = [2, 3], setting = "closed" }\n')
    return replace(FAMILY, levels=file)


def test_a_level_that_is_not_there_is_named(levelled):
    none = "--difficulty easy: tests has no levels of difficulty; leave it out"
    with pytest.raises(ConfigError, match=f"^{none}$"):
        FAMILY.read_options([], "easy")
    with pytest.raises(ConfigError, match=r"^--difficulty medium: tests has easy, paper$"):
        levelled.read_options([], "medium")


PUZZLES = [puzzle("a", ["2001-01-01"]), puzzle("b", []), puzzle("c", ["2001-01-01", "2002-01-01"])]


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        (["solution_count=0,2"], "bc"),
        (["solution_count=0,2", "id=c"], "c"),
        (["gold=2002-01-01"], "c"),
        (["tier=easy"], "a"),
        (["tier=hard,paper"], ""),
    ],
)
def test_filters_hold_together_and_a_level_is_compared_by_its_name(filters, ids):
    easy = Tier(name="easy", about="three facts")
    samples = [PUZZLES[0].model_copy(update={"tier": easy}), *PUZZLES[1:]]
    found = select(samples, [parse_where(text) for text in filters])
    assert [sample.id for sample in found] == [*ids]
