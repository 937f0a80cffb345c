"""What an answer to a vague question is worth, and what the best possible one is worth.

Each matching event bears the adverbial with its own probability p, independently.
From the slides: Did is P = 1 - prod(1 - p), `no` is 1 - P; P per subject for Who; the expected
number sum(p) for How often. Ours: the joint score of Who, which is the product of P over the
subjects named and of 1 - P over those not named; the Poisson-binomial probability of the number
answered for How often. So the scores of all possible answers to a question sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

Chances = Mapping[str, Sequence[float]]
"""By subject, the probabilities of the matching events; every subject that could be named."""
Answer = tuple[str, ...]
TINY = 1e-30


def at_least_one(chances: Sequence[float]) -> float:
    """P that any of the events bears the adverbial."""
    return 1.0 - math.prod(1.0 - p for p in chances)


def expected_count(chances: Sequence[float]) -> float:
    """How many of the events are expected to bear it."""
    return math.fsum(chances)


def count_chances(chances: Sequence[float]) -> list[float]:
    """The Poisson-binomial distribution: by number, the probability that so many bear it.
    Probabilities below TINY count as 0, which spares most of the work for hundreds of events."""
    found, least = [1.0], 0
    for p in chances:
        q = 1.0 - p
        found = [q * share + p * below for share, below in zip([*found, 0.0], [0.0, *found])]  # noqa: B905
        while found[-1] < TINY:
            found.pop()
        if found[0] < TINY:
            first = next(at for at, share in enumerate(found) if share >= TINY)
            found, least = found[first:], least + first
    return [0.0] * least + found + [0.0] * (len(chances) + 1 - least - len(found))


@dataclass(frozen=True, slots=True)
class Worth:
    """What each answer to a question is worth."""

    template: str
    named: Mapping[str, float]
    """By subject, the probability that it did so at all."""
    counts: Sequence[float]
    """By number, the probability that it is the true one; empty unless a number is asked for."""

    def of(self, answer: Answer) -> float:
        """The probability that the answer is the true one; what cannot be true is worth 0."""
        if self.template == "who":
            return self._of_names(answer)
        if self.template == "did":
            yes = self._yes
            return yes if answer == ("yes",) else 1.0 - yes if answer == ("no",) else 0.0
        number = _whole(answer)
        return self.counts[number] if number is not None and number < len(self.counts) else 0.0

    @property
    def best(self) -> Answer:
        """An answer that nothing can exceed; where two are worth the same, the lesser one."""
        if self.template == "who":
            return tuple(sorted(name for name, p in self.named.items() if p > 0.5))
        if self.template == "did":
            return ("yes",) if self._yes > 0.5 else ("no",)
        return (str(self.counts.index(max(self.counts))),)

    @property
    def _yes(self) -> float:
        return at_least_one(list(self.named.values()))

    def _of_names(self, answer: Answer) -> float:
        if not set(answer) <= set(self.named):
            return 0.0
        return math.prod(p if name in answer else 1.0 - p for name, p in self.named.items())


def worth(template: str, chances: Chances) -> Worth:
    """What the answers to a question with these chances are worth."""
    named = {name: at_least_one(found) for name, found in chances.items()}
    counts = count_chances(_all(chances)) if template == "how-often" else []
    return Worth(template, named, counts)


def best_answer(template: str, chances: Chances) -> Answer:
    """The best answer that there is."""
    return worth(template, chances).best


def ceiling(template: str, chances: Chances) -> float:
    """What the best answer is worth."""
    values = worth(template, chances)
    return values.of(values.best)


def per_subject(chances: Chances, answer: Answer) -> float:
    """Mean over the subjects of the probability that naming or not naming each is right: the
    slides' P for every subject by itself."""
    named = worth("who", chances).named
    shares = [p if name in answer else 1.0 - p for name, p in named.items()]
    strangers = len(set(answer) - set(chances))
    return math.fsum(shares) / (len(shares) + strangers)


def count_error(chances: Chances, answer: Answer) -> float | None:
    """How far the answered number is from the expected one; None where it is no number."""
    try:
        return abs(float(answer[0]) - expected_count(_all(chances)))
    except (IndexError, ValueError):
        return None


def possible_answers(template: str, chances: Chances) -> list[Answer]:
    """All answers that could be true."""
    if template == "did":
        return [("yes",), ("no",)]
    if template == "who":
        names = sorted(chances)
        return [some for n in range(len(names) + 1) for some in combinations(names, n)]
    return [(str(number),) for number in range(len(_all(chances)) + 1)]


def _all(chances: Chances) -> list[float]:
    return [p for found in chances.values() for p in found]


def _whole(answer: Answer) -> int | None:
    short = len(answer) == 1 and len(answer[0]) < 10
    return int(answer[0]) if short and answer[0].isdecimal() else None
