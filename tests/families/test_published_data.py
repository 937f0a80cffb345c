"""The gate of published data: what must come out of folders in the authors' layouts.

The folders are small and written by hand: two tables of one name and a join on a third, a day of
making that another table holds, files packed by gzip, dates in several forms, wrong golds. With the
authors' own folders `benchmarks/published.py DIR` does the same.
"""

import pytest

from benchmarks.published import counts_of, main
from tests import TESTS
from tests.tables import tables

DATA = TESTS / "data" / "published"


@pytest.fixture(scope="module")
def counts():
    return counts_of(DATA)


COUNTS = tables(__file__)


@pytest.mark.parametrize("paper", COUNTS)
def test_the_counts_of_each_paper(paper, counts):
    assert counts[paper] == COUNTS[paper]


def test_a_count_that_is_not_as_claimed_is_said(tmp_path, capsys):
    (tmp_path / "FuzzyLLI").symlink_to(DATA / "fuzzylli")
    assert main(tmp_path) == 0
    (tmp_path / "temp-answers").symlink_to(DATA / "temp-answers")
    assert main(tmp_path) == 4
    assert "claimed 1,103   NO" in capsys.readouterr().out
