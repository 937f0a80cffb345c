"""The rules by which the authors of Time Puzzles score a response.

The last part of a line that begins with `answer:` counts, else the last that begins with `answer
is`, in any letter case. In it only `None` and dates as YYYY-MM-DD are read, wherever they stand; a
non-breaking hyphen is a hyphen. A response without such a part, or with nothing in it, is
unparsable and scores 0.
"""

from __future__ import annotations

import re

from agent_env.features.answers.date_sets import exact_match, f1, jaccard
from agent_env.sdk.family import PublishedScorer
from agent_env.sdk.records import Episode, Sample, Score
from agent_env.sdk.scoring import episode_score

METRICS = {"exact_match": exact_match, "f1": f1, "jaccard": jaccard}
_MARKS = (re.compile(r"answer:.*", re.I), re.compile(r"answer is.*", re.I))
_ENTRY = re.compile(r"None|\d{4}-\d{2}-\d{2}")


def score(sample: Sample, episode: Episode) -> Score:
    """Exact match, F1 and Jaccard of the dates in the response."""
    return episode_score(sample, episode, lambda text: measure(frozenset(sample.gold), text or ""))


def measure(gold: frozenset[str], text: str) -> dict[str, object]:
    """Outcome, answer and metrics of a response."""
    dates = _dates(text)
    if dates is None:
        return {"outcome": "unreadable", "metrics": dict.fromkeys(METRICS, 0.0)}
    answer = frozenset(dates)
    metrics = {name: metric(gold, answer) for name, metric in METRICS.items()}
    return {"outcome": "read", "answer": dates, "metrics": metrics}


def _dates(text: str) -> tuple[str, ...] | None:
    """The dates of the answer; `none` is one of them beside others. None where it is unparsable."""
    parts = next((own for mark in _MARKS if (own := mark.findall(text))), [])
    entries = _ENTRY.findall(parts[-1].replace("\u2011", "-")) if parts else []
    answer = tuple(entry.lower() for entry in entries)
    return () if answer == ("none",) else answer or None


SCORER = PublishedScorer(score, tuple(METRICS))
