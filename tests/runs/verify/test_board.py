"""A leaderboard of packs: verified, ranked by intervals, and safe to look at."""

import random

import numpy as np
import pytest

from agent_env.runs.verify.board import rank_intervals
from tests import frauds
from tests.commands import agent_env


def ranks(*columns):
    values = np.array(columns, dtype=float).T
    return rank_intervals(values, np.arange(len(values)), False)


def test_models_that_are_not_told_apart_share_ranks():
    good, poor = [1] * 20, [0] * 20
    assert ranks(good, poor) == [(1, 1), (2, 2)]
    assert ranks(good, good, poor) == [(1, 2), (1, 2), (3, 3)]
    assert ranks(good) == [(1, 1)]
    middling = [1, 0] * 10
    assert ranks(middling, [1, *middling[1:]]) == [(1, 2), (1, 2)]


def test_of_an_error_less_is_better():
    values = np.array([[3.0] * 20, [1.0] * 20]).T
    assert rank_intervals(values, np.arange(20), True) == [(2, 2), (1, 1)]


def test_a_sample_that_one_model_lacks_does_not_count():
    one, two = [1.0] * 20, [0.0] * 20
    one[3] = float("nan")
    assert ranks(one, two) == [(1, 1), (2, 2)]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Of two models, a cheat, and a file that is no pack."""
    folder = tmp_path_factory.mktemp("packs")
    for model in ("reference", "guesser"):
        run = folder / "runs" / model
        words = ("time-puzzles", "--difficulty", "easy", "--limit", "8", "--condition", "base",
                 "--condition", "explicit", "--model", model)  # fmt: skip
        assert agent_env("run", *words, "--out", str(run)).returncode == 0
        assert agent_env("pack", str(run), "--out", f"{folder}/{model}.zip").returncode == 0
    changed = frauds.unpack(folder / "reference.zip", folder / "changed")
    frauds.gold(changed, random.Random(1))
    frauds.restated(changed)
    frauds.zipped(changed, folder / "cheat<b>.zip")
    (folder / "broken.zip").write_bytes(b"no pack")
    done = agent_env("board", str(folder), "--out", f"{folder}/board.html")
    assert done.returncode == 0, done.stderr
    return (folder / "board.html").read_text()


def test_packs_whose_claims_hold_are_ranked_and_the_others_are_shown_apart(page):
    ranked, apart = page.split(">Not ranked</h1>")
    assert "12 claims hold" in ranked
    assert "the second solver finds" not in ranked
    assert "is not what its source gives in gold" in apart
    assert "is no pack that can be read" in apart


def test_names_of_files_are_escaped_and_nothing_is_loaded(page):
    assert "cheat<b>" not in page
    assert "cheat&lt;b&gt;" in page
    assert "default-src 'none'" in page
    assert 'src="http' not in page


def test_each_run_lists_its_episodes_below(page):
    assert page.count(">explicit/tp-1-00001.1<") == 2
    assert 'id="time-puzzles-' in page


def test_a_folder_without_packs_is_told(tmp_path):
    done = agent_env("board", str(tmp_path))
    assert (done.returncode, "has no packs" in done.stderr) == (2, True)
