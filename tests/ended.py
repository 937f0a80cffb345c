"""Episodes that have finished, and their scores."""

from agent_env.records.schema import Episode, Score


def ended(answer=None, sample="a", condition="base", **fields):
    """An episode with this answer."""
    known = {"sample": sample, "condition": condition, "answer": answer, "status": "finished"}
    return Episode.model_validate({"repeat": 1, "model": "m"} | known | fields)


def scored(metrics, sample="a", condition="base", answer=(), **fields):
    """An episode and its score, with these metrics; the answer is what was read."""
    named = {"sample": sample, "condition": condition, "repeat": 1}
    score = Score(outcome="read", answer=answer, metrics=metrics, **named)
    return ended(None, sample, condition, **fields), score
