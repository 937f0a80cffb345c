"""Extraction by rules: from the words of a question and its context alone, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.lines import Defect, read_facts
from agent_env.families.timed_facts.questions import read_query
from agent_env.families.timed_facts.solver import Query
from agent_env.families.timed_facts.wording import kind_of
from agent_env.temporal.months import Span, write_month


@dataclass(frozen=True, slots=True)
class Extracted:
    """What the rules found; no query where they do not know the question's words."""

    facts: tuple[Fact, ...]
    """Of the topic and the relation asked for."""
    query: Query | None
    defects: tuple[Defect, ...]
    """What states a time and could not be read."""


def extract(question: str, context: str) -> Extracted:
    """The facts that the question is about, and what it asks of them."""
    read = read_facts(context, running=True)
    about = _of_kind(_of_topic(read.facts, question), kind_of(question))
    query = read_query(question, tuple(fact.value for fact in about))
    return Extracted(about, query, read.defects)


def _of_topic(facts: tuple[Fact, ...], question: str) -> tuple[Fact, ...]:
    """Those whose topic is named, the longest name counting; a name that goes on is another."""
    topics = [t for t in dict.fromkeys(f.topic for f in facts) if _names(question, t)]
    longest = max(topics, key=len, default=None)
    return tuple(fact for fact in facts if fact.topic == longest)


def _names(question: str, topic: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(topic)}(?!\w)", question) is not None


def _of_kind(facts: tuple[Fact, ...], kind: str | None) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts if fact.kind == kind) or facts


def told_reference(query: Query) -> str:
    """The reference as an extraction gives it: a name, YYYY-MM, or two months."""
    if not isinstance(query.reference, Span):
        return query.reference
    first, last = (write_month(m, "iso") for m in (query.reference.first, query.reference.last))
    return first if first == last else f"{first} to {last}"
