"""The day as of which a model answers questions about the present from memory.

An answer without evidence was right from one day to another. The apparent knowledge cutoff is the
day on which most of the answers were right; its 95 % interval comes from resampling the questions,
each with all days that explain as many of its answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from agent_env.analysis.resampling import draw_weights

FEWEST = 8
"""Questions with a right day; of fewer nothing is said."""
Span = tuple[str, float, float]
"""A question, and from when to when its answer was right, in years; inf where it still is."""


@dataclass(frozen=True, slots=True)
class Cutoff:
    """An apparent knowledge cutoff, in years of the calendar (1995.5 is July)."""

    year: float | None
    """None where it cannot be told."""
    low: float | None = None
    high: float | None = None
    share: float | None = None
    """Of the answers that were right on some day, those that were so then."""
    questions: int = 0
    """That have such answers."""
    why: str = ""
    """Why it cannot be told."""

    @property
    def months(self) -> tuple[str | None, ...]:
        """It and the ends of its interval, as YYYY-MM."""
        return tuple(
            None if year is None else f"{int(year)}-{int(year % 1 * 12) + 1:02}"
            for year in (self.year, self.low, self.high)
        )

    def explains(self, since: float, until: float) -> bool:
        """Whether an answer with this span is what the memory says."""
        return self.year is not None and since <= self.year < until


def cutoff_of(spans: Sequence[Span], resamples: int = 2000, seed: int = 0) -> Cutoff:
    """The cutoff that the spans speak of; a question counts once, however often it was asked."""
    questions = list(dict.fromkeys(question for question, _, _ in spans))
    if len(questions) < FEWEST:
        why = f"only {len(questions)} questions have an answer that was ever right"
        return Cutoff(None, questions=len(questions), why=why)
    edges = np.array(sorted({edge for _, *own in spans for edge in own if edge < inf}))
    edges = np.append(edges, edges[-1] + 0.01)  # what holds from the last change on
    middles = (edges[:-1] + edges[1:]) / 2
    fits = np.zeros((len(questions), len(middles)))
    answers = np.zeros((len(questions), 1))
    for question, since, until in spans:
        row = questions.index(question)
        fits[row] += (since <= middles) & (middles < until)
        answers[row] += 1
    fits /= answers
    weights = np.vstack([np.ones(len(questions)), draw_weights(len(questions), resamples, seed)])
    sums = weights @ fits
    is_best = sums > sums.max(axis=1, keepdims=True) - 1e-9
    first = edges[is_best.argmax(axis=1)]
    last = edges[len(middles) - is_best[:, ::-1].argmax(axis=1)]
    share = float(sums[0].max() / len(questions))
    if share <= 0.5:
        why = "no day explains more than half of the answers"
        return Cutoff(None, share=share, questions=len(questions), why=why)
    return Cutoff(
        year=float(first[0] + last[0]) / 2,
        low=float(np.percentile(first[1:], 2.5)),
        high=float(np.percentile(last[1:], 97.5)),
        share=share,
        questions=len(questions),
    )
