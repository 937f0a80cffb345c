"""Answers questions about event lists, from the words of the prompt and the outputs of tools.

It reads only messages and tool descriptions. Its own knowledge is what time expressions mean and,
for vague adverbials, the default curves.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from agent_env.families.traveler.curves import ADVERBIALS, Parametric
from agent_env.families.traveler.events import HOME
from agent_env.families.traveler.periods import BEYOND, EXPLICIT, SPEECH_TIME, period_of
from agent_env.families.traveler.truth import best_answer, crisp_answer
from agent_env.features.reference.turns import Step, Turn
from agent_env.sdk.records import Message

_MORE = re.compile(r"\((\d+) more; continue with offset (\d+)\)")
_ROW = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?) \| (.+?) \| (.+?) \| (.+)")
_SENTENCE = re.compile(
    r"On ([A-Z][a-z]+ \d+, \d{4})(?: \([^)]*\))? at (\d\d:\d\d(?::\d\d)?), (\S+) (.{1,2000})\."
)
PAGE = 500
"""Events that one program prints: a tool's output is cut in its middle past some 64 kB."""
PROGRAM = """\
import re
question = {question!r}.lower()
words = set(re.findall(r"[\\w'-]+", question))
fitting = [event for event in events if event['location'].lower() in question
           and words.issuperset(event['event'].lower().split()[1:])]
for event in fitting[{first}:{last}]:
    print(event['time'].strftime('%Y-%m-%d %H:%M:%S'), event['subject'], event['event'],
          event['location'], sep=' | ')
if fitting[{last}:]:
    print('({{}} more; continue with offset {last})'.format(len(fitting) - {last}))"""


@dataclass(frozen=True, slots=True)
class EventQuestion:
    prompt: str
    text: str
    now: datetime


@dataclass(frozen=True, slots=True)
class ListedEvent:
    time: datetime
    subject: str
    event: str
    """Its name, or the whole phrase of a sentence."""
    location: str
    """Empty where the phrase holds it."""


def read_question(messages: Sequence[Message]) -> EventQuestion | None:
    """The question; None where the prompt is not about events."""
    for message in messages:
        text = message.content if message.role == "user" else ""
        now = re.search(r"It is now (\d{4}-\d\d-\d\d \d\d:\d\d)", text)
        question = re.search(r"^Question: ((?:Who|Did|How often|When was) .+\?)$", text, re.M)
        if now and question:
            return EventQuestion(text, question[1], datetime.fromisoformat(now[1]))
    return None


def next_step(turn: Turn) -> Step | None:
    """The text and the calls; None where the question is not about events. A policy that is not
    thorough takes the first event that fits in all but time for the only one."""
    question = read_question(turn.messages)
    if question is None:
        return None
    tools = {tool.name: tool for tool in turn.tools}
    outputs = [message.content for message in turn.messages if message.role == "tool"]
    if "query_events" in tools:
        arguments = _query(question, tools["query_events"].description, outputs)
        if arguments is not None:
            return "I look the events up.", [("query_events", arguments)]
    elif "python" in tools and (first := _offset(outputs)) is not None:
        code = PROGRAM.format(question=question.text, first=first, last=first + PAGE)
        return "I list the events.", [("python", {"code": code})]
    rows = [row for text in outputs or [question.prompt] for row in read_rows(text)]
    fitting = [row for row in rows if is_about(question.text, row)]
    answer = solve(question, fitting if turn.thorough else fitting[:1])
    events = f"{len(rows)} event{'s' * (len(rows) != 1)}"
    fit = f"{len(fitting)} fit{'s' * (len(fitting) == 1)}"
    return f"I read {events}; {fit} in all but the time.\nMY ANSWER: {answer}", []


