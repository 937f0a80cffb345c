"""Scores a question on timed facts: strict exact match first, then what compares with others."""

from __future__ import annotations

from typing import Any

from agent_env.families.timed_facts.extraction import Extraction, Unextracted, read_extraction
from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.sample import TimedQuestion, timed
from agent_env.families.timed_facts.solver import solve
from agent_env.families.timed_facts.strategies import NO_EXTRACTION, NO_PROGRAM
from agent_env.records.schema import Episode, Sample, Score
from agent_env.scoring.names import (
    NamesRead,
    normalise,
    read_names,
    set_f1,
    squad_match,
    strict_match,
    token_f1,
)
from agent_env.temporal.months import Month, read_span, write_month

METRICS = ("sem", "answer_f1", "squad_em", "squad_f1", "negative_hit")
"""Strict exact match; F1 over whole answers; SQuAD's exact match and token F1 of the text with the
best gold answer; whether any answer is one that is wrong at the time asked for."""
EXTRACTION_METRICS = ("fact_precision", "fact_recall", "solver_on_gold", "solver_on_extracted")
"""Of episodes with an extraction: its facts against the gold ones, and the solver's SEM on each."""


def score(sample: Sample, episode: Episode) -> Score:
    """The metrics, and those of the extraction where there is one."""
    asked = timed(sample)
    common = {"sample": sample.id, "condition": episode.condition, "repeat": episode.repeat}
    if episode.status != "finished":
        return Score.model_validate({**common, "outcome": episode.status})
    read = _read(asked, episode.answer)
    if read.names is None:
        metrics = dict.fromkeys(METRICS, 0.0) | _extraction(asked, episode)
        fields: dict[str, Any] = {"outcome": "unreadable", "rule": read.rule, "metrics": metrics}
        return Score.model_validate({**common, **fields})
    metrics = measure(asked, read) | _extraction(asked, episode)
    fields = {"outcome": "read", "answer": read.names, "rule": read.rule, "metrics": metrics}
    return Score.model_validate({**common, **fields})


def _read(asked: TimedQuestion, answer: str | None) -> NamesRead:
    for mark in (NO_EXTRACTION, NO_PROGRAM):
        if answer is not None and answer.startswith(mark):
            return NamesRead(None, answer.split("\n", 1)[0][:200])
    known = (*asked.gold, *asked.negatives, *(fact.value for fact in asked.facts))
    read = read_names(answer, known)
    if asked.level == "L1" and read.names is not None:
        return NamesRead((_one_date(read),), read.rule, read.said)
    return read


def _one_date(read: NamesRead) -> str:
    """An answer of L1 as the gold has it, `Jun, 2001`, where it is a month."""
    text = (read.said or ", ".join(read.names or ())).strip(" .`*\"'")
    try:
        span = read_span(text)
    except ValueError:
        return text
    return write_month(span.first) if span.first == span.last else text


def measure(asked: TimedQuestion, read: NamesRead) -> dict[str, float]:
    """The METRICS of an answer that was read."""
    gold = [normalise(name) for name in asked.gold]
    said = [normalise(name) for name in read.names or ()]
    text = " ".join(said)
    right, named = frozenset(gold), frozenset(said)
    wrong = {normalise(name) for name in asked.negatives} - right
    return {
        "sem": strict_match(right, named),
        "answer_f1": set_f1(right, named),
        "squad_em": squad_match(gold, text),
        "squad_f1": token_f1(gold, text),
        "negative_hit": float(not wrong.isdisjoint(named)),
    }


def _extraction(asked: TimedQuestion, episode: Episode) -> dict[str, float]:
    """The EXTRACTION_METRICS; empty where nothing was extracted and nothing had to be."""
    query = asked.query()
    if query is None or not asked.own_facts:
        return {}
    wished = (episode.answer or "").startswith(NO_EXTRACTION)
    said = next((m.content for m in reversed(episode.messages) if m.role == "assistant"), "")
    if not wished and '"facts"' not in said and "extracted_info" not in said:
        return {}
    right = solve(asked.own_facts, query).answers
    gold = {normalise(name) for name in asked.gold}
    told = {"solver_on_gold": float({normalise(name) for name in right} == gold)}
    try:
        found = read_extraction(said)
    except Unextracted:
        return told | dict.fromkeys(("fact_precision", "fact_recall", "solver_on_extracted"), 0.0)
    answers = {normalise(name) for name in solve(found.facts, found.query).answers}
    return told | _compared(asked, found) | {"solver_on_extracted": float(answers == gold)}


def _compared(asked: TimedQuestion, found: Extraction) -> dict[str, float]:
    gold = {_key(fact) for fact in asked.own_facts}
    said = {_key(fact) for fact in found.facts}
    both = len(gold & said)
    precision = both / len(said) if said else 0.0
    return {"fact_precision": precision, "fact_recall": both / len(gold)}


def _key(fact: Fact) -> tuple[str, Month | None, Month | None]:
    return normalise(fact.value), fact.first, fact.last
