"""Rule-based extraction from a question and its context, without a model."""

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
class RuleExtraction:
    """The extracted facts; no query for an unknown form of question."""

    facts: tuple[Fact, ...]
    """Of the question's topic and relation."""
    query: Query | None
    defects: tuple[Defect, ...]
    """Statements with a time that could not be parsed."""


def extract(question: str, context: str) -> RuleExtraction:
    """The facts of the question's topic and relation, and its query."""
    parsed_facts = read_facts(context, running=True)
    own_facts = _of_kind(_of_topic(parsed_facts.facts, question), kind_of(question))
    query = read_query(question, tuple(fact.value for fact in own_facts))
    return RuleExtraction(own_facts, query, parsed_facts.defects)


def _of_topic(facts: tuple[Fact, ...], question: str) -> tuple[Fact, ...]:
    """Facts whose topic is in the question; the longest topic, in whole words."""
    topics = [t for t in dict.fromkeys(f.topic for f in facts) if _names(question, t)]
    longest = max(topics, key=len, default=None)
    return tuple(fact for fact in facts if fact.topic == longest)


def _names(question: str, topic: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(topic)}(?!\w)", question) is not None


def _of_kind(facts: tuple[Fact, ...], kind: str | None) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts if fact.kind == kind) or facts


def reference_text(query: Query) -> str:
    """The reference in an extraction's form: a name, YYYY-MM, or two months."""
    if not isinstance(query.reference, Span):
        return query.reference
    first, last = (write_month(m, "iso") for m in (query.reference.first, query.reference.last))
    return first if first == last else f"{first} to {last}"
