"""A run that is killed and resumed ends as one that was not; the full ordeal is a benchmark."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

from agent_env.episodes.run_folder import samples_bytes
from agent_env.extensions.facts.tables.tables import shipped_tables
from agent_env.families.time_puzzles.options import SetOptions, make_set
from tests.episodes.killing import ordeal


def test_a_run_killed_at_random_moments_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    dataset = tmp_path / "puzzles.jsonl"
    dataset.write_bytes(samples_bytes(make_set(shipped_tables(), SetOptions(8, 3)).puzzles))
    found = asyncio.run(ordeal(tmp_path, dataset, "explicit+cal", 2, 4, 0.05, Random(7)))
    assert found.kills == 2
    assert found.same_scores
    assert (found.asked_again, found.left_over, found.episodes) == (0, 0, 8)
    assert found.repeats <= found.in_flight
    assert found.in_flight <= 2 * 4
