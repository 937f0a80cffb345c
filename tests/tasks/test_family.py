"""Options of a family as the user writes them, and tables beside samples."""

from __future__ import annotations

from typing import Literal

import pytest

from agent_env.errors import ConfigError
from agent_env.records.schema import MaterialTable, Record, Sample
from agent_env.tasks.family import Family, SampleSet
from agent_env.tasks.sample_files import materials_beside, read_materials


class Options(Record):
    """What the tests' family can be asked for."""

    setting: Literal["open", "closed"] = "open"
    sizes: tuple[int, ...] = (5,)
    known_only: bool = False


TABLE = MaterialTable(name="events", columns=("what", "day"), rows=(("tea", "2023-01-02"),))


def no_task(prompt, options, tables):
    raise AssertionError("not asked for here")


def make(count, seed, options):
    samples = (
        Sample(id=f"s-{seed}-{i}", task="tests", gold=("yes",), materials=(TABLE.digest,))
        for i in range(count)
    )
    return SampleSet(tuple(samples), (TABLE,))


FAMILY = Family("tests", no_task, make, Options)


def test_options_are_typed():
    given = ["setting=closed", "sizes=5, 50", "known-only=true"]
    assert FAMILY.read_options(given) == Options(setting="closed", sizes=(5, 50), known_only=True)


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
