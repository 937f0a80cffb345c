"""The wording of puzzles by a model, as a task of its own: all sentences of a puzzle at once.

A sentence of the model is taken where the grammar of constraint texts reads in it exactly what it
reads in the template's; else the template's stays. So a set worded by a model has the facts and
golds of the same set without one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from agent_env.families.time_puzzles.generator import digest_of
from agent_env.families.time_puzzles.sample import TimePuzzle, time_puzzles
from agent_env.families.time_puzzles.texts import compile_text
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Family, Rewording, RewordingResult
from agent_env.sdk.records import Condition, Episode, Message, Sample, Score
from agent_env.sdk.scoring import episode_score

NAME = "time-puzzles-wording"
PROMPT = """\
Each of these sentences states one constraint on a date:

{sentences}

Write every sentence anew in other words that mean exactly the same, as a person would say it in \
one short sentence. Keep every name, number and date, and what is said of first and last days. \
Write names of events, persons and things word by word as they are. Leave nothing out and add \
nothing.

Answer with {count} numbered lines in the same order and nothing else."""
PROMPT_DIGEST = sha256(PROMPT.encode()).hexdigest()[:12]
NO_LINE, NO_REPLY = "no line for it in the reply", "no reply"
SAME, OTHER = "the template's own words", "not read as the same constraint"


class WordingSample(Sample):
    """The distinct sentences of one puzzle, in both wordings; `gold` is empty."""

    sentences: tuple[str, ...]


def wording_samples(
    samples: Sequence[Sample], tables: Mapping[str, Any]
) -> tuple[WordingSample, ...]:
    """One for each puzzle."""
    return tuple(
        WordingSample(
            id=puzzle.id,
            task=NAME,
            gold=(),
            sentences=tuple(dict.fromkeys((*puzzle.constraints, *puzzle.explicit_constraints))),
        )
        for puzzle in time_puzzles(samples)
    )


def accepted(reply: str | None, sentences: Sequence[str]) -> tuple[dict[str, str], Counter[str]]:
    """The model's sentence for each template's that it words anew, and how many of the others stay
    for which reason."""
    if reply is None:
        return {}, Counter({NO_REPLY: len(sentences)})
    lines = dict(re.findall(r"^ {0,8}(\d{1,3})[.):] ++(\S[^\n]*+)", reply, re.M))
    words: dict[str, str] = {}
    reasons: Counter[str] = Counter()
    for number, sentence in enumerate(sentences, start=1):
        line = lines.get(str(number), "").strip()
        if not line:
            reasons[NO_LINE] += 1
        elif line == sentence:
            reasons[SAME] += 1
        elif (meaning := compile_text(line)) is None or meaning != compile_text(sentence):
            reasons[OTHER] += 1
        else:
            words[sentence] = line
    return words, reasons


def reworded(
    samples: Sequence[Sample],
    questions: Sequence[Sample],
    replies: Mapping[str, str],
    model: str,
) -> RewordingResult:
    """The set with the model's sentences; a puzzle of which none is taken keeps the template's, and
    counts as refused by its most frequent reason."""
    refused: Counter[str] = Counter()
    results: list[TimePuzzle] = []
    for puzzle, question in zip(time_puzzles(samples), questions, strict=True):
        words, reasons = accepted(replies.get(puzzle.id), _wording_sample(question).sentences)
        if not words:
            refused[reasons.most_common(1)[0][0]] += 1
        results.append(_with_words(puzzle, words, model) if words else puzzle)
    return RewordingResult(tuple(results), dict(refused.most_common()))


def _with_words(puzzle: TimePuzzle, words: Mapping[str, str], model: str) -> TimePuzzle:
    implicit = tuple(words.get(text, text) for text in puzzle.constraints)
    explicit = tuple(words.get(text, text) for text in puzzle.explicit_constraints)
    update = {
        "constraints": implicit,
        "explicit_constraints": explicit,
        "worded_by": model,
        "wording_prompt": PROMPT_DIGEST,
        "digest": digest_of(puzzle.facts, implicit, explicit, puzzle.gold),
    }
    return puzzle.model_copy(update=update)


def _prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    sentences = _wording_sample(sample).sentences
    listed = "\n".join(f"{n}. {text}" for n, text in enumerate(sentences, start=1))
    text = PROMPT.format(sentences=listed, count=len(sentences))
    return (Message(role="user", content=text),)


def score(sample: Sample, episode: Episode) -> Score:
    """`kept`: the share of the sentences for which the model's words are taken."""
    return episode_score(sample, episode, lambda text: _measure(_wording_sample(sample), text))


def _measure(sample: WordingSample, text: str | None) -> dict[str, object]:
    words, reasons = accepted(text, sample.sentences)
    rule = "; ".join(f"{reason}: {count}" for reason, count in reasons.items()) or "all taken"
    kept = len(words) / len(sample.sentences)
    answer = tuple(words.values())
    return {"outcome": "read", "answer": answer, "rule": rule, "metrics": {"kept": kept}}


def _wording_sample(sample: Sample) -> WordingSample:
    if not isinstance(sample, WordingSample):
        raise ConfigError(f"sample '{sample.id}' has no sentences to be worded")
    return sample


FAMILY = Family.of_wording(
    NAME,
    WordingSample,
    _prompt,
    score,
    "puzzles are worded by: agent-env questions generate time-puzzles --wording model:NAME",
)
REWORDING = Rewording(NAME, PROMPT, PROMPT_DIGEST, wording_samples, reworded)
