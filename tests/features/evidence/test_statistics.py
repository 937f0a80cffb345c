"""Right answers split into evidence, memory and luck, from planted episodes."""

import pytest

from agent_env.features.evidence.statistics import ablation, splits_of
from agent_env.records.schema import PageRef, Sample
from agent_env.tasks.task import ORIGINAL, AnalysisHooks
from tests.analysis.studies import study_of
from tests.ended import scored as pair

CHANCE = AnalysisHooks(chance=lambda sample: 0.1)


def scored(name, condition, right, original=None, pages=2):
    metrics = {"exact_match": float(right)}
    if original is not None:
        metrics[ORIGINAL] = float(original)
    shown = (PageRef(url="https://x.example", how="returned"),) * pages
    return pair(metrics, name, condition, pages=shown)


def planted(*groups, hooks=CHANCE):
    """Samples in groups: how many, right in the plain web, in the shifted one, the plain answer
    there, right in the blocked one."""
    rows = [rest for count, *rest in groups for _ in range(count)]
    names = [f"s{n}" for n in range(1, len(rows) + 1)]
    episodes = []
    for name, (right, shifted, original, blocked) in zip(names, rows, strict=True):
        episodes.append(scored(name, "web", right))
        episodes.append(scored(name, "web~shifted", shifted, original))
        episodes.append(scored(name, "web~blocked", blocked))
    conditions = ("web", "web~blocked", "web~shifted")
    samples = [Sample(id=name, task="t", gold=()) for name in names]
    return study_of(episodes, conditions, ("exact_match",), samples, hooks)


def values(comparison):
    (row,) = ablation(comparison).rows
    return [None if cell[0] is None else round(cell[0], 3) for cell in row[1:7]]


def test_evidence_memory_luck_and_unread_pages_are_told_apart():
    comparison = planted((50, 1, 1, 0, 0), (30, 1, 0, 1, 1), (20, 0, 0, 0, 0))
    # right, evidence, memory, luck (20 samples at 0.1), unstable, right in blocked
    assert values(comparison) == [0.8, 0.5, 0.3, 0.02, -0.02, 0.3]
    (row,) = ablation(planted((50, 1, 1, 0, 0), (50, 1, 0, 1, 1))).rows
    assert row[4] == (0.0, None, None)  # all values equal
    comparison = planted((50, 1, 1, 0, 0), (50, 1, 0, 1, 1), hooks=AnalysisHooks())
    assert values(comparison) == [1.0, 0.5, 0.5, None, None, 0.5]
    episodes = [scored("a", "web", 1), scored("a", "web~blocked", 1, pages=0)]
    episodes += [scored("b", "web", 1), scored("b", "web~blocked", 0)]
    comparison = study_of(episodes, ("web", "web~blocked"), ("exact_match",), hooks=CHANCE)
    (split,) = splits_of(comparison)
    assert (split.unread, split.episodes) == (1, 2)
    assert values(comparison) == [1.0, None, None, None, None, 0.5]


@pytest.mark.parametrize("condition", ["web+python", "web~auto"])
def test_another_world_is_that_of_the_very_same_condition(condition):
    episodes = [scored("a", "web", 1), scored("a", f"{condition}~shifted", 1, 0)]
    names = ("web", f"{condition}~shifted")
    assert ablation(study_of(episodes, names, ("exact_match",))).rows == ()
