"""Answers questions about event lists, by the words of the prompt and what tools gave back.

It looks only at messages and tool descriptions. Holidays and, for vague adverbials, the default
curves are what it knows beforehand.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from agent_env.families.reference.turns import Step, Turn
from agent_env.families.traveler.reference_vague import (
    applies,
    holiday,
    likeliest_names,
    likeliest_number,
)
from agent_env.records.schema import Message

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
VAGUE = ("just", "recently", "some time ago", "long time ago")
_MORE = re.compile(r"\((\d+) more; go on with offset (\d+)\)")
_ROW = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?) \| (.+?) \| (.+?) \| (.+)")
_SENTENCE = re.compile(
    r"On ([A-Z][a-z]+ \d+, \d{4})(?: \([^)]*\))? at (\d\d:\d\d(?::\d\d)?), (\S+) (.{1,2000})\."
)
PROGRAM = """\
for event in events:
    print(event['time'].strftime('%Y-%m-%d %H:%M:%S'), event['subject'], event['event'],
          event['location'], sep=' | ')"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about events, as the prompt has it."""

    prompt: str
    question: str
    now: datetime


@dataclass(frozen=True, slots=True)
class Row:
    """An event as it was read."""

    time: datetime
    subject: str
    event: str
    """Its name, or the whole phrase of a sentence."""
    location: str
    """Empty where the phrase holds it."""


def read_question(messages: Sequence[Message]) -> Asked | None:
    """The question, where the prompt is one about events."""
    for message in messages:
        text = message.content if message.role == "user" else ""
        now = re.search(r"It is now (\d{4}-\d\d-\d\d \d\d:\d\d)", text)
        question = re.search(r"^Question: ((?:Who|Did|How often|When was) .+\?)$", text, re.M)
        if now and question:
            return Asked(text, question[1], datetime.fromisoformat(now[1]))
    return None


def next_step(turn: Turn) -> Step | None:
    """What to say, and the calls to make first; who is not thorough takes the first event that
    fits in all but time for the only one. None where the question is about no events."""
    asked = read_question(turn.messages)
    if asked is None:
        return None
    offered = {tool.name: tool for tool in turn.tools}
    outputs = [message.content for message in turn.messages if message.role == "tool"]
    if "query_events" in offered:
        wanted = _query(asked, offered["query_events"].description, outputs)
        if wanted is not None:
            return "I look the events up.", [("query_events", wanted)]
    elif "python" in offered and not outputs:
        return "I list the events.", [("python", {"code": PROGRAM})]
    texts = outputs or [asked.prompt]
    rows = [row for text in texts for row in read_rows(text)]
    fitting = [row for row in rows if about(asked.question, row)]
    answer = solve(asked, fitting if turn.thorough else fitting[:1])
    return f"{len(rows)} events were read.\nMY ANSWER: {answer}", []


def _query(asked: Asked, description: str, outputs: Sequence[str]) -> dict[str, object] | None:
    """The next page of the events of the asked kind; None where all were seen."""
    more = _MORE.search(outputs[-1]) if outputs else None
    if outputs and more is None:
        return None
    wanted: dict[str, object] = {"operation": "filter"}
    for name in ("event", "location"):
        _, _, listed = description.partition(f"{name}s: ")
        names = listed.split("; ", 1)[0].removesuffix(".").split(", ") if listed else []
        told = is_event if name == "event" else is_place
        found = [text for text in names if told(asked.question, text)]
        if found:
            wanted[name] = max(found, key=len)
    return wanted if more is None else {**wanted, "offset": int(more[2])}


def read_rows(text: str) -> list[Row]:
    """The events of a list, whichever way it is written."""
    rows = []
    for line in text.splitlines():
        if (found := _ROW.fullmatch(line)) is not None:
            rows.append(Row(datetime.fromisoformat(found[1]), *found.groups()[1:]))
        elif (found := _SENTENCE.fullmatch(line)) is not None:
            day = datetime.strptime(found[1], "%B %d, %Y").date()  # noqa: DTZ007
            time = datetime.fromisoformat(f"{day} {found[2]}")
            rows.append(Row(time, found[3], found[4], ""))
        elif line.startswith('{"event"'):
            told = json.loads(line.rstrip(","))
            time = datetime.fromisoformat(f"{told['date']} {told['time']}")
            rows.append(Row(time, told["subject"], told["event"], told["location"]))
    return rows


