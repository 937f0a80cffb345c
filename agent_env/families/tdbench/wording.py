"""Words a query by rules: its dates, its temporal condition, its sentence."""

from __future__ import annotations

import calendar
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from agent_env.families.tdbench.domains import Ask, Verbs, shown
from agent_env.temporal.allen import Granularity, Relation
from agent_env.temporal.fiction.names import ordinal
from agent_env.temporal.month_steps import add_months

NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
_BEFORE = ("before", "at some time before", "earlier than")
_AFTER = ("after", "at some time after", "later than")
_AT = ("", "exactly ", "precisely ")
STYLES = 3
"""How many ways there are to word a query; further phrasings begin again with other dates."""

TWO_HOPS = (
    "Who was the {role} of the host country during the {game}?",
    "During the {game}, who held the office of {role} in the country that hosted them?",
    "Name anyone who was {role} of the host country while the {game} took place.",
)
THREE_HOPS = (
    "Who was the {role} of the host country during the {game} games?",
    "While the {game} games took place, who held the office of {role} in their host country?",
    "Name anyone who was {role} of the country that hosted the {game} games, at the time.",
)


@dataclass(frozen=True, slots=True)
class Offset:
    """A bound of b told from the other: so many units before or after it."""

    count: int
    unit: Granularity

    @property
    def text(self) -> str:
        number = NUMBERS[self.count - 1] if self.count <= len(NUMBERS) else str(self.count)
        return f"{number} {self.unit}{'s' if self.count > 1 else ''}"

    def from_day(self, day: date, sign: int) -> date:
        """The day so many units later (sign 1) or earlier (sign -1), clamped to its month."""
        if self.unit == "day":
            return date.fromordinal(day.toordinal() + sign * self.count)
        return add_months(day, sign * self.count * (12 if self.unit == "year" else 1))


def written(day: date, granularity: Granularity, style: int) -> str:
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
    start, end = (written(day, granularity, style) for day in b)
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


def sentence(ask: Ask, values: Mapping[str, str], cond: str, style: int) -> str:
    """The question with its condition."""
    return filled(ask.heads[style % STYLES], values, cond=cond)


def now_sentence(ask: Ask, values: Mapping[str, str], now: date, style: int) -> str:
    """The question as of now."""
    return filled(ask.now_heads[style % STYLES], values, now=written(now, "day", style))


def nth_sentence(ask: Ask, verbs: Verbs, values: Mapping[str, str], nth: int, style: int) -> str:
    """Whose row comes n-th by its start."""
    rows, group, which = _plural(verbs), filled(ask.group, values), ordinal(nth)
    return (
        f"Put the listed {rows} {group} in the order in which they began: "
        f"which {ask.noun} comes {which}?",
        f"Of the listed {rows} {group}, counted from the earliest start, "
        f"which {ask.noun} is the {which}?",
        f"Name the {ask.noun} that comes {which} when the listed {rows} {group} "
        f"are ordered by their start.",
    )[style % STYLES]


def longest_sentence(ask: Ask, verbs: Verbs, values: Mapping[str, str], style: int) -> str:
    """Whose row lasted longest, of those that ended."""
    rows, group = _plural(verbs), filled(ask.group, values)
    return (
        f"Among the listed {rows} {group} that have ended, which {ask.noun} goes with the longest?",
        f"Which {ask.noun} goes with the longest of those listed {rows} {group} that are over?",
        f"Name the {ask.noun} of the longest among the listed {rows} {group}, "
        f"leaving out any that still lasts.",
    )[style % STYLES]


def count_sentence(
    ask: Ask, verbs: Verbs, values: Mapping[str, str], times: int, style: int
) -> str:
    """Who began for the n-th time."""
    rows, group, which = _plural(verbs), filled(ask.group, values), ordinal(times)
    return (
        f"Going through the listed {rows} {group} by their start, "
        f"which {ask.noun} came up for the {which} time?",
        f"Which {ask.noun} appears for the {which} time among the listed {rows} {group}?",
        f"Name any {ask.noun} that came up for a {which} time among the listed {rows} {group}.",
    )[style % STYLES]


def duration_sentence(one: str, other: str, style: int) -> str:
    """On how many days two rows both held."""
    return (
        f"On how many days did {one} and {other} both run? A day of an end does not count.",
        f"How many days do {one} and {other} have in common, the day of an end not counted?",
        f"Count the days shared by {one} and {other}; leave out the day on which one of them ends.",
    )[style % STYLES]


def row_text(ask: Ask, verbs: Verbs, values: Mapping[str, str], answer: str) -> str:
    """One row, such as `the term of Angela Merkel as Chancellor of Germany`."""
    one = ask.one or f"the {verbs.noun} of {{who}} {ask.group}"
    return filled(one, values, who=shown(answer))


def _plural(verbs: Verbs) -> str:
    noun = verbs.noun
    return f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"


def filled(template: str, values: Mapping[str, str], **more: str) -> str:
    """Values hold any characters, so nothing but the placeholders of the template is read."""
    parts = template.split("{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition("}")
        filled.append((more[name] if name in more else shown(values[name])) + rest)
    return "".join(filled)
