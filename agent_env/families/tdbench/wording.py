"""Words a query by templates (dates, temporal condition, sentence), with the words of each domain:
how its rows begin, end and last."""

from __future__ import annotations

import calendar
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from agent_env.features.facts.fiction.names import ordinal
from agent_env.features.facts.tables.temporal_table import Tfd
from agent_env.temporal.allen import Granularity, Relation
from agent_env.temporal.months import add_months


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
    verbs: Verbs
    group: str
    """The group of rows, after the noun of a row: `as {role} of {country}`."""
    ranked: str
    """Asks for the answer, before `the longest of …`: `Whose was`."""
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
    tfds: tuple[Tfd, ...]
    forms: tuple[QuestionForm, ...]


_FILE = tomllib.loads(Path(__file__).with_name("domains.toml").read_text(encoding="utf-8"))
LISTED_SENTENCES: Mapping[str, list[str]] = _FILE["listed"]
"""By kind of question; one for each style."""
DURATION_SENTENCES: list[str] = _FILE["shared_days"]["sentences"]


def _fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}


VERBS = {name: Verbs(**_fields(entry)) for name, entry in _FILE["verbs"].items()}


def _domain(entry: Mapping[str, Any]) -> Domain:
    forms = (
        QuestionForm(**_fields(form) | {"verbs": VERBS[form["verbs"]]})
        for form in entry.get("forms", ())
    )
    return Domain(entry["name"], tuple(Tfd.of(*pair) for pair in entry["tfds"]), tuple(forms))


_DOMAINS = {entry["name"]: _domain(entry) for entry in _FILE["domains"]}
OFFICES, GAMES = _DOMAINS["offices"], _DOMAINS["games"]
DOMAINS = {name: domain for name, domain in _DOMAINS.items() if domain.forms}
"""Domains of which questions about one table are made."""

_ARTICLE = frozenset({"United States", "United Kingdom", "Netherlands", "Holy See"})


def with_article(value: str) -> str:
    return f"the {value}" if value in _ARTICLE else value


def user_form(
    keys: tuple[str, ...], answers: tuple[str, ...], pairs: str, nouns: str, listed: bool = False
) -> QuestionForm:
    """Plain sentences for a user's own table: which `nouns` goes with `pairs` of columns and
    values. Listed are those whose answer the question does not determine."""
    return QuestionForm(
        keys,
        answers,
        nouns,
        VERBS["entry"],
        group=f"for {pairs}",
        ranked=f"Which {nouns} is recorded in",
        heads=(
            f"Which {nouns} is recorded for {pairs} in an entry that {{cond}}?",
            f"For {pairs}, which {nouns} is named in an entry that {{cond}}?",
            f"Name every {nouns} recorded for {pairs} in an entry that {{cond}}.",
        ),
        now_heads=()
        if listed
        else (
            f"Which {nouns} is recorded for {pairs} as of {{now}}?",
            f"Today is {{now}}. Which {nouns} is recorded for {pairs}?",
            f"Name the {nouns} recorded for {pairs} on {{now}}.",
        ),
        listed=listed,
    )


def user_domain(name: str, keys: tuple[str, ...], answers: tuple[str, ...], unique: bool) -> Domain:
    """Plain words for a user's own table; `unique` where the answer depends on the question."""
    pairs = " and ".join(f"{column} {{{column}}}" for column in keys)
    form = user_form(keys, answers, pairs, " and ".join(answers), listed=not unique)
    return Domain(name, (Tfd.of(keys, answers),) if unique else (), (form,))


NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
STYLES = 3
"""Wordings of a query; further phrasings repeat them with other notations of dates."""

TWO_HOPS = (
    "Who was the {role} of the host country during the {game}?",
    "During the {game}, who was {role} of the country that hosted them?",
    "Name everyone who was {role} of the host country while the {game} took place.",
)
THREE_HOPS = (
    "Who was the {role} of the host country during the {game} games?",
    "While the {game} games took place, who was {role} of their host country?",
    "Name everyone who was {role} of the host country while the {game} games took place.",
)


