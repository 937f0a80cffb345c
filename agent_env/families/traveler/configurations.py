"""The twelve ways of prompting: how to go about it, which date information, how events look."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from agent_env.errors import ConfigError
from agent_env.families.traveler.periods import WEEKDAYS
from agent_env.records.schema import MaterialTable

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
FORMS = ("json", "language")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Configuration:
    """One of the twelve."""

    manner: str
    dates: str
    form: str

    @property
    def name(self) -> str:
        """As on the command line: `cot-review+date-only+language`."""
        return f"{self.manner}+{self.dates}+{self.form}"


CONFIGURATIONS = {c.name: c for c in (Configuration(*p) for p in product(MANNERS, DATES, FORMS))}
CHOSEN = "cot-review+date-only+language"
"""What the slides choose; the name `default` stands for it."""


def configuration(name: str) -> Configuration:
    """The configuration of this name; ConfigError lists the known ones."""
    found = CONFIGURATIONS.get(CHOSEN if name == "default" else name)
    if found is None:
        raise ConfigError(f"unknown prompt '{name}'; known: default, {', '.join(CONFIGURATIONS)}")
    return found


def said_now(now: str, zone: str, chosen: Configuration) -> str:
    """The speech time as the prompt says it."""
    moment = datetime.fromisoformat(now)
    return f"{moment:%Y-%m-%d %H:%M}{_extension(moment, chosen)} ({zone})"


def shown(table: MaterialTable, chosen: Configuration) -> str:
    """The events of a table, one a line."""
    rows = (dict(zip(table.columns, map(str, row), strict=True)) for row in table.rows)
    if chosen.form == "language":
        return "\n".join(_sentence(row, chosen) for row in rows)
    lines = ",\n".join(json.dumps(as_object(row, chosen), ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]"


def as_object(row: Mapping[str, str], chosen: Configuration) -> dict[str, str | int]:
    """An event as a JSON object."""
    moment = datetime.fromisoformat(row["time"])
    told: dict[str, str | int] = {name: row[name] for name in ("event", "subject", "location")}
    told |= {"date": f"{moment:%Y-%m-%d}", "time": clock(moment)}
    if chosen.dates == "date-extended":
        told |= {"weekday": WEEKDAYS[moment.weekday()], "calendar_week": moment.isocalendar().week}
    return told


def _sentence(row: Mapping[str, str], chosen: Configuration) -> str:
    moment = datetime.fromisoformat(row["time"])
    day = f"{MONTHS[moment.month - 1]} {moment.day}, {moment.year}{_extension(moment, chosen)}"
    what = f"{row['subject']} {row['did']} {row['where']}"
    return f"On {day} at {clock(moment)}, {what}."


def clock(moment: datetime) -> str:
    """The time of day, with seconds only where there are some."""
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"


def _extension(moment: datetime, chosen: Configuration) -> str:
    if chosen.dates == "date-only":
        return ""
    return f" ({WEEKDAYS[moment.weekday()]}, calendar week {moment.isocalendar().week})"
