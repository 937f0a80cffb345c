"""The words of each domain: its dependencies, and how its rows begin, end and last."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_env.temporal.facts.temporal_table import Tfd


@dataclass(frozen=True, slots=True)
class Verbs:
    """What a row does, in the past tense; a verb for each style."""

    noun: str
    """A row, in the singular: `term`; its plural adds an s."""
    begin: tuple[str, ...]
    end: tuple[str, ...]
    stay: tuple[str, ...]
    """Followed by `until after …`."""


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """Key columns, answer columns and the sentences that ask for these."""

    keys: tuple[str, ...]
    """Columns whose values the question states."""
    answers: tuple[str, ...]
    noun: str
    """What is asked for: `person`, `club`, …"""
    group: str
    """The group of rows, after the noun of a row: `as {role} of {country}`."""
    heads: tuple[str, ...]
    """Questions with `{cond}` where the temporal condition goes."""
    now_heads: tuple[str, ...] = ()
    """Questions as of `{now}`; empty where several rows can hold at a time."""
    row: str = ""
    """One row, its answer as `{who}`; empty for the plain form."""
    listed: bool = False
    """Whether the answer depends on which rows the table happens to list."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A table's words; `name` is the table's."""

    name: str
    verbs: Verbs
    tfds: tuple[Tfd, ...]
    forms: tuple[QuestionForm, ...]


OFFICE = Verbs(
    "term",
    ("took office", "entered office", "came into office"),
    ("left office", "went out of office", "ceased to hold office"),
    ("stayed in office", "remained in office", "continued in office"),
)
SPELL = Verbs(
    "spell",
    ("began", "started", "commenced"),
    ("ended", "finished", "came to an end"),
    ("lasted", "went on", "continued"),
)
RULE = Verbs(
    "rule",
    ("came into force", "took effect", "began to apply"),
    ("ceased to apply", "went out of force", "lost its force"),
    ("stayed in force", "remained in force", "continued to apply"),
)
STAY, ENTRY = replace(SPELL, noun="stay"), replace(SPELL, noun="entry")


def _holders(name: str, place: str, post: str, any_place: str) -> Domain:
    """Posts of which each has one holder at a time."""
    at = f"{{{post}}} of {{{place}}}"
    one = QuestionForm(
        (place, post), ("name",), "person", f"as {at}",
        (
            f"Who, as {at}, {{cond}}?",
            f"Which {at} {{cond}}?",
            f"Name everyone who, as {at}, {{cond}}.",
        ),
        (
            f"Who is the {at} as of {{now}}?",
            f"Today is {{now}}. Who is currently the {at}?",
            f"Name the person who, on {{now}}, is the {at}.",
        ),
    )  # fmt: skip
    within = QuestionForm(
        (place,), ("name",), "person", f"in any listed post of {{{place}}}",
        (
            f"Who, in any listed post of {{{place}}}, {{cond}}?",
            f"Which holder of a listed post of {{{place}}} {{cond}}?",
            f"Name everyone who, in some listed post of {{{place}}}, {{cond}}.",
        ),
        listed=True,
    )  # fmt: skip
    across = QuestionForm(
        (post,), ("name",), "person", f"as {{{post}}} of a listed {any_place}",
        (
            f"Who, as {{{post}}} of any listed {any_place}, {{cond}}?",
            f"Which {{{post}}} of a listed {any_place} {{cond}}?",
            f"Name everyone who, as {{{post}}} of some listed {any_place}, {{cond}}.",
        ),
        listed=True,
    )  # fmt: skip
    return Domain(name, OFFICE, (Tfd.of((place, post), ("name",)),), (one, within, across))


CLUBS = Domain(
    "clubs",
    SPELL,
    (Tfd.of(("player",), ("club", "position")),),
    (
        QuestionForm(
            ("player",), ("club",), "club", "of {player}",
            (
                "For which club did {player} play in a spell that {cond}?",
                "Which club had {player} for a spell that {cond}?",
                "Name every club with which {player} had a spell that {cond}.",
            ),
            (
                "Which club does {player} play for as of {now}?",
                "Today is {now}. For which club does {player} play?",
                "Name the club that, on {now}, {player} plays for.",
            ),
            row="the spell of {player} with {who}",
        ),
        QuestionForm(
            ("club",), ("player",), "player", "with {club}",
            (
                "Who played for {club} in a spell that {cond}?",
                "Which player had a spell with {club} that {cond}?",
                "Name everyone who played for {club} in a spell that {cond}.",
            ),
            listed=True,
        ),
        QuestionForm(
            ("club", "position"), ("player",), "player", "as {position} with {club}",
            (
                "Who played for {club} as {position} in a spell that {cond}?",
                "Which {position} of {club} had a spell there that {cond}?",
                "Name everyone who played as {position} for {club} in a spell that {cond}.",
            ),
            listed=True,
        ),
    ),
)  # fmt: skip

