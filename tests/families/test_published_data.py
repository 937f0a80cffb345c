"""The gate of published data: what must come out of folders in the authors' layouts.

The folders are small and written by hand: two tables of one name and a join on a third, a day of
making that another table holds, files packed by gzip, dates in several forms, wrong golds. With the
authors' own folders `benchmarks/published.py DIR` does the same.
"""

from pathlib import Path

import pytest

from benchmarks.published import counts_of, main

DATA = Path(__file__).parents[1] / "data" / "published"


@pytest.fixture(scope="module")
def counts():
    return counts_of(DATA)


def test_the_counts_of_each_paper(counts):
    assert counts["time-puzzles"] == {
        "puzzles with 0 solutions": 1,
        "puzzles with 1 solutions": 1,
        "puzzles with 2 solutions": 2,
        "golds with a finding": 1,
        "open puzzles": 2,
        "files of responses": 3,
        "responses to puzzles of Table 1": 6,
    }
    assert counts["tdbench"] == {
        "results that come out of 26": 24,
        "joins": 4,
        "joins that come out": 4,
        "alignment questions": 6,
        "reasoning questions": 6,
        "reasoning-closed questions": 6,
        "multi-hop questions": 2,
        "medical questions": 0,
    }
    assert counts["temp-answers"] == {
        "files": 3, "arithmetic questions": 2, "head questions": 3, "tail questions": 1,
    }  # fmt: skip
    assert counts["tempreason"] == {
        "TempReason_l3_timebench.jsonl: questions": 1,
        "TempReason_l3_timebench.jsonl: the solver agrees": 1,
        "test_l2.json: questions": 2,
        "test_l2.json: the solver agrees": 2,
        "test_l3.json.gz: questions": 1,
        "test_l3.json.gz: the solver agrees": 1,
    }
    assert counts["timeqa"] == {
        "human_annotated_test.json: questions": 2,
        "human_test.easy.json.gzip: questions": 2,
        "test.hard.json: questions": 1,
    }
    assert counts["fuzzylli"] == {"events of TRAVELER": 7, "events": 8, "curves": 30}


def test_a_count_that_is_not_as_claimed_is_said(tmp_path, capsys):
    (tmp_path / "FuzzyLLI").symlink_to(DATA / "fuzzylli")
    assert main(tmp_path) == 0
    (tmp_path / "temp-answers").symlink_to(DATA / "temp-answers")
    assert main(tmp_path) == 4
    assert "claimed 1,103   NO" in capsys.readouterr().out
