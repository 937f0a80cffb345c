"""One row that a model is asked about, and the parser of answers on labelled lines: dates, years,
other texts.

A label begins a line, emphasis marks and letter case aside. Of repeated labels the last counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import date

from agent_env.extensions.facts.tables.event_names import is_point
from agent_env.extensions.facts.tables.tables import EventRow, parse_years, spans_text
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Prompt, Task
from agent_env.sdk.models import Limits, Scorer
from agent_env.sdk.records import Sample
from agent_env.sdk.scoring import parse_date_text
from agent_env.temporal.partial import PartialDate
from agent_env.temporal.written import MONTH, month_number

ONGOING = "ongoing"


class EventSample(Sample):
    """An event with its table's dates, unchanged."""

    event: str
    kind: str
    start: str = ""
    end: str = ""
    """Empty beside a start: it still lasts."""
    years: str = ""
    """All years in which it took place, as spans such as `1908;1948~1950`."""
    now: str
    """The day as of which it still lasts."""

    @property
    def lasts(self) -> bool:
        """Whether it still lasts, as its table states; a point in time without an end does not."""
        return bool(self.start) and not self.end and not is_point(self.event, self.kind)


def make_sample(row: EventRow, task: str, gold: tuple[str, ...], now: date) -> EventSample:
    """The row as a sample; its id depends on the event's name alone."""
    return EventSample(
        id=f"event-{hashlib.sha256(row.event.encode()).hexdigest()[:16]}",
        task=task,
        gold=gold,
        event=row.event,
        kind=row.kind,
        start=str(row.start or ""),
        end=str(row.end or ""),
        years=spans_text(row.years),
        now=str(row.now or now),
    )


def event_sample(sample: Sample) -> EventSample:
    """The sample itself, where it is one of this family."""
    if not isinstance(sample, EventSample):
        raise ConfigError(f"sample '{sample.id}' is no row of an event table")
    return sample


def stated(rows: Iterable[EventRow]) -> tuple[EventRow, ...]:
    """The rows that state any date."""
    return tuple(row for row in rows if row.start or row.end or row.years)


def event_task(
    name: str, prompt: str, make_prompt: Prompt, scorer: Scorer, metrics: tuple[str, ...],
    condition: str, limits: Limits,
) -> Task:  # fmt: skip
    """A task on rows; it has one prompt."""
    if prompt != "default":
        raise ConfigError(f"unknown prompt '{prompt}'; known: default")
    return Task(
        name=name,
        sample_type=EventSample,
        prompt=make_prompt,
        scorer=scorer,
        metrics=metrics,
        default_conditions=(condition,),
        limits=limits,
    )


UNKNOWN = "unknown"
_MONTH_YEAR = re.compile(rf"({MONTH})(?: of)?,? (\d{{4}})", re.I)
_YEARS = re.compile(r"[0-9]{4}(?:~[0-9]{4})?")
_ONGOING = re.compile(r"ongoing|present|still (?:lasts|ongoing|lasting|in office)")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))


class Unreadable(ValueError):
    """The line that cannot be parsed, and why."""


def labelled(text: str, labels: Sequence[str]) -> dict[str, str]:
    """The text behind each label, up to the next label or the end."""
    pattern = rf"^[\s>*_`#-]*({'|'.join(labels)})[*_` ]*[:：][*_` ]*"
    marks = list(re.finditer(pattern, text, re.I | re.M))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    pairs = zip(marks, ends, strict=False)  # without a mark there is one end all the same
    return {mark[1].upper(): text[mark.end() : end].strip() for mark, end in pairs}


def first_line(text: str) -> str:
    """The first line without its emphasis marks."""
    return text.split("\n", 1)[0].strip(" \t*_`.\"'")


def read_bound(line: str) -> str:
    """A date as ISO 8601 at its precision, `ongoing` or `unknown`."""
    text = " ".join(line.translate(_DASHES).split())
    plain = text.lower()
    if plain == UNKNOWN or _ONGOING.fullmatch(plain):
        return UNKNOWN if plain == UNKNOWN else ONGOING
    try:
        return str(PartialDate.parse(text))
    except ValueError:
        pass  # not written the ISO way; it may still be a date
    if (match := _MONTH_YEAR.fullmatch(plain)) is not None:
        return str(PartialDate(int(match[2]), month_number(match[1])))
    reading = parse_date_text(text)
    if reading.dates is None or len(reading.dates) != 1:
        why = reading.rule if not reading.dates else "names several dates"
        raise Unreadable(f"'{line}': {why}")
    return reading.dates[0]


def read_years(line: str) -> str:
    """Years as spans such as `1908;1948~1950`, in order, or `unknown`."""
    text = line.translate(_DASHES).strip()
    if text.lower() == UNKNOWN:
        return UNKNOWN
    parts = re.split(r"(?:(?<!\s)\s++)?[,;]\s*+(?:and\s+)?|(?<!\s)\s++and\s+", text)
    spans = [re.sub(r"(\d)\s*(?:-|~|to)\s*(\d)", r"\1~\2", part) for part in parts]
    if (short := next((s for s in spans if not _YEARS.fullmatch(s)), None)) is not None:
        raise Unreadable(f"'{short}' is no year of four digits and no span of such")
    try:
        years = parse_years(";".join(dict.fromkeys(spans)))
    except ValueError as exc:
        raise Unreadable(str(exc)) from exc
    return spans_text(years)
