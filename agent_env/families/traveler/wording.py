"""Questions and the twelve prompts in words: reasoning instruction, date information, form of the
events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from agent_env.families.traveler.events import Vocabulary
from agent_env.families.traveler.sample import Template, TravelerSample
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import Condition, MaterialTable

MANNERS = {
    "zero-shot": "",
    "cot-review": (
        "Go through the events one after another. Check for each whether what was done, who did "
        "it, where and when all fit the question, and note every event that fits. Then draw your "
        "answer from the events that you noted.\n\n"
    ),
    "cot-step": "Reason step by step, in writing, before you give your answer.\n\n",
}
DATES = ("date-only", "date-extended")


@dataclass(frozen=True, slots=True)
class Configuration:
    """One of the twelve prompts."""

    manner: str
    dates: str
    form: str

    @property
    def name(self) -> str:
        """As on the command line: `cot-review+date-only+language`."""
        return f"{self.manner}+{self.dates}+{self.form}"


CONFIGURATIONS = {
    c.name: c for c in (Configuration(*p) for p in product(MANNERS, DATES, ("json", "language")))
}
DEFAULT = "cot-review+date-only+language"
"""The slides' choice; the name `default` stands for it."""


def find_configuration(name: str) -> Configuration:
    """The configuration of this name; ConfigError lists the known ones."""
    try:
        return CONFIGURATIONS[DEFAULT if name == "default" else name]
    except KeyError:
        known = ", ".join(CONFIGURATIONS)
        raise ConfigError(f"unknown prompt '{name}'; known: default, {known}") from None


def now_text(now: str, zone: str, configuration: Configuration) -> str:
    """The speech time as the prompt states it."""
    moment = datetime.fromisoformat(now)
    return f"{moment:%Y-%m-%d %H:%M}{_extension(moment, configuration)} ({zone})"


def events_text(table: MaterialTable, configuration: Configuration) -> str:
    rows = (dict(zip(table.columns, map(str, row), strict=True)) for row in table.rows)
    if configuration.form == "language":
        return "\n".join(_sentence(row, configuration) for row in rows)
    lines = ",\n".join(
        json.dumps(as_object(row, configuration), ensure_ascii=False) for row in rows
    )
    return f"[\n{lines}\n]"


def as_object(row: Mapping[str, str], configuration: Configuration) -> dict[str, str | int]:
    """An event as a JSON object."""
    moment = datetime.fromisoformat(row["time"])
    fields: dict[str, str | int] = {name: row[name] for name in ("event", "subject", "location")}
    fields |= {"date": f"{moment:%Y-%m-%d}", "time": time_text(moment)}
    if configuration.dates == "date-extended":
        fields |= {
            "weekday": f"{moment:%A}",
            "calendar_week": moment.isocalendar().week,
        }
    return fields


def _sentence(row: Mapping[str, str], configuration: Configuration) -> str:
    moment = datetime.fromisoformat(row["time"])
    day = f"{moment:%B} {moment.day}, {moment.year}{_extension(moment, configuration)}"
    what = f"{row['subject']} {row['did']} {row['where']}"
    return f"On {day} at {time_text(moment)}, {what}."


def time_text(moment: datetime) -> str:
    """The time of day, with seconds only where there are some."""
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"


def _extension(moment: datetime, configuration: Configuration) -> str:
    if configuration.dates == "date-only":
        return ""
    return f" ({moment:%A}, calendar week {moment.isocalendar().week})"


VAGUE_PHRASES = {"recently": "recently", "some time ago": "some time ago",
                 "long time ago": "a long time ago"}  # fmt: skip
"""At the end of a question; `just` precedes the verb."""

FORMS: dict[str, str] = {
    "who": "the name of everybody who did, separated by commas",
    "did": "yes or no",
    "how-often": "a whole number in digits",
    "when": "the date as YYYY-MM-DD",
}
NONE = {
    "who": "If nobody did, the answer is nobody. ",
    "when": "If it did not happen, the answer is never. ",
}
"""Said before the form: as last words, a small model takes it at once."""
NOTES = {
    "weekday": "Here the last one of a weekday is the latest one before today. ",
    "last-week": "Weeks run from Monday to Sunday. ",
}
LISTED = "These events happened before now:\n\n{events}\n\n"
ASK_TOOL = (
    "The events that happened before now, {size} of them, are not shown here; look them up with "
    "the tool query_events.\n\n"
)
IN_PYTHON = (
    "The events that happened before now, {size} of them, are not shown here; in the Python "
    "session the variable `events` is a list of dictionaries with the keys event, subject, "
    "location and time (a datetime with its zone), and `now` is the present moment.\n\n"
)
PROMPT = """\
It is now {now}. All dates and times are local in this zone.

{events}{manner}Question: {question}

{note}{form}"""
LAST_LINE = (
    "Finish with one last line that holds nothing but your answer: MY ANSWER: followed by {form}."
)


def question_text(
    vocabulary: Vocabulary,
    template: Template,
    event: str,
    location: str,
    subject: str | None,
    expression: str,
) -> str:
    """The question; `expression` is an adverbial, a period's text, or `none`."""
    what, where = vocabulary.event(event), vocabulary.location(location).where
    just = "just " if expression == "just" else ""
    late = VAGUE_PHRASES.get(expression, "" if expression in ("just", "none") else expression)
    end = f"{where} {late}".rstrip()
    if template == "who":
        return f"Who {just}{what.did} {end}?"
    if template == "did":
        return f"Did {subject} {just}{what.do} {end}?"
    if template == "how-often":
        return f"How often did {subject} {just}{what.do} {end}?"
    return f"When was the last time {subject} {what.did} {end}?"


def fields(
    sample: TravelerSample, condition: Condition, table: MaterialTable, configuration: Configuration
) -> dict[str, str]:
    """The prompt's placeholders: `now`, `events`, `manner`, `question`, `note`, `form`."""
    return {
        "now": now_text(sample.now, sample.zone, configuration),
        "events": _events(sample, condition, table, configuration),
        "manner": MANNERS[configuration.manner],
        "question": sample.question,
        "note": NOTES.get(sample.expression, ""),
        "form": NONE.get(sample.template, "") + LAST_LINE.format(form=FORMS[sample.template]),
    }


def _events(
    sample: TravelerSample, condition: Condition, table: MaterialTable, configuration: Configuration
) -> str:
    """The list itself, or, where tools hold it, how to get it."""
    hint = ASK_TOOL if "query_events" in condition.tools else ""
    hint += IN_PYTHON if "python" in condition.tools else ""
    if hint:
        return hint.format(size=sample.size)
    return LISTED.format(events=events_text(table, configuration))
