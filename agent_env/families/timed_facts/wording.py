"""The relations, with the wording of their facts and questions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_env.families.timed_facts.facts import Fact
from agent_env.temporal.months import read_span, write_month


@dataclass(frozen=True, slots=True)
class RelationWording:
    """One relation between a topic and a value."""

    name: str
    line: str
    """A fact without its time; placeholders {t}, {v}."""
    past: str
    """The same in prose."""
    ask: str
    """The question; placeholders {t}, {when}."""
    cues: tuple[str, ...]
    """Words that identify its questions, ours and published ones."""
    other_lines: tuple[str, ...] = ()
    """Wordings of published facts."""


KINDS = {
    kind.name: kind
    for kind in (
        RelationWording("position", "{t} holds the position of {v}", "{t} held the position of {v}",
             "Which position did {t} hold {when}?", ("position", "office", "role", "title"),
             ("{t} holds the position {v}", "{t} works as {v}")),
        RelationWording("team", "{t} plays for {v}", "{t} played for {v}",
             "Which team did {t} play for {when}?", ("team", "play for", "played for")),
        RelationWording("employer", "{t} works for {v}", "{t} worked for {v}",
             "Which employer did {t} work for {when}?",
             ("employer", "work for", "worked for", "employee"), ("{t} is employed by {v}",)),
        RelationWording("party", "{t} is a member of the {v}", "{t} was a member of the {v}",
             "Which political party did {t} belong to {when}?", ("party", "parties"),
             ("{t} is a member of {v}", "{t} belongs to {v}")),
        RelationWording("school", "{t} attended {v}", "{t} was a student of {v}",
             "Which school did {t} attend {when}?",
             ("school", "educated", "attend", "university", "college", "study"),
             ("{t} studies at {v}",)),
        RelationWording("owner", "{t} is owned by {v}", "{t} belonged to {v}",
             "Who was the owner of {t} {when}?", ("owner", "own", "owned")),
        RelationWording("head", "{v} is the head of {t}", "{v} was the head of {t}",
             "Who was the head of {t} {when}?", ("head of", "chair"),
             ("{v} is the head of the government of {t}", "{v} is the chair of {t}",
              "{v} is the chairperson of {t}", "{v} is the head of state of {t}")),
        RelationWording("coach", "{v} is the head coach of {t}", "{v} was the head coach of {t}",
             "Who was the head coach of {t} {when}?", ("coach",),
             ("{v} is the manager of {t}",)),
    )
}  # fmt: skip
"""By name."""


TIE_RULES: dict[str, str] = {
    "nearest": "Of several that begin in the same month, the one meant is the last to end before, "
    "or the first to end after.",
    "first-ending": "Of several that begin in the same month, the one that ends first is meant.",
    "last-ending": "Of several that begin in the same month, the one that ends last is meant.",
}
"""How the prompt states the tie-break; `all` needs no rule."""


def kind_of(question: str) -> str | None:
    """The relation of a question, by its longest cue; None without one."""
    lowered = question.casefold()
    matches = [
        (len(cue), kind.name)
        for kind in KINDS.values()
        for cue in kind.cues
        if re.search(rf"\b{re.escape(cue)}", lowered)
    ]
    if any(name == "coach" for _, name in matches):
        return "coach"  # a head coach is not a head
    return max(matches)[1] if matches else None


def fact_line(fact: Fact) -> str:
    """`S … O from Jan, 1992 to Jan, 1998.`; open ends: `from Jan, 1992`, `until Jan, 1998`."""
    statement = KINDS[fact.kind].line.format(t=fact.topic, v=fact.value)
    return f"{statement}{_interval(fact)}."


def _interval(fact: Fact) -> str:
    start = "" if fact.start is None else _short_date(fact.start)
    end = "" if fact.end is None else _short_date(fact.end)
    if start and end:
        return f" from {start} to {end}"
    if start:
        return f" from {start}"
    return f" until {end}" if end else ""


def _short_date(text: str) -> str:
    return text if "-" not in text else write_month(read_span(text).first)


PROSE = (
    "From {start} to {end} {statement}.",
    "{statement} from {start} until {end}.",
    "It was in {start} that it began, and in {end} that it ended: for that time {statement}.",
)
OPEN = "Since {start} {statement}, and it has not ended."


def prose(fact: Fact, form: int) -> str:
    """The fact as a sentence of running text, in one of several forms."""
    statement = KINDS[fact.kind].past.format(t=fact.topic, v=fact.value)
    start = "" if fact.start is None else _long_date(fact.start)
    end = "" if fact.end is None else _long_date(fact.end)
    if not start:
        return f"Until {end} {statement}." if end else f"All along {statement}."
    return (PROSE[form % len(PROSE)] if end else OPEN).format(
        statement=statement, start=start, end=end
    )


def _long_date(text: str) -> str:
    return text if "-" not in text else write_month(read_span(text).first, "long")
