"""How the reference policies answer questions whose answer is a time.

They know such a question by its words, read the table or the facts that stand before it, and
compute: in Python where that is offered, else by themselves, asking the calendar where they may.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_env.families.reference.turns import Step, Turn
from agent_env.families.temp_answers import reference_sums as time_sums
from agent_env.records.schema import Message

Fact = tuple[str, str, str, int, int]
_FORM = re.compile(
    r"(?<![^\n])(?P<question>.+?) Write the answer as (?P<form>.{1,400}?)\.(?:\nA:)?$"
)
_FACT = re.compile(r"^(E\d+) was the (R\d+) of (E\d+) from (\d{4}) to (\d{4})\.$", re.M)
_TODAY = re.compile(r"The current date is (\d{4}-\d\d-\d\d)\.")


@dataclass(frozen=True, slots=True)
class TimeTask:
    """A question of this kind, as the messages have it."""

    question: str
    table: dict[str, str]
    facts: list[Fact]
    today: str
    is_object: bool
    """Whether an object is asked for, and not a final line."""
    begun: bool
    """Whether the object was begun for us."""


def read_task(messages: Sequence[Message]) -> TimeTask | None:
    """The question in the messages; None where they ask something else."""
    asked = [m.content for m in messages if m.role == "user"]
    last = asked[-1].rsplit("----\n\n", 1)[-1] if asked else ""
    found = _FORM.search(last)
    everything = "\n".join(m.content for m in messages if m.role in ("system", "user"))
    if found is None or not ("Final Answer:" in everything or '"explanation"' in everything):
        return None
    first = messages[-1]
    today = _TODAY.search(everything)
    return TimeTask(
        found["question"].removeprefix("Q: "),
        _entries(last),
        [(a, b, c, int(d), int(e)) for a, b, c, d, e in _FACT.findall(everything)],
        today[1] if today else "",
        '"explanation"' in everything,
        first.role == "assistant" and first.content.endswith('{"explanation":'),
    )


def _entries(text: str) -> dict[str, str]:
    """Dates by entry, of the table before the question."""
    _, _, table = text.rpartition("Table:\n")
    lines = table.partition("\nQ: ")[0].splitlines()
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def next_step(turn: Turn) -> Step | None:
    """What is said next; None where the messages ask no such question."""
    messages, offered = turn.messages, turn.offered
    task = read_task(messages)
    if task is None:
        return None
    outputs = [m.content for m in messages if m.role == "tool"]
    if "python" in offered and not outputs:
        return "I compute it.", [("python", {"code": _program(task)})]
    found = _printed(outputs[-1]) if "python" in offered and outputs else None
    if found is None:
        found = time_sums.solve(task.question, task.table, task.facts, task.today)
    days = re.findall(r"\d{4}-\d\d-\d\d", task.question)
    if "calendars" in offered and not outputs and len(days) == 2:
        call = {"operation": "difference", "date": days[0], "other_date": days[1]}
        return "I check the days with the calendar.", [("calendars", call)]
    return _answer(task, found), []


def _program(task: TimeTask) -> str:
    source = inspect.getsource(time_sums)
    call = f"solve({task.question!r}, {task.table!r}, {task.facts!r}, {task.today!r})"
    return f"{source}\n\nprint({call})\n"


def _printed(output: str) -> dict[str, str | int] | None:
    """What the program printed; None where it failed."""
    try:
        found = ast.literal_eval(output.strip())
    except (ValueError, SyntaxError):
        return None
    return found if isinstance(found, dict) else None


def _answer(task: TimeTask, found: dict[str, str | int] | None) -> str:
    if found is None:
        return "I did not understand the question.\nFinal Answer: unknown"
    if not task.is_object:
        return f"I take the dates from the table and count.\nFinal Answer: {found['answer']}"
    whole = json.dumps({"explanation": "I take the dates and count."} | found)
    return whole.removeprefix('{"explanation":') if task.begun else f"JSON = {whole}"
