"""The rules by which the authors of TimeQA score a response, which are those of SQuAD: the whole
response against the best of the gold answers, without case, punctuation and English articles."""

from __future__ import annotations

import re
import string
from collections import Counter

from agent_env.records.schema import Episode, Sample, Score
from agent_env.scoring.episode_score import episode_score
from agent_env.tasks.task import PublishedScorer

METRICS = ("squad_em", "squad_f1")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def score(sample: Sample, episode: Episode) -> Score:
    """Exact match and token F1."""
    return episode_score(sample, episode, lambda text: measure(sample.gold, text or ""))


def measure(gold: tuple[str, ...], text: str) -> dict[str, object]:
    """Outcome and metrics of a response; a question without an answer wants an empty one."""
    answer, golds = _words(text), [_words(name) for name in gold] or [[]]
    metrics = {
        "squad_em": float(answer in golds),
        "squad_f1": max(_token_f1(own, answer) for own in golds),
    }
    return {"outcome": "read", "metrics": metrics}


def _words(text: str) -> list[str]:
    return _ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def _token_f1(gold: list[str], answer: list[str]) -> float:
    both = sum((Counter(gold) & Counter(answer)).values())
    return 2 * both / (len(gold) + len(answer)) if gold and answer else float(gold == answer)


SCORER = PublishedScorer(score, METRICS)