LAWS = Domain(
    "laws",
    RULE,
    (Tfd.of(("country", "matter"), ("status",)),),
    (
        QuestionForm(
            ("country", "matter"), ("status",), "status", "on {matter} in {country}",
            (
                "What was the legal status of {matter} in {country} under a rule that {cond}?",
                "Which legal status did {matter} have in {country} by a rule that {cond}?",
                "Name every legal status given to {matter} in {country} by a rule that {cond}.",
            ),
            (
                "What is the legal status of {matter} in {country} as of {now}?",
                "Today is {now}. What is the legal status of {matter} in {country}?",
                "Name the legal status that, on {now}, {matter} has in {country}.",
            ),
            row="the rule that made {matter} {who} in {country}",
        ),
        QuestionForm(
            ("matter", "status"), ("country",), "country", "by which {matter} was {status}",
            (
                "In which listed country was {matter} {status} under a rule that {cond}?",
                "Which listed country had {matter} {status} by a rule that {cond}?",
                "Name every listed country where {matter} was {status} under a rule that {cond}.",
            ),
            listed=True,
        ),
        QuestionForm(
            ("matter",), ("country",), "country", "on {matter}",
            (
                "Which listed country had a rule on {matter} that {cond}?",
                "In which listed country was there a rule on {matter} that {cond}?",
                "Name every listed country with a rule on {matter} that {cond}.",
            ),
            listed=True,
        ),
    ),
)  # fmt: skip

STAYS = Domain(
    "stays",
    STAY,
    (Tfd.of(("patient",), ("ward", "doctor")),),
    (
        QuestionForm(
            ("patient",), ("ward",), "ward", "of {patient}",
            (
                "On which ward was {patient} during a stay that {cond}?",
                "Which ward had {patient} for a stay that {cond}?",
                "Name every ward on which {patient} had a stay that {cond}.",
            ),
            row="the stay of {patient} on the {who} ward",
        ),
        QuestionForm(
            ("patient",), ("doctor",), "doctor", "of {patient}",
            (
                "Which doctor treated {patient} during a stay that {cond}?",
                "Who was the doctor of {patient} for a stay that {cond}?",
                "Name every doctor who treated {patient} during a stay that {cond}.",
            ),
            row="the stay of {patient} under {who}",
        ),
        QuestionForm(
            ("ward",), ("patient",), "patient", "on the {ward} ward",
            (
                "Which patient had a stay on the {ward} ward that {cond}?",
                "Who was on the {ward} ward for a stay that {cond}?",
                "Name every patient who had a stay on the {ward} ward that {cond}.",
            ),
            listed=True,
        ),
        QuestionForm(
            ("doctor",), ("patient",), "patient", "under {doctor}",
            (
                "Which patient had a stay under {doctor} that {cond}?",
                "Who was treated by {doctor} during a stay that {cond}?",
                "Name every patient treated by {doctor} during a stay that {cond}.",
            ),
            listed=True,
        ),
    ),
)  # fmt: skip

OFFICES = _holders("offices", "country", "role", "country")
ORGANISATIONS = _holders("organisations", "organisation", "post", "organisation")
GAMES = Domain(
    "games",
    SPELL,
    (
        Tfd.of(("games",), ("round", "city", "country")),
        Tfd.of(("round",), ("games",)),
    ),
    (),
)
DOMAINS = {each.name: each for each in (OFFICES, ORGANISATIONS, CLUBS, LAWS, STAYS)}
"""Domains of which questions about one table are made."""

_ARTICLE = frozenset({"United States", "United Kingdom", "Netherlands", "Holy See"})


def with_article(value: str) -> str:
    """The value as a sentence has it."""
    return f"the {value}" if value in _ARTICLE else value


def user_domain(name: str, keys: tuple[str, ...], answers: tuple[str, ...], unique: bool) -> Domain:
    """Plain words for a user's own table; `unique` where the answer depends on the question."""
    pairs = " and ".join(f"{column} {{{column}}}" for column in keys)
    nouns = " and ".join(answers)
    heads = (
        f"Which {nouns} is recorded for {pairs} in an entry that {{cond}}?",
        f"For {pairs}, which {nouns} stands in an entry that {{cond}}?",
        f"Name every {nouns} recorded for {pairs} in an entry that {{cond}}.",
    )
    now_heads: tuple[str, ...] = (
        f"Which {nouns} is recorded for {pairs} as of {{now}}?",
        f"Today is {{now}}. Which {nouns} is recorded for {pairs}?",
        f"Name the {nouns} that, on {{now}}, is recorded for {pairs}.",
    )
    now_heads = now_heads if unique else ()
    form = QuestionForm(keys, answers, nouns, f"for {pairs}", heads, now_heads, listed=not unique)
    return Domain(name, ENTRY, (Tfd.of(keys, answers),) if unique else (), (form,))
