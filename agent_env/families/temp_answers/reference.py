"""The scripted reference policy for questions whose answer is a time.

It recognises such a question by its wording, parses the table or the facts before it, and computes
the answer: with the Python tool where that is allowed, else itself, with a call of the calendar
tool where that is allowed.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from dataclasses import dataclass

from agent_env.families.temp_answers import reference_sums
from agent_env.features.reference.turns import Step, Turn

Fact = tuple[str, str, str, int, int]
_FORM = re.compile(
    r"(?<![^\n])(?P<question>.+?) Write the answer as (?P<form>.{1,400}?)\.(?:\nA:)?$"
)
_FACT = re.compile(r"^(E\d+) was the (R\d+) of (E\d+) from (\d{4}) to (\d{4})\.$", re.M)
_TODAY = re.compile(r"The current date is (\d{4}-\d\d-\d\d)\.")


@dataclass(frozen=True, slots=True)
class TimeTask:
    """A question of this family, parsed from the messages."""

    question: str
    table: dict[str, str]
    facts: list[Fact]
    today: str
    is_object: bool
    """Whether the answer is an object, not a final line."""
    is_prefilled: bool
    """Whether the last message contains the start of the object."""


def next_step(turn: Turn) -> Step | None:
    """The policy's next step; None for messages of another family."""
    messages, tools = turn.messages, turn.offered
    # the question in the messages; None for messages of another family
    prompts = [m.content for m in messages if m.role == "user"]
    last = prompts[-1].rsplit("----\n\n", 1)[-1] if prompts else ""
    match = _FORM.search(last)
    everything = "\n".join(m.content for m in messages if m.role in ("system", "user"))
    if match is None or not ("Final Answer:" in everything or '"explanation"' in everything):
        return None
    first = messages[-1]
    today = _TODAY.search(everything)
    _, _, table = last.rpartition("Table:\n")
    lines = table.partition("\nQ: ")[0].splitlines()
    task = TimeTask(
        match["question"].removeprefix("Q: "),
        dict(line.split("\t", 1) for line in lines if "\t" in line),
        [(a, b, c, int(d), int(e)) for a, b, c, d, e in _FACT.findall(everything)],
        today[1] if today else "",
        '"explanation"' in everything,
        first.role == "assistant" and first.content.endswith('{"explanation":'),
    )
    outputs = [m.content for m in messages if m.role == "tool"]
    if "python" in tools and not outputs:
        return "I compute it.", [("python", {"code": _program(task)})]
    answer = _program_output(outputs[-1]) if "python" in tools and outputs else None
    if answer is None:
        answer = reference_sums.solve(task.question, task.table, task.facts, task.today)
    days = re.findall(r"\d{4}-\d\d-\d\d", task.question)
    if "calendars" in tools and not outputs and len(days) == 2:
        call = {"operation": "difference", "date": days[0], "other_date": days[1]}
        return "I check the days with the calendar.", [("calendars", call)]
    return _answer(task, answer), []


def _program(task: TimeTask) -> str:
    source = inspect.getsource(reference_sums)
    call = f"solve({task.question!r}, {task.table!r}, {task.facts!r}, {task.today!r})"
    return f"{source}\n\nprint({call})\n"


def _program_output(output: str) -> dict[str, str | int] | None:
    """The dictionary that the program printed; None where it failed."""
    try:
        value = ast.literal_eval(output.strip())
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, dict) else None


def _answer(task: TimeTask, answer: dict[str, str | int] | None) -> str:
    if answer is None:
        return "I did not understand the question.\nFinal Answer: unknown"
    if not task.is_object:
        return f"I take the dates from the table and count.\nFinal Answer: {answer['answer']}"
    whole = json.dumps({"explanation": "I take the dates and count."} | answer)
    return whole.removeprefix('{"explanation":') if task.is_prefilled else f"JSON = {whole}"
