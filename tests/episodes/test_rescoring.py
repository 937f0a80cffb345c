"""Verdicts against earlier ones, with the scorer that made either."""

import shutil
from pathlib import Path

from agent_env.episodes.results import (
    ScorerVersion,
    against,
    earlier_scores,
    keep_version,
    version_of,
)
from agent_env.families.time_puzzles.task import score
from agent_env.runs.run import Run
from agent_env.runs.score import score_folder

RUN = Path(__file__).parents[1] / "data/runs/version-1"


def test_a_changed_verdict_is_told_with_both_sides(tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    folder = Run(tmp_path / "run")
    file = folder.path / "scores.jsonl"
    lines = file.read_text().splitlines()
    changed = next(i for i, line in enumerate(lines) if '"web"' in line)
    lines[changed] = lines[changed].replace('"exact_match":1.0', '"exact_match":0.0')
    file.write_text("\n".join([*lines, "not a score"]) + "\n")
    old = ScorerVersion(scorer="other.score", source="0" * 12)
    keep_version(folder, old)
    earlier = earlier_scores(folder)
    scored = score_folder(folder, print)
    found = against(earlier, [s for _, s in scored], score)
    assert (found.earlier, found.compared) == (old, 5)
    (change,) = found.changed
    assert change.episode == "web/tp-3-00001.1"
    sides = (change.before.metrics["exact_match"], change.now.metrics["exact_match"])
    assert sides == (0.0, 1.0)
    now = earlier_scores(folder)
    assert now.scorer == version_of(score)
    assert against(now, [s for _, s in scored], score).changed == ()