def about(question: str, row: Row) -> bool:
    """Whether the question is about events of this kind there, of this subject or of anyone."""
    if not question.startswith("Who") and not re.search(rf" {re.escape(row.subject)} ", question):
        return False
    if row.location:
        return is_event(question, row.event) and is_place(question, row.location)
    rest = row.event.split(" ", 1)[1]  # the verb stands in another form
    return re.search(rf" {re.escape(rest)}(?: |\?)", question) is not None


def is_event(question: str, name: str) -> bool:
    """Whether the question holds all words of the name; its verb may stand in another form."""
    words = re.findall(r"[\w'-]+", question.lower())
    verb, *rest = name.lower().split()
    if rest:
        return all(word in words for word in rest)
    return any(word[:3] == verb[:3] for word in words)


def is_place(question: str, name: str) -> bool:
    """Whether the question names the place."""
    return re.search(rf"\b{re.escape(name)}\b", question, re.I) is not None


def solve(asked: Asked, rows: Sequence[Row]) -> str:
    """The answer in words, from the events that fit in all but time."""
    vague = next((a for a in VAGUE if re.search(rf"\b{a}\b", asked.question)), None)
    if vague is not None:
        return _vague(asked, rows, vague)
    days = _days(asked.question, asked.now.date())
    found = [row for row in rows if days(row.time.date())]
    if asked.question.startswith("Who"):
        return ", ".join(sorted({row.subject for row in found})) or "nobody"
    if asked.question.startswith("Did"):
        return "yes" if found else "no"
    if asked.question.startswith("How often"):
        return str(len(found))
    return str(max(row.time for row in found).date()) if found else "never"


def _vague(asked: Asked, rows: Sequence[Row], adverbial: str) -> str:
    """The answer that is most probably true."""
    chances: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        minutes = (asked.now - row.time) / timedelta(minutes=1)
        chances[row.subject].append(applies(asked.question, adverbial, minutes))
    if asked.question.startswith("Who"):
        return ", ".join(likeliest_names(chances)) or "nobody"
    if asked.question.startswith("Did"):
        return "yes" if likeliest_names(chances) else "no"
    return str(likeliest_number([p for found in chances.values() for p in found]))


def _days(question: str, today: date) -> Callable[[date], bool]:
    """Which days the question's expression covers; all where it has none."""
    if (
        found := re.search(r"\b(?:on|in|in the year) (\d{4}(?:-\d\d){0,2})\?", question)
    ) is not None:
        return lambda day: day.isoformat().startswith(found[1])
    if (ago := re.search(r"(?<!\d)(\d++) days ago\?", question)) is not None:
        return lambda day: (today - day).days == int(ago[1])
    if (named := re.search(r"two days before (.{1,300}) (\d{4})\?", question)) is not None:
        feast = holiday(named[1], int(named[2]))
        return lambda day: feast == day + timedelta(days=2)
    if (weekday := re.search(rf"last ({'|'.join(WEEKDAYS)})\?", question)) is not None:
        number = WEEKDAYS.index(weekday[1])
        return lambda day: 1 <= (today - day).days <= 7 and day.weekday() == number
    return _relative(question, today)


def _relative(question: str, today: date) -> Callable[[date], bool]:
    last_month = (today.replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
    monday = today - timedelta(days=today.weekday())
    rules: dict[str, Callable[[date], bool]] = {
        "today": lambda day: day == today,
        "yesterday": lambda day: (today - day).days == 1,
        "this month": lambda day: f"{day:%Y-%m}" == f"{today:%Y-%m}",
        "last month": lambda day: f"{day:%Y-%m}" == last_month,
        "this year": lambda day: day.year == today.year,
        "last week": lambda day: 1 <= (monday - day).days <= 7,
    }
    return next((rule for text, rule in rules.items() if question.endswith(f" {text}?")), _any)


def _any(day: date) -> bool:
    return True
