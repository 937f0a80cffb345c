"""Scores a question on timed facts: strict exact match, then metrics of other benchmarks.

`SQUAD` scores as the authors of TimeQA do, by the rules of SQuAD: the whole response against the
best of the gold answers, without case, punctuation and English articles.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from agent_env.families.timed_facts.sample import TimedQuestion, timed
from agent_env.features.answers.date_sets import exact_match, f1
from agent_env.features.answers.names import (
    NameList,
    normalise,
    parse_name_list,
    squad_match,
    token_f1,
)
from agent_env.features.extraction.extraction import ExtractionError, read_extraction
from agent_env.features.extraction.solver import Fact, Ties, solve
from agent_env.features.extraction.strategies import NO_EXTRACTION, NO_PROGRAM
from agent_env.features.extraction.wording import date_form
from agent_env.sdk.family import PublishedScorer
from agent_env.sdk.records import Episode, Sample, Score
from agent_env.sdk.scoring import episode_score
from agent_env.temporal.months import Month

METRICS = ("sem", "answer_f1", "squad_em", "squad_f1", "negative_hit")
"""Strict exact match; F1 over whole answers; SQuAD's exact match and token F1 of the text with the
best gold answer; whether any answer is one of the negatives."""
EXTRACTION_METRICS = ("fact_precision", "fact_recall", "solver_on_gold", "solver_on_extracted")
"""For episodes with an extraction: its facts against the gold facts, the solver's SEM on both."""


def score(sample: Sample, episode: Episode, ties: Ties = "all") -> Score:
    """The metrics of the answer, and those of the extraction if there is one."""
    question = timed(sample)

    def fields(text: str | None) -> dict[str, object]:
        reading = _parse_answer(question, text)
        if reading.names is None:
            metrics = dict.fromkeys(METRICS, 0.0) | _extraction(question, episode, ties)
            return {"outcome": "unreadable", "rule": reading.rule, "metrics": metrics}
        metrics = measure(question, reading) | _extraction(question, episode, ties)
        names, rule = reading.names, reading.rule
        return {"outcome": "read", "answer": names, "rule": rule, "metrics": metrics}

    return episode_score(sample, episode, fields)


def _parse_answer(question: TimedQuestion, answer: str | None) -> NameList:
    for mark in (NO_EXTRACTION, NO_PROGRAM):
        if answer is not None and answer.startswith(mark):
            return NameList(None, answer.split("\n", 1)[0][:200])
    names = (*question.gold, *question.negatives, *(fact.value for fact in question.facts))
    reading = parse_name_list(answer, names)
    if question.level == "L1" and reading.names is not None:
        text = (reading.text or ", ".join(reading.names)).strip(" .`*\"'")
        if text.startswith("["):
            text = ", ".join(reading.names)
        return NameList((date_form(text),), reading.rule, reading.text)
    return reading


def measure(question: TimedQuestion, reading: NameList) -> dict[str, float]:
    """The METRICS of a parsed answer."""
    names = map(date_form, question.gold) if question.level == "L1" else question.gold
    gold = [normalise(name) for name in names]
    answers = [normalise(name) for name in reading.names or ()]
    text = " ".join(answers)
    right, answer_set = frozenset(gold), frozenset(answers)
    wrong = {normalise(name) for name in question.negatives} - right
    return {
        "sem": exact_match(right, answer_set),
        "answer_f1": f1(right, answer_set),
        "squad_em": squad_match(gold, text),
        "squad_f1": token_f1(gold, text),
        "negative_hit": float(not wrong.isdisjoint(answer_set)),
    }


def _extraction(question: TimedQuestion, episode: Episode, ties: Ties) -> dict[str, float]:
    """The EXTRACTION_METRICS; empty where no extraction was required and none is there."""
    query = question.query()
    if query is None or not question.own_facts:
        return {}
    was_required = (episode.answer or "").startswith(NO_EXTRACTION)
    reply = next((m.content for m in reversed(episode.messages) if m.role == "assistant"), "")
    if not was_required and '"facts"' not in reply and "extracted_info" not in reply:
        return {}
    right = solve(question.own_facts, query, ties=ties).answers
    gold = {normalise(name) for name in question.gold}
    metrics = {"solver_on_gold": float({normalise(name) for name in right} == gold)}
    try:
        extraction = read_extraction(reply)
    except ExtractionError:
        return metrics | dict.fromkeys(
            ("fact_precision", "fact_recall", "solver_on_extracted"), 0.0
        )
    solution = solve(extraction.facts, extraction.query, ties=ties)
    answers = {normalise(name) for name in solution.answers}
    gold_facts = {_key(fact) for fact in question.own_facts}
    extracted = {_key(fact) for fact in extraction.facts}
    both = len(gold_facts & extracted)
    return metrics | {
        "fact_precision": both / len(extracted) if extracted else 0.0,
        "fact_recall": both / len(gold_facts),
        "solver_on_extracted": float(answers == gold),
    }


def _key(fact: Fact) -> tuple[str, Month | None, Month | None]:
    return normalise(fact.value), fact.first, fact.last


_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_measure(gold: tuple[str, ...], text: str) -> dict[str, object]:
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


def _squad_score(sample: Sample, episode: Episode) -> Score:
    return episode_score(sample, episode, lambda text: squad_measure(sample.gold, text or ""))


SQUAD = PublishedScorer(_squad_score, ("squad_em", "squad_f1"))
