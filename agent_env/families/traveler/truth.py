"""The probability that an answer to a vague question is true, and that of the best answer.

The adverbial applies to each matching event with its own probability p, independently.
From the slides: Did is P = 1 - prod(1 - p), `no` is 1 - P; P per subject for Who; the expected
number sum(p) for How often. Ours: the joint score of Who, which is the product of P over the
subjects named and of 1 - P over those not named; the Poisson-binomial probability of the number
answered for How often. So the scores of all possible answers to a question sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Chances = Mapping[str, Sequence[float]]
"""By subject, the probabilities of the matching events; every subject that could be named."""
Answer = tuple[str, ...]
TINY = 1e-30


def crisp_answer(template: str, occurrences: Sequence[tuple[str, str]]) -> Answer:
    """The answer in normal form, from subject and day (ISO 8601) of the events that fit."""
    if template == "who":
        return tuple(sorted({subject for subject, _ in occurrences}))
    if template == "did":
        return ("yes",) if occurrences else ("no",)
    if template == "how-often":
        return (str(len(occurrences)),)
    return (max(day for _, day in occurrences),) if occurrences else ()


def at_least_one(chances: Sequence[float]) -> float:
    """The probability that the adverbial applies to any of the events."""
    return 1.0 - math.prod(1.0 - p for p in chances)


def expected_count(chances: Sequence[float]) -> float:
    """The expected number of events to which it applies."""
    return math.fsum(chances)


def count_chances(chances: Sequence[float]) -> list[float]:
    """The Poisson-binomial distribution: the probability of each number of events. Probabilities
    below TINY count as 0, which spares most of the work for hundreds of events."""
    shares, least = [1.0], 0
    for p in chances:
        q = 1.0 - p
        shares = [q * here + p * below for here, below in zip([*shares, 0.0], [0.0, *shares])]  # noqa: B905
        while shares[-1] < TINY:
            shares.pop()
        if shares[0] < TINY:
            first = next(at for at, share in enumerate(shares) if share >= TINY)
            shares, least = shares[first:], least + first
    return [0.0] * least + shares + [0.0] * (len(chances) + 1 - least - len(shares))


@dataclass(frozen=True, slots=True)
class AnswerProbabilities:
    template: str
    by_subject: Mapping[str, float]
    """The probability that the subject did so at all."""
    counts: Sequence[float]
    """By number, the probability that it is the true one; empty unless a number is asked for."""

    def of(self, answer: Answer) -> float:
        """The probability that the answer is the true one; 0 for an impossible one."""
        if self.template == "who":
            if not set(answer) <= set(self.by_subject):
                return 0.0
            shares = self.by_subject.items()
            return math.prod(p if name in answer else 1.0 - p for name, p in shares)
        if self.template == "did":
            yes = self._yes
            return yes if answer == ("yes",) else 1.0 - yes if answer == ("no",) else 0.0
        number = _whole(answer)
        return self.counts[number] if number is not None and number < len(self.counts) else 0.0

    @property
    def best(self) -> Answer:
        """The most probable answer; of equals the lesser one."""
        if self.template == "who":
            return tuple(sorted(name for name, p in self.by_subject.items() if p > 0.5))
        if self.template == "did":
            return ("yes",) if self._yes > 0.5 else ("no",)
        return (str(self.counts.index(max(self.counts))),)

    @property
    def _yes(self) -> float:
        return at_least_one(list(self.by_subject.values()))


def answer_probabilities(template: str, chances: Chances) -> AnswerProbabilities:
    by_subject = {name: at_least_one(row) for name, row in chances.items()}
    counts = count_chances(_all(chances)) if template == "how-often" else []
    return AnswerProbabilities(template, by_subject, counts)


def best_answer(template: str, chances: Chances) -> Answer:
    """The most probable answer."""
    return answer_probabilities(template, chances).best


def per_subject(chances: Chances, answer: Answer) -> float:
    """Mean over the subjects of the probability that naming or not naming each is right: the
    slides' P for every subject by itself."""
    by_subject = answer_probabilities("who", chances).by_subject
    shares = [p if name in answer else 1.0 - p for name, p in by_subject.items()]
    strangers = len(set(answer) - set(chances))
    return math.fsum(shares) / (len(shares) + strangers)


def count_error(chances: Chances, answer: Answer) -> float | None:
    """The distance of the answered number from the expected one; None where it is not a number."""
    try:
        return abs(float(answer[0]) - expected_count(_all(chances)))
    except (IndexError, ValueError):
        return None


def _all(chances: Chances) -> list[float]:
    return [p for row in chances.values() for p in row]


def _whole(answer: Answer) -> int | None:
    short = len(answer) == 1 and len(answer[0]) < 10
    return int(answer[0]) if short and answer[0].isdecimal() else None
