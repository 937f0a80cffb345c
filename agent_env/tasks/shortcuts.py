"""Shortcuts: what a policy scores that answers without the reasoning that is to be measured.

A family declares them in `Task.shortcuts`, the general ones by the class methods here; they
are scored by the family's own scorer. Each question has a random generator of its own, so that the
score of a shortcut over a part of a set is its score there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from agent_env.records.schema import Sample

AnswerText = Callable[[Sample], str]
"""A right answer to a sample with its gold, in the form that the prompt asks for."""
Guess = Callable[[Sample, Random], str | None]
"""A shortcut's answer text to a sample without its gold; None where it has none."""
SampleKey = Callable[[Sample], str]


def _any_kind(sample: Sample) -> str:
    return ""


def _own_id(sample: Sample) -> str:
    return sample.id


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A policy that answers without the reasoning that the questions are to measure."""

    name: str
    """Such as majority, random, ignore-time, latest-row, oracle."""
    rule: str
    """What it answers, in a few words."""
    make: Callable[[Sequence[Sample]], Guess]
    """The policy for a set of samples; it may count their golds, but sees none with a question."""
    sees_gold: bool = False
    """Whether it is an upper bound, which gets the question with its gold."""
    is_by_question: bool = False
    """Whether its answer comes from the question, so that a question that it solves is flagged."""
    is_candidate: bool = False
    """Whether its answer fits all of the question but what must be looked up."""
    CONDITION: ClassVar[str] = "shortcut"
    """Of the episodes that it answers."""
    ROW: ClassVar[str] = "shortcut "
    """How the labels of its rows begin."""

    @classmethod
    def constant(cls, rule: str, text: Callable[[Sample], str | None]) -> Self:
        """Always the same answer, such as `no`; `text` may depend on the kind of question."""
        return cls("constant", rule, lambda samples: lambda sample, rng: text(sample))

    @classmethod
    def majority(
        cls, answer: AnswerText, kind: SampleKey = _any_kind, question: SampleKey = _own_id
    ) -> Self:
        """The most frequent answer of the set's other questions of the same kind; `question` is the
        same for the phrasings of one question."""

        def make(samples: Sequence[Sample]) -> Guess:
            counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
            own: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
            for sample in samples:
                text = answer(sample)
                counts[kind(sample)][text] += 1
                own[kind(sample), question(sample)][text] += 1
            ranked = {name: count.most_common() for name, count in counts.items()}

            def guess(sample: Sample, rng: Random) -> str | None:
                most, best = 0, None
                its = own[kind(sample), question(sample)]
                for text, count in ranked[kind(sample)]:
                    if count <= most:
                        break
                    if count - its[text] > most:
                        most, best = count - its[text], text
                return best

            return guess

        return cls("majority", "the most frequent answer of the set's other questions", make)

    @classmethod
    def random(
        cls, answer: AnswerText, kind: SampleKey = _any_kind, question: SampleKey = _own_id
    ) -> Self:
        """The answer of a random other question of the set, of the same kind; `question` as
        above."""

        def make(samples: Sequence[Sample]) -> Guess:
            texts: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
            for sample in samples:
                texts[kind(sample)].append((question(sample), answer(sample)))

            def guess(sample: Sample, rng: Random) -> str | None:
                pairs, own = texts[kind(sample)], question(sample)
                if all(name == own for name, _ in pairs):
                    return None
                name, text = rng.choice(pairs)
                while name == own:
                    name, text = rng.choice(pairs)
                return text

            return guess

        return cls("random", "the answer of a random other question", make)

    @classmethod
    def by_question(
        cls, name: str, rule: str, text: Callable[[Sample, Random], str | None]
    ) -> Self:
        """An answer from the question's own parts; questions that it solves are flagged."""
        return cls(name, rule, lambda samples: text, is_by_question=True)

    @classmethod
    def oracle(cls, answer: AnswerText) -> Self:
        """The right answer: what the scorer gives at most."""
        return cls(
            "oracle", "the gold answer", lambda samples: lambda sample, rng: answer(sample),
            sees_gold=True,
        )  # fmt: skip