@dataclass(frozen=True, slots=True)
class Offset:
    """The distance of a bound of b from the other, in units before or after it."""

    count: int
    unit: Granularity

    @property
    def text(self) -> str:
        number = NUMBERS[self.count - 1] if self.count <= len(NUMBERS) else str(self.count)
        return f"{number} {self.unit}{'s' if self.count > 1 else ''}"

    def from_day(self, day: date, sign: int) -> date:
        """The day `count` units later (sign 1) or earlier (sign -1), clamped to its month."""
        if self.unit == "day":
            return date.fromordinal(day.toordinal() + sign * self.count)
        return add_months(day, sign * self.count * (12 if self.unit == "year" else 1))


def date_text(day: date, granularity: Granularity, style: int) -> str:
    """A day, month or year in one of three notations."""
    if granularity == "year":
        return str(day.year)
    month = calendar.month_name[day.month]
    if granularity == "month":
        return (f"{month} {day.year}", f"{month} {day.year}", day.isoformat()[:7])[style % 3]
    return (
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        day.isoformat(),
    )[style % 3]


def condition(
    relation: Relation,
    b: tuple[date, date],
    offset: Offset | None,
    verbs: Verbs,
    granularity: Granularity,
    style: int,
) -> str:
    """What a row that stands in this relation to b did, in one verb phrase.

    `meets` and `met-by` name the far bound of b and the offset between the two.
    """
    words = style % STYLES
    start, end = (date_text(day, granularity, style) for day in b)
    on = "on" if granularity == "day" else "in"
    begins, ends = verbs.begin[words], verbs.end[words]
    stays = f"{verbs.stay[words]} until after"
    if offset is not None:
        if relation == "meets":
            return f"{ends} exactly {offset.text} before {end}"
        return f"{begins} exactly {offset.text} after {start}"
    return {
        "before": f"{ends} before {start}",
        "after": f"{begins} after {end}",
        "meets": f"{ends} {on} {start}",
        "met-by": f"{begins} {on} {end}",
        "overlaps": f"{begins} before {start} and {ends} after {start} but before {end}",
        "overlapped-by": f"{begins} after {start} but before {end} and {stays} {end}",
        "equals": f"{begins} {on} {start} and {ends} {on} {end}",
        "starts": f"{begins} {on} {start} and {ends} before {end}",
        "started-by": f"{begins} {on} {start} and {stays} {end}",
        "finishes": f"{begins} after {start} and {ends} {on} {end}",
        "finished-by": f"{begins} before {start} and {ends} {on} {end}",
        "during": f"{begins} after {start} and {ends} before {end}",
        "contains": f"{begins} before {start} and {stays} {end}",
    }[relation]


def sentence(form: QuestionForm, values: Mapping[str, str], cond: str, style: int) -> str:
    return fill(form.heads[style % STYLES], values, cond=cond)


def now_sentence(form: QuestionForm, values: Mapping[str, str], now: date, style: int) -> str:
    return fill(form.now_heads[style % STYLES], values, now=date_text(now, "day", style))


def without_day(question: str, day: str) -> str:
    """A question as of now, with `today` for the day."""
    plain = question.removeprefix(f"Today is {day}. ")
    return plain.replace(f"on {day}", "today").replace(day, "today")


def listed_sentence(
    kind: str, form: QuestionForm, values: Mapping[str, str], number: int, style: int
) -> str:
    """One of the LISTED_SENTENCES; `number` is the n of `nth` and `count`."""
    noun = form.verbs.noun
    return LISTED_SENTENCES[kind][style % STYLES].format(
        rows=f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s",
        group=fill(form.group, values),
        noun=form.noun,
        of=form.ranked,
        which=ordinal(number),
    )


def duration_sentence(
    form: QuestionForm, rows: Sequence[tuple[Mapping[str, str], str]], style: int
) -> str:
    """Asks on how many days two rows, by their key values and answers, both held: such as `the term
    of Angela Merkel as Chancellor of Germany`."""
    row = form.row or f"the {form.verbs.noun} of {{who}} {form.group}"
    one, other = (fill(row, keys, who=with_article(answer)) for keys, answer in rows)
    return DURATION_SENTENCES[style % STYLES].format(one=one, other=other)


def fill(template: str, values: Mapping[str, str], **more: str) -> str:
    """The template with its values, in one pass, as a value may hold braces itself."""
    return re.sub(
        r"{([^{}]*)}",
        lambda m: more[m[1]] if m[1] in more else with_article(values[m[1]]),
        template,
    )