def _query(
    question: EventQuestion, description: str, outputs: Sequence[str]
) -> dict[str, object] | None:
    """Arguments for the next page of matching events; None where all pages were read."""
    offset = _offset(outputs)
    if offset is None:
        return None
    arguments: dict[str, object] = {"operation": "filter"}
    for name, is_named in (("event", is_event), ("location", is_place)):
        _, _, values = description.partition(f"{name}s: ")
        names = values.split("; ", 1)[0].removesuffix(".").split(", ") if values else []
        if matches := [text for text in names if is_named(question.text, text)]:
            arguments[name] = max(matches, key=len)
    return {**arguments, "offset": offset} if offset else arguments


def _offset(outputs: Sequence[str]) -> int | None:
    """The first event of the next page; None where all pages were read."""
    if not outputs:
        return 0
    more = _MORE.search(outputs[-1])
    return None if more is None else int(more[2])


def read_rows(text: str) -> list[ListedEvent]:
    rows = []
    for line in text.splitlines():
        if (match := _ROW.fullmatch(line)) is not None:
            rows.append(ListedEvent(datetime.fromisoformat(match[1]), *match.groups()[1:]))
        elif (match := _SENTENCE.fullmatch(line)) is not None:
            day = datetime.strptime(match[1], "%B %d, %Y").date()  # noqa: DTZ007
            time = datetime.fromisoformat(f"{day} {match[2]}")
            rows.append(ListedEvent(time, match[3], match[4], ""))
        elif line.startswith('{"event"'):
            row = json.loads(line.rstrip(","))
            time = datetime.fromisoformat(f"{row['date']} {row['time']}")
            rows.append(ListedEvent(time, row["subject"], row["event"], row["location"]))
    return rows


def is_about(question: str, row: ListedEvent) -> bool:
    """Whether the question is about events of this kind there, of this subject or of anyone."""
    if not question.startswith("Who") and not re.search(rf" {re.escape(row.subject)} ", question):
        return False
    if row.location:
        return is_event(question, row.event) and is_place(question, row.location)
    rest = row.event.split(" ", 1)[1]  # the verb has another form
    return re.search(rf" {re.escape(rest)}(?: |\?)", question) is not None


def is_event(question: str, name: str) -> bool:
    """Whether the question holds all words of the name; its verb may have another form."""
    words = re.findall(r"[\w'-]+", question.lower())
    verb, *rest = name.lower().split()
    if rest:
        return all(word in words for word in rest)
    return any(word[:3] == verb[:3] for word in words)


def is_place(question: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", question, re.I) is not None


def solve(question: EventQuestion, rows: Sequence[ListedEvent]) -> str:
    """The answer in words, from the events that fit in all but time."""
    text = question.text
    adverbial = next((a for a in ADVERBIALS if re.search(rf"\b{a}\b", text)), None)
    if adverbial is not None:
        kinds = (event.name for event in HOME.events if event.name.split()[-1] in question.text)
        kind = next(kinds, "")
        curves = Parametric({"": 0.0} | {event.name: event.offset for event in HOME.events})
        chances: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            minutes = (question.now - row.time) / timedelta(minutes=1)
            chances[row.subject].append(curves.p(kind, adverbial, minutes))
        templates = {"Who": "who", "Did": "did", "How": "how-often"}
        return ", ".join(best_answer(templates[question.text.split()[0]], chances)) or "nobody"
    matches = [row for row in rows if _covers(text, row.time.date(), question.now.date())]
    template = {"Who": "who", "Did": "did", "How": "how-often"}.get(text.split()[0], "when")
    answer = crisp_answer(template, [(row.subject, str(row.time.date())) for row in matches])
    return ", ".join(answer) or ("nobody" if template == "who" else "never")


def _covers(text: str, day: date, today: date) -> bool:
    """Whether the question's time expression covers a day; all days where it asks for the last."""
    periods = (period_of(kind, day, today) for kind in (*EXPLICIT, *SPEECH_TIME, *BEYOND))
    named = any(text.endswith(f" {period.text}?") for period in periods if period is not None)
    return named or text.startswith("When")
