"""Words a query by templates: its dates, its temporal condition, its sentence."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from agent_env.families.tdbench.domains import QuestionForm, Verbs, with_article
from agent_env.temporal.allen import Granularity, Relation
from agent_env.temporal.fiction.names import ordinal
from agent_env.temporal.month_steps import add_months

NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
_BEFORE = ("before", "at some time before", "earlier than")
_AFTER = ("after", "at some time after", "later than")
_AT = ("", "exactly ", "precisely ")
STYLES = 3
"""Wordings of a query; further phrasings repeat them with other notations of dates."""

TWO_HOPS = (
    "Who was the {role} of the host country during the {game}?",
    "During the {game}, who held the office of {role} in the country that hosted them?",
    "Name everyone who was {role} of the host country while the {game} took place.",
)
THREE_HOPS = (
    "Who was the {role} of the host country during the {game} games?",
    "While the {game} games took place, who held the office of {role} in their host country?",
    "Name everyone who was {role} of the country that hosted the {game} games, at the time.",
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
        return (f"{month} {day.year}", f"{month} of {day.year}", day.isoformat()[:7])[style % 3]
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
    before, after, at = _BEFORE[words], _AFTER[words], f"{_AT[words]}{on} "
    begins, ends = verbs.begin[words], verbs.end[words]
    stays = f"{verbs.stay[words]} until after"
    if offset is not None:
        exact = ("exactly", "precisely", "no more and no less than")[words]
        if relation == "meets":
            return f"{ends} {exact} {offset.text} before {end}"
        return f"{begins} {exact} {offset.text} after {start}"
    return {
        "before": f"{ends} {before} {start}",
        "after": f"{begins} {after} {end}",
        "meets": f"{ends} {at}{start}",
        "met-by": f"{begins} {at}{end}",
        "overlaps": f"{begins} {before} {start} and {ends} {after} {start} but {before} {end}",
        "overlapped-by": f"{begins} {after} {start} but {before} {end} and {stays} {end}",
        "equals": f"{begins} {at}{start} and {ends} {at}{end}",
        "starts": f"{begins} {at}{start} and {ends} {before} {end}",
        "started-by": f"{begins} {at}{start} and {stays} {end}",
        "finishes": f"{begins} {after} {start} and {ends} {at}{end}",
        "finished-by": f"{begins} {before} {start} and {ends} {at}{end}",
        "during": f"{begins} {after} {start} and {ends} {before} {end}",
        "contains": f"{begins} {before} {start} and {stays} {end}",
    }[relation]


def sentence(form: QuestionForm, values: Mapping[str, str], cond: str, style: int) -> str:
    """The question with its condition."""
    return fill(form.heads[style % STYLES], values, cond=cond)


def now_sentence(form: QuestionForm, values: Mapping[str, str], now: date, style: int) -> str:
    """The question as of now."""
    return fill(form.now_heads[style % STYLES], values, now=date_text(now, "day", style))


def nth_sentence(
    form: QuestionForm, verbs: Verbs, values: Mapping[str, str], nth: int, style: int
) -> str:
    """Asks whose row is the n-th by its start."""
    rows, group, which = _plural(verbs), fill(form.group, values), ordinal(nth)
    return (
        f"Put the listed {rows} {group} in the order in which they began: "
        f"which {form.noun} comes {which}?",
        f"Of the listed {rows} {group}, counted from the earliest start, "
        f"which {form.noun} is the {which}?",
        f"Name the {form.noun} that comes {which} when the listed {rows} {group} "
        f"are ordered by their start.",
    )[style % STYLES]


def longest_sentence(
    form: QuestionForm, verbs: Verbs, values: Mapping[str, str], style: int
) -> str:
    """Asks whose row lasted longest, of those that ended."""
    rows, group = _plural(verbs), fill(form.group, values)
    return (
        f"Among the listed {rows} {group} that have ended, "
        f"which {form.noun} goes with the longest?",
        f"Which {form.noun} goes with the longest of those listed {rows} {group} that are over?",
        f"Name the {form.noun} of the longest among the listed {rows} {group}, "
        f"leaving out any that still lasts.",
    )[style % STYLES]


def count_sentence(
    form: QuestionForm, verbs: Verbs, values: Mapping[str, str], times: int, style: int
) -> str:
    """Asks who began for the n-th time."""
    rows, group, which = _plural(verbs), fill(form.group, values), ordinal(times)
    return (
        f"Going through the listed {rows} {group} by their start, "
        f"which {form.noun} came up for the {which} time?",
        f"Which {form.noun} appears for the {which} time among the listed {rows} {group}?",
        f"Name every {form.noun} that came up for a {which} time among the listed {rows} {group}.",
    )[style % STYLES]


def duration_sentence(one: str, other: str, style: int) -> str:
    """Asks on how many days two rows both held."""
    return (
        f"On how many days did {one} and {other} both run? A day of an end does not count.",
        f"How many days do {one} and {other} have in common, the day of an end not counted?",
        f"Count the days shared by {one} and {other}; leave out the day on which one of them ends.",
    )[style % STYLES]


def row_text(form: QuestionForm, verbs: Verbs, values: Mapping[str, str], answer: str) -> str:
    """One row, such as `the term of Angela Merkel as Chancellor of Germany`."""
    one = form.row or f"the {verbs.noun} of {{who}} {form.group}"
    return fill(one, values, who=with_article(answer))


def _plural(verbs: Verbs) -> str:
    noun = verbs.noun
    return f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"


def fill(template: str, values: Mapping[str, str], **more: str) -> str:
    """The template with its values, in one pass, as a value may hold braces itself."""
    return re.sub(
        r"{([^{}]*)}",
        lambda m: more[m[1]] if m[1] in more else with_article(values[m[1]]),
        template,
    )
