"""Episodes that have finished, their scores, and the manifest of a run."""

from agent_env.records.manifest import Manifest
from agent_env.records.schema import Condition, Episode, Score


def manifest(**fields):
    """A manifest with these fields."""
    known = {
        "task": "t", "model": "m", "conditions": [Condition(name="base")], "repeats": 1,
        "limits": {}, "prompt": "default", "seed": 1, "samples": 1, "samples_digest": "",
        "concurrency": 1, "versions": {}, "created_at": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip
    return Manifest.model_validate(known | fields)


def ended(answer=None, sample="a", condition="base", **fields):
    """An episode with this answer."""
    known = {"sample": sample, "condition": condition, "answer": answer, "status": "finished"}
    return Episode.model_validate({"repeat": 1, "model": "m"} | known | fields)


def scored(metrics, sample="a", condition="base", answer=(), **fields):
    """An episode and its score, with these metrics; the answer is what was read."""
    named = {"sample": sample, "condition": condition, "repeat": 1}
    score = Score(outcome="read", answer=answer, metrics=metrics, **named)
    return ended(None, sample, condition, **fields), score
